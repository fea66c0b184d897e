import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { hookFlags, hookHash } from '../../../src/runtime-server/harness/codex/hooks.ts';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, eventually, gateOpen, hurriedTime, outgoing, reaches, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;

beforeEach(() => {
  scratch = createScratch();
  scratch.standIn('codex');
});
afterEach(() => scratch.close());

const up = (mode = ''): Promise<HarnessBot> => scratch.up({ harness: 'codex', env: { STAND_IN: mode } });
const typed = (bot: HarnessBot) => scratch.typed(bot);

test('a paste is one framed write, Enter a write of its own after the composer shows it; the submit hook is the witness', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('say hello\n\tand more');
  expect(await scratch.deliverWithHook(bot, message)).toMatchObject({ state: 'verified', evidence: 'hook' });
  expect(typed(bot)).toBe(`\x1b[200~${composePrompt(message)}\x1b[201~\r`);
  expect(bot.state().state).toBe('working');
});

test('a hook with another text is no witness: the transcript is, from the offset before typing on', async () => {
  const bot = await up();
  await gateOpen(bot);
  const transcript = join(scratch.work, 'rollout.jsonl');
  const message = outgoing('say hello');
  const prompt = (text: string) => {
    const payload = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
    return `${JSON.stringify({ type: 'response_item', payload })}\n`;
  };
  // The same words from before must not testify.
  writeFileSync(transcript, prompt(composePrompt(message)));
  await bot.hook('SessionStart', { transcript_path: transcript, session_id: 's' });
  const result = bot.deliver(message);
  await eventually(() => typed(bot).endsWith('\r'));
  await bot.hook('UserPromptSubmit', { prompt: 'something else', session_id: 's' });
  writeFileSync(transcript, prompt(composePrompt(message)), { flag: 'a' });
  expect(await result).toMatchObject({ state: 'verified', evidence: 'transcript' });
});

test('a swallowed Enter is pressed once more while the composer shows exactly our text; then the composer is the witness', async () => {
  const bot = await up('drop-first-enter');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'verified', evidence: 'composer' });
  expect(typed(bot).match(/\r/g)).toHaveLength(2);
});

test('what nothing has seen is unconfirmed; the text is never sent again and Enter at most twice', async () => {
  const bot = await up('deaf');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'unconfirmed', evidence: null });
  expect([typed(bot).match(/\r/g)?.length, typed(bot).match(/200~/g)?.length]).toEqual([2, 1]);
  // What Gantry put there does not hold up the next message.
  expect(await bot.deliver(outgoing('and again'))).toMatchObject({ state: 'unconfirmed' });
  expect(bot.explain().bottom.join('\n')).toContain('Ask Codex to do anything');
});

test.each(['a family 👩‍👩‍👧‍👦 and words', '✅ ⚠️ ☑️', 'done ✅ so far, ⚠️ mind ☑️ the rest', '🇨🇭 1️⃣ 👍🏽 नमस्ते e\u0301'])(
  'emoji that the screen shows in another way hold nothing up: %s',
  async (text) => {
    const bot = await up();
    await gateOpen(bot);
    expect(await scratch.deliverWithHook(bot, outgoing(text))).toMatchObject({ state: 'verified', evidence: 'hook' });
  },
);

test('a text that the composer shows as something else is removed again, without Enter, and the next message arrives', async () => {
  const bot = await up('garbles');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello\nin two lines'))).toEqual({
    state: 'unconfirmed',
    evidence: null,
    detail: 'the composer did not show the text; Enter was not pressed, and the text was removed again',
  });
  expect(typed(bot)).not.toContain('\r');
  expect(await scratch.deliverWithHook(bot, outgoing('good day'))).toMatchObject({ state: 'verified' });
});

test('a text that cannot be removed is said to be Gantry’s, and after a minute the bot needs a person until one has typed there', async () => {
  const first = await up('garbles keeps');
  await gateOpen(first);
  const { clock, timers } = hurriedTime();
  const spec = scratch.spec({ agentId: first.agentId, harness: 'codex' });
  const bot = scratch.restarted(timers, clock).attach(spec, first.paneId);
  await gateOpen(bot);
  const message = outgoing('say hello');
  expect(await bot.deliver(message)).toMatchObject({
    state: 'unconfirmed',
    detail: expect.stringContaining('could not be removed'),
  });
  const why = `the text of message ${message.deliveryId}, which Gantry typed, still stands in its composer`;
  expect(bot.gate()).toMatchObject({ open: false, why });
  await reaches(bot, 'needs_you');
  expect(bot.state().reason).toBe(`cannot take messages: ${why}`);
  // A runtime that starts now knows it by its first line.
  expect(scratch.restarted().attach(spec, first.paneId).gate()).toMatchObject({ open: false, why });
});

test('a draft of a person that stands for a minute needs that person, and is left alone', async () => {
  const first = await up();
  await gateOpen(first);
  const { clock, timers } = hurriedTime();
  const bot = scratch
    .restarted(timers, clock)
    .attach(scratch.spec({ agentId: first.agentId, harness: 'codex' }), first.paneId);
  await bot.input({ text: 'my words' });
  await reaches(bot, 'needs_you');
  expect(bot.state().reason).toBe('cannot take messages: somebody has typed there and not pressed Enter');
  expect(bot.explain().bottom.join('\n')).toContain('my words');
  await bot.input({ keys: ['C-u'] });
  await reaches(bot, 'idle');
  await gateOpen(bot);
});

test('an interrupt is true only when the turn was seen to end', async () => {
  const bot = await up();
  await gateOpen(bot);
  expect(await bot.interrupt('x')).toEqual({ ended: false, keys: [] });
  await bot.input({ keys: ['C-t'] });
  await reaches(bot, 'working');
  expect(bot.interruptKeys()).toEqual(['Escape']);
  expect(await bot.interrupt('x')).toEqual({ ended: true, keys: ['Escape'] });
  expect(bot.state().state).toBe('idle');
  const deaf = await up('no-escape');
  await gateOpen(deaf);
  await deaf.input({ keys: ['C-t'] });
  await reaches(deaf, 'working');
  expect(await deaf.interrupt('x')).toEqual({ ended: false, keys: ['Escape'] });
});

test('a dialog that opens under a paste gets no Enter; a draft holds messages', async () => {
  const bot = await up('dialog-on-paste');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toEqual({ state: 'held', why: 'a dialog opened' });
  expect(typed(bot)).not.toContain('\r');
  await reaches(bot, 'needs_you');
  const other = await up();
  await gateOpen(other);
  await other.input({ text: 'my words' });
  await eventually(() => JSON.stringify(other.gate()).includes('draft'), 5000);
  expect(await other.deliver(outgoing('say hello'))).toEqual({ state: 'held', why: 'draft' });
});

const question = (command = 'touch made && ls', more: object = {}) => ({
  session_id: 's',
  turn_id: 't',
  tool_name: 'Bash',
  tool_input: { command, description: 'to make a file' },
  ...more,
});

/** Codex works, and its hook asks. */
async function asking(bot: HarnessBot, payload: object = question()) {
  await gateOpen(bot);
  await bot.input({ keys: ['C-t'] });
  await reaches(bot, 'working');
  const answer = bot.hook('PermissionRequest', { ...payload });
  await eventually(() => bot.explain().approvals.length === 1);
  return { answer };
}

test('a question waits as an approval with the exact command; while it waits the bot needs a person, whatever its status says', async () => {
  const bot = await up();
  const { answer } = await asking(bot);
  expect(scratch.people.held[0]?.ask).toMatchObject({
    title: 'web@dev asks to run: touch made && ls',
    summary: 'touch made && ls\n\n(outside its sandbox)',
    reason: 'to make a file',
    risk: 'high',
  });
  expect([bot.state().state, bot.state().reason]).toEqual(['needs_you', 'asks to run: touch made && ls']);
  // Title and screen read "working" all the while.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(bot.state().state).toBe('needs_you');
  scratch.people.answer('apr_1', 'approve');
  expect(await answer).toEqual({
    hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
  });
  await reaches(bot, 'working');
});

test('a no is told to the model with the note of the person', async () => {
  const bot = await up();
  const { answer } = await asking(bot);
  scratch.people.answer('apr_1', 'reject', 'not on a Sunday');
  expect(JSON.stringify(await answer)).toContain('A person rejected this: not on a Sunday');
});

test('a key in the pane brings the question there: the hook says nothing and the approval is withdrawn to the pane', async () => {
  const bot = await up();
  const { answer } = await asking(bot);
  await bot.input({ keys: ['C-o'] });
  expect(await answer).toEqual({});
  expect(scratch.people.held[0]?.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
  await eventually(() => bot.explain().bottom.join('\n').includes('Would you like to'));
  expect([bot.state().state, bot.state().reason]).toEqual(['needs_you', 'asks to run: touch made && ls']);
});

test('nobody answers in time: the hook says nothing, so that Codex asks in the pane', async () => {
  const soon = { after: (ms: number, effect: () => void) => systemTimers.after(ms === 60_000 ? 300 : ms, effect) };
  const first = await up();
  await gateOpen(first);
  const spec = scratch.spec({ agentId: first.agentId, harness: 'codex' });
  const bot = scratch.restarted(soon).attach(spec, first.paneId);
  const { answer } = await asking(bot);
  expect(await answer).toEqual({});
  expect(scratch.people.held[0]?.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
});

test('a hook that is gone takes its question along; one that comes back joins it', async () => {
  const bot = await up();
  await gateOpen(bot);
  const left = new AbortController();
  const cut = bot.hook('PermissionRequest', question(), left.signal).catch(() => 'cut');
  await eventually(() => bot.explain().approvals.length === 1);
  left.abort();
  expect(await cut).toBe('cut');
  const again = bot.hook('PermissionRequest', question());
  await eventually(() => bot.explain().approvals.length === 1);
  expect(scratch.people.held).toHaveLength(1);
  scratch.people.answer('apr_1', 'approve');
  expect(JSON.stringify(await again)).toContain('allow');
});

test('a patch is asked with its files, and one file that a rule forbids forbids it whole', async () => {
  const bot = await up();
  const patch = '*** Begin Patch\n*** Add File: a.txt\n+a\n*** Update File: .env\n*** Move to: b.txt\n*** End Patch';
  const { answer } = await asking(bot, { ...question(), tool_name: 'apply_patch', tool_input: { command: patch } });
  expect(scratch.people.held[0]?.ask.title).toBe('web@dev asks to change a.txt, .env, b.txt');
  expect(bot.state().reason).toBe('asks to change a.txt, .env, b.txt');
  scratch.people.answer('apr_1', 'approve');
  await answer;
  mkdirSync(join(scratch.work, '.gantry'), { recursive: true });
  writeFileSync(
    join(scratch.work, '.gantry', 'policy.yaml'),
    'rules:\n  - { when: { tool: file.write, path: "*.txt" }, then: allow }\n  - { when: { tool: file.write, path: ".env" }, then: deny }\n',
  );
  const other = await up();
  await gateOpen(other);
  const told = await other.hook('PermissionRequest', {
    ...question(),
    tool_name: 'apply_patch',
    tool_input: { command: patch },
  });
  expect(JSON.stringify(told)).toContain('deny');
  expect(scratch.people.held).toHaveLength(1);
});

test('the end of a question in the pane is seen by the status; hooks of a sub-agent change nothing', async () => {
  const bot = await up();
  await gateOpen(bot);
  await bot.input({ keys: ['C-o'] });
  await reaches(bot, 'needs_you');
  await bot.hook('UserPromptSubmit', { prompt: 'x', agent_id: 'sub' });
  expect(bot.state().state).toBe('needs_you');
  await bot.input({ text: '1' });
  await reaches(bot, 'idle');
});

test('the start keeps the person asked, leaves no server behind, and has its hooks by the command line alone', async () => {
  const bot = scratch.spec({ agentId: 'agent_x', harness: 'codex', model: 'gpt-x', culture: 'Be kind.' });
  const paths = scratch.paths('agent_x');
  const { command, env } = await scratch.harnesses.prepare(bot, paths);
  expect(command.slice(1, 6)).toEqual(['--no-daemon', '-a', 'on-request', '-s', 'workspace-write']);
  expect(command.slice(-4)).toEqual(['-m', 'gpt-x', '-c', 'developer_instructions="Be kind."']);
  expect(command).not.toContain('--dangerously-bypass-hook-trust');
  const hooks = command.filter((word) => word.startsWith('hooks.'));
  expect(hooks.map((word) => word.split('=')[0])).toEqual([
    'hooks.SessionStart',
    'hooks.UserPromptSubmit',
    'hooks.PermissionRequest',
    'hooks.Stop',
    'hooks.Interrupt',
    'hooks.state',
  ]);
  // A question waits a minute; Codex itself goes on a little later, should nobody be there to say so.
  expect(hooks[2]).toContain('timeout=75,statusMessage=');
  expect(hooks[4]).toContain('timeout=3}');
  expect(hooks[5]?.match(/trusted_hash="sha256:[0-9a-f]{64}"/g)).toHaveLength(5);
  expect(env).toMatchObject({ TERM_PROGRAM: 'iTerm.app', GANTRY_AGENT: 'agent_x' });
  expect(JSON.stringify(command)).not.toContain('gantry_bot_');
});

test('a hook is trusted by the hash that Codex reckons of it', () => {
  // Both were accepted by Codex 0.169.0.
  const hook = { event: 'UserPromptSubmit', command: '/tmp/hook.sh UserPromptSubmit', timeoutSeconds: 10 };
  expect(hookHash(hook)).toBe('sha256:2fe8b105aa29e248f85bb95fcd85bf2b06dab8f32cd9f49c0c7149e48b7dff81');
  expect(hookHash({ ...hook, status: 'asks' })).toBe(
    'sha256:4795766187c4b6b846b2111a90fb40f77d4a2f2cfafd99ea8f90e879e32e1b11',
  );
  expect(hookFlags([hook])[1]).toBe(
    'hooks.UserPromptSubmit=[{hooks=[{type="command",command="/tmp/hook.sh UserPromptSubmit",timeout=10}]}]',
  );
});

test('a conversation is taken up again where it was seen and its transcript is still there', async () => {
  const spec = scratch.spec({ agentId: 'agent_r', harness: 'codex', resume: true });
  const paths = scratch.paths('agent_r');
  const begin = async () => (await scratch.harnesses.prepare(spec, paths)).command.slice(1, 3);
  expect(await begin()).toEqual(['--no-daemon', '-a']);
  const transcript = join(scratch.work, 'rollout.jsonl');
  const facts = { sessionId: '01a2', transcript };
  scratch.facts.set('agent_r', facts);
  expect(await begin()).toEqual(['--no-daemon', '-a']);
  writeFileSync(transcript, '');
  scratch.facts.set('agent_r', facts);
  expect(await begin()).toEqual(['resume', '01a2']);
  expect(scratch.facts.get('agent_r')).toMatchObject(facts);
  expect(readFileSync(transcript, 'utf8')).toBe('');
});

/** It stands at the question whether it may work in its folder, which waits for a person. */
async function asksForTrust(): Promise<HarnessBot> {
  const bot = await up('trust');
  await eventually(() => bot.explain().approvals.length === 1, 5000);
  return bot;
}

test('whether it may work in its folder is asked as an approval, and Enter is pressed once, after a yes', async () => {
  const bot = await asksForTrust();
  const { people, work } = scratch;
  expect(people.held[0]?.ask).toMatchObject({ kind: 'trust_folder', summary: work, agentId: bot.agentId });
  expect(people.held[0]?.ask.details?.[0]?.text).toContain('Codex starts');
  expect(typed(bot)).toBe('');
  people.answer('apr_1', 'approve');
  await gateOpen(bot);
  expect(typed(bot)).toBe('\r');
  expect(people.held).toHaveLength(1);
});

test('a person who does not trust the folder ends it, without a key: its own no goes on', async () => {
  const bot = await asksForTrust();
  scratch.people.answer('apr_1', 'reject');
  await eventually(() => bot.state().state === 'offline' || bot.state().state === 'failed');
  expect(typed(bot)).toBe('');
});
