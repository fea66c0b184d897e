import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, eventually, gateOpen, outgoing, reaches, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;

beforeEach(() => {
  scratch = createScratch();
  scratch.standIn('claude');
});
afterEach(() => scratch.close());

const up = (mode = '', env: Record<string, string> = {}): Promise<HarnessBot> =>
  scratch.up({ harness: 'claude', env: { STAND_IN: mode, ...env } });
const screen = (bot: HarnessBot) => bot.explain().bottom.join('\n');
const typed = (bot: HarnessBot) => scratch.typed(bot);

test('a paste is one framed write, Enter a write of its own after the composer shows it; the submit hook is the witness', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('say hello');
  expect(await scratch.deliverWithHook(bot, message)).toMatchObject({ state: 'verified', evidence: 'hook' });
  expect(typed(bot)).toBe(`\x1b[200~${composePrompt(message)}\x1b[201~\r`);
  expect(bot.state().state).toBe('working');
});

test('a text that collapses to a paste marker is recognised, and its wrapped prompt too', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing(Array.from({ length: 20 }, (_, row) => `\trow ${row}`).join('\n'));
  const prompt = `\n\n<pasted_content id="6fd8">\n${composePrompt(message).replaceAll('\t', '    ')}\n</pasted_content id="6fd8">\n`;
  expect(await scratch.deliverWithHook(bot, message, prompt)).toMatchObject({ state: 'verified', evidence: 'hook' });
});

test('a hook with another text is no witness: the composer that emptied into a turn is, as the weakest', async () => {
  const bot = await up();
  await gateOpen(bot);
  const result = await scratch.deliverWithHook(
    bot,
    outgoing('say hello'),
    'From owner (message delivery_0):\nsay something',
  );
  expect(result).toMatchObject({ state: 'verified', evidence: 'composer' });
});

test('without a hook the transcript is the witness, from the offset before typing on', async () => {
  const transcript = join(scratch.work, 'transcript.jsonl');
  const bot = await up('', { TRANSCRIPT: transcript });
  await gateOpen(bot);
  const message = outgoing('say hello');
  // The same words from before must not testify.
  writeFileSync(
    transcript,
    `${JSON.stringify({ type: 'user', message: { role: 'user', content: composePrompt(message) } })}\n`,
  );
  await bot.hook('SessionStart', { transcript_path: transcript, session_id: 's' });
  expect(await bot.deliver(message)).toMatchObject({ state: 'verified', evidence: 'transcript' });
  expect(readFileSync(transcript, 'utf8').trim().split('\n')).toHaveLength(2);
});

test('a swallowed Enter is pressed once more while the composer shows exactly our text', async () => {
  const bot = await up('drop-first-enter');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'verified', evidence: 'composer' });
  expect(typed(bot).match(/\r/g)).toHaveLength(2);
});

test('what nothing has seen is unconfirmed within ten seconds; the text is never sent again and Enter at most twice', async () => {
  const bot = await up('deaf');
  await gateOpen(bot);
  const from = Date.now();
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'unconfirmed', evidence: null });
  expect(Date.now() - from).toBeLessThan(10_000);
  expect(typed(bot).match(/\r/g)).toHaveLength(2);
  expect(typed(bot).match(/200~/g)).toHaveLength(1);
  // What Gantry put there is removed, so that nothing waits behind it.
  expect(bot.gate()).toEqual({ open: true });
});

test('an emptied composer without a turn is no witness', async () => {
  const bot = await up('no-turn');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'unconfirmed' });
});

test('a dialog that opens under a paste gets no Enter', async () => {
  const bot = await up('dialog-on-paste');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toEqual({ state: 'held', why: 'a dialog opened' });
  expect(typed(bot)).not.toContain('\r');
  await reaches(bot, 'needs_you');
  expect(await bot.deliver(outgoing('again'))).toMatchObject({ state: 'held' });
});

test('a composer that does not show the text gets no Enter', async () => {
  const bot = await up('blind');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'unconfirmed' });
  expect(typed(bot)).not.toContain('\r');
});

test('a draft holds messages and is never cleared; ghost text is no draft', async () => {
  const bot = await up();
  await gateOpen(bot);
  await bot.input({ text: 'my words' });
  await eventually(() => JSON.stringify(bot.gate()).includes('draft'), 5000);
  expect(await bot.deliver(outgoing('say hello'))).toEqual({ state: 'held', why: 'draft' });
  expect(screen(bot)).toContain('my words');
  const other = await up('ghost');
  await gateOpen(other);
  expect(screen(other)).toContain('Resend your message');
});

test('while a person types nothing is put in, also before the screen shows it', async () => {
  const bot = await up();
  await gateOpen(bot);
  await bot.input({ keys: ['Left'] });
  expect(bot.gate()).toEqual({ open: false, why: 'a person is typing', setup: false });
  await gateOpen(bot);
});

test('two messages at once are typed one after the other, the second held by the turn of the first', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('first');
  const second = outgoing('second');
  const results = Promise.all([scratch.deliverWithHook(bot, message), bot.deliver(second)]);
  expect(await results).toMatchObject([{ state: 'verified' }, { state: 'held', why: 'working' }]);
  expect(typed(bot)).not.toContain('second');
});

test('hooks of a sub-agent and unknown hooks change nothing', async () => {
  const bot = await up();
  await gateOpen(bot);
  await bot.hook('UserPromptSubmit', { prompt: 'x', agent_id: 'sub' });
  await bot.hook('SubagentStop', {});
  await bot.hook('Whatever', {});
  expect(bot.state().state).toBe('idle');
  await bot.hook('UserPromptSubmit', { prompt: 'x' });
  await bot.hook('Stop', { agent_id: 'sub' });
  expect(bot.state().state).toBe('working');
});

test('exit code 0 is offline, another is failed with the code', async () => {
  const bot = await up();
  await gateOpen(bot);
  await bot.input({ keys: ['C-c'] });
  await reaches(bot, 'offline');
  const other = await up();
  await gateOpen(other);
  await other.input({ keys: ['C-d'] });
  await reaches(other, 'failed');
  expect(other.state().reason).toBe('it ended with exit code 7');
});

test('the start has hooks by a settings file of its own, an id of ours, and asks for permission; the home stays untouched', async () => {
  const bot = scratch.spec({ agentId: 'agent_x', harness: 'claude', model: 'opus', culture: 'Be kind.' });
  const paths = scratch.paths('agent_x');
  const launch = await scratch.harnesses.prepare(bot, paths);
  const settingsFile = join(paths.folder, 'claude-settings.json');
  let id = launch.command[4] ?? '';
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(launch.command.slice(1)).toEqual([
    '--settings',
    settingsFile,
    '--session-id',
    id,
    '--permission-mode',
    'manual',
    '--model',
    'opus',
    '--append-system-prompt',
    'Be kind.',
  ]);
  const { hooks } = JSON.parse(readFileSync(settingsFile, 'utf8'));
  expect(Object.keys(hooks)).toEqual(
    expect.arrayContaining(['UserPromptSubmit', 'PermissionRequest', 'Stop', 'StopFailure']),
  );
  expect(hooks.Stop[0].hooks[0].command).toBe(`'${process.execPath}' '${paths.gantry[1]}' 'hook' 'Stop'`);
  // A question waits as long as a person may take; all else is over in seconds.
  expect(hooks.PermissionRequest[0].hooks[0].timeout).toBeGreaterThan(24 * 60 * 60);
  expect(hooks.Stop[0].hooks[0].timeout).toBe(10);
  expect(launch.env).toMatchObject({ TERM_PROGRAM: 'ghostty', GANTRY_AGENT: 'agent_x', GANTRY_TEAM: 'dev' });
  // Nothing was said yet: there is no conversation to go on with.
  const anew = await scratch.harnesses.prepare({ ...bot, resume: true }, paths);
  expect(anew.command[3]).toBe('--session-id');
  expect(anew.resumed).toBeUndefined();
  id = anew.command[4] ?? '';
  const transcript = join(
    scratch.env.HOME ?? '',
    '.claude',
    'projects',
    bot.cwd.replace(/[^A-Za-z0-9]/g, '-'),
    `${id}.jsonl`,
  );
  mkdirSync(dirname(transcript), { recursive: true });
  writeFileSync(transcript, '');
  const again = await scratch.harnesses.prepare({ ...bot, resume: true }, paths);
  expect(again.resumed).toBe(true);
  expect(again.command.slice(3, 5)).toEqual(['--resume', id]);
  expect((await scratch.harnesses.prepare(bot, paths)).command[4]).not.toBe(id);
});

test('the start has the tools of this computer with the bot’s own token, which a shell reads when they are connected', async () => {
  const paths = { ...scratch.paths("agent_t's"), urlFile: join(scratch.work, 'url') };
  const none = { model: null, command: null, culture: null, env: {} };
  const bot = {
    agentId: "agent_t's",
    slug: 'web',
    team: 'dev',
    harness: 'claude',
    cwd: scratch.work,
    ...none,
  } as const;
  const without = await scratch.harnesses.prepare(bot, paths);
  expect(without.command).not.toContain('--mcp-config');
  writeFileSync(paths.urlFile, 'http://127.0.0.1:3011\n');
  const launch = await scratch.harnesses.prepare(bot, paths);
  const file = join(paths.folder, 'claude-tools.json');
  expect(launch.command.slice(launch.command.indexOf('--mcp-config'))).toEqual(['--mcp-config', file]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { gantry } = JSON.parse(readFileSync(file, 'utf8')).mcpServers;
  expect([gantry.type, gantry.url]).toEqual(['http', 'http://127.0.0.1:3011/mcp/server?names=safe']);
  writeFileSync(paths.tokenFile, 'gantry_bot_0123\n');
  const read = spawnSync('sh', ['-c', gantry.headersHelper], { encoding: 'utf8' });
  expect(JSON.parse(read.stdout)).toEqual({ Authorization: 'Bearer gantry_bot_0123' });
  expect(JSON.stringify(launch)).not.toContain('gantry_bot_0123');
  // Where Gantry's policy decides, Claude Code asks nothing of its own.
  const { permissions } = JSON.parse(readFileSync(join(paths.folder, 'claude-settings.json'), 'utf8'));
  expect(permissions).toEqual({ allow: ['mcp__gantry'] });
});

test('that a tool has run is reported only while a question waits: otherwise no program of ours starts', async () => {
  const paths = {
    ...scratch.paths('agent_y'),
    gantry: [process.execPath, '-e', 'console.log(process.argv.slice(1).join())'],
  };
  const none = { model: null, command: null, culture: null, env: {} };
  const bot = { agentId: 'agent_y', slug: 'web', team: 'dev', harness: 'claude', cwd: scratch.work, ...none } as const;
  await scratch.harnesses.prepare(bot, paths);
  const { hooks } = JSON.parse(readFileSync(join(paths.folder, 'claude-settings.json'), 'utf8'));
  for (const event of ['PostToolUse', 'PostToolUseFailure']) {
    const { command } = hooks[event][0].hooks[0];
    const run = () => spawnSync('sh', ['-c', command], { input: '{}', encoding: 'utf8' });
    expect(run()).toMatchObject({ status: 0, stdout: '' });
    writeFileSync(join(paths.folder, 'asking'), '');
    expect(run()).toMatchObject({ status: 0, stdout: `hook,${event}\n` });
    rmSync(join(paths.folder, 'asking'));
  }
});

test('a usage limit blocks it until the reset that the hook names; let try, its gate opens at once', async () => {
  const bot = await up();
  await gateOpen(bot);
  const soon = new Date(Date.now() + 2 * 3_600_000);
  const hour = soon.getUTCHours() % 12 === 0 ? 12 : soon.getUTCHours() % 12;
  const named = `${hour}:${String(soon.getUTCMinutes()).padStart(2, '0')}${soon.getUTCHours() < 12 ? 'am' : 'pm'}`;
  await bot.hook('UserPromptSubmit', { prompt: 'x', session_id: 's' });
  expect(bot.limit?.()).toBeNull();
  const said = `You've hit your session limit · resets ${named} (UTC)`;
  await bot.hook('StopFailure', { error: 'rate_limit', last_assistant_message: said });
  expect(bot.state().state).toBe('blocked');
  expect(bot.limit?.()).toEqual({
    reason: `usage limit: ${said}`,
    until: Math.floor(soon.getTime() / 60_000) * 60_000,
  });
  expect(bot.gate().open).toBe(false);
  bot.unblock?.();
  expect(bot.state().state).toBe('idle');
  await gateOpen(bot);
});

test('a plain 429 is no usage limit', async () => {
  const bot = await up();
  await gateOpen(bot);
  await bot.hook('StopFailure', { error: 'rate_limit', last_assistant_message: 'API Error: Request rejected (429)' });
  expect(bot.state().state).toBe('idle');
  expect(bot.limit?.()).toBeNull();
});

/** It stands at the question whether it may work in its folder, which waits for a person. */
async function asksForTrust(mode = 'trust'): Promise<HarnessBot> {
  const bot = await up(mode);
  await reaches(bot, 'needs_you');
  await eventually(() => bot.explain().approvals.length === 1, 5000);
  return bot;
}
const down = '\x1b[B';

test('whether it may work in its folder is asked as an approval, and no key is pressed before a person answers', async () => {
  const bot = await asksForTrust();
  const { people, work } = scratch;
  expect(people.held.map(({ ask }) => ({ ...ask, actionHash: '' }))).toMatchObject([
    {
      source: 'harness',
      kind: 'trust_folder',
      title: 'web@dev asks to trust its folder',
      summary: work,
      agentId: bot.agentId,
    },
  ]);
  expect(people.held[0]?.ask.details?.[0]?.text).toContain('it can read, change and run files there');
  expect(bot.gate()).toMatchObject({ open: false, setup: true });
  expect(typed(bot)).toBe('');
  people.answer('apr_1', 'approve');
  await gateOpen(bot);
  expect(typed(bot)).toBe(`${down}\r`);
  expect(bot.explain().approvals).toEqual([]);
});

test('a key that it loses while it draws the question is pressed again, and Enter only on the choice that was seen', async () => {
  const bot = await asksForTrust('trust loses-key');
  scratch.people.answer('apr_1', 'approve');
  await gateOpen(bot);
  expect(typed(bot)).toBe(`${down}${down}\r`);
});

test('an Enter that it loses is not pressed again: a person answers in the pane', async () => {
  const bot = await asksForTrust('trust loses-enter');
  scratch.people.answer('apr_1', 'approve');
  await eventually(() => bot.explain().approvals.length === 0);
  expect(typed(bot)).toBe(`${down}\r`);
  expect(bot.explain().steps.at(-1)?.evidence).toBe('its screen did not take the answer; answer it in the pane');
  await bot.input({ keys: ['Enter'] });
  await gateOpen(bot);
  expect(scratch.people.held).toHaveLength(1);
});

test('a program that is slow gets each key once, so that none waits for the dialog that follows', async () => {
  const bot = await asksForTrust('trust slow');
  scratch.people.answer('apr_1', 'approve');
  await eventually(() => screen(bot).includes('New MCP server'));
  await eventually(() => bot.explain().approvals.length === 0);
  expect(typed(bot)).toBe(`${down}\r`);
  // Still there, with everything read that was written before.
  await bot.input({ keys: ['Down'] });
  await eventually(() => screen(bot).includes('❯ 2. Continue without it'));
  expect(scratch.people.held).toHaveLength(1);
});

test('a question that is not seen for a moment, because it is drawn again, gets the answer that was given', async () => {
  const bot = await asksForTrust('trust blinks');
  scratch.people.answer('apr_1', 'approve');
  await gateOpen(bot);
  expect(typed(bot)).toBe(`${down}\r`);
  expect(scratch.people.held).toHaveLength(1);
});

test('a person who does not trust the folder ends the program', async () => {
  const bot = await asksForTrust();
  scratch.people.answer('apr_1', 'reject');
  await reaches(bot, 'offline');
  expect(typed(bot)).toBe('\r');
});

test('the same question answered in the pane is taken back', async () => {
  const bot = await asksForTrust();
  await bot.input({ keys: ['Down'] });
  await eventually(() => screen(bot).includes('❯ Yes'), 5000);
  await bot.input({ keys: ['Enter'] });
  await gateOpen(bot);
  expect(scratch.people.held.map(({ ended }) => ended)).toEqual([{ kind: 'withdrawn', surface: 'pane' }]);
});

test('after a restart the question is the same one, and its answer arrives', async () => {
  const bot = await asksForTrust();
  const { agentId, paneId } = bot;
  const spec = scratch.spec({ agentId, harness: 'claude', env: { STAND_IN: 'trust' } });
  bot.close();
  const again = scratch.restarted().attach(spec, paneId);
  await eventually(() => again.explain().approvals.length === 1, 5000);
  expect(scratch.people.held).toHaveLength(1);
  scratch.people.answer('apr_1', 'approve');
  await gateOpen(again);
});

test('once a hook was heard, no screen is the question about the folder, also after a restart', async () => {
  const bot = await asksForTrust();
  await bot.hook('SessionStart', { session_id: 's' });
  await eventually(() => bot.state().reason === 'a dialog waits for an answer', 5000);
  expect(scratch.people.held).toMatchObject([{ ended: { kind: 'withdrawn', surface: 'pane' } }]);
  const { agentId, paneId } = bot;
  bot.close();
  const again = scratch.restarted().attach(scratch.spec({ agentId, harness: 'claude' }), paneId);
  expect(again.state().reason).toBe('a dialog waits for an answer');
  expect(scratch.people.held).toHaveLength(1);
});
