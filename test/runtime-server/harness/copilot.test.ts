import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdsOurs, readComposer } from '../../../src/runtime-server/harness/copilot/composer.ts';
import { execCopilot, readEvents } from '../../../src/runtime-server/harness/copilot/exec.ts';
import { piecesOf } from '../../../src/runtime-server/harness/copilot/pieces.ts';
import { questionEvent } from '../../../src/runtime-server/harness/copilot/transcript.ts';
import { readCopilotUsage } from '../../../src/runtime-server/harness/copilot/usage.ts';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import {
  botSpec,
  callExec,
  createScratch,
  eventually,
  gateOpen,
  jsonLines,
  outgoing,
  ranWith,
  reaches,
  type Scratch,
} from './bench-of-one.ts';

let scratch: Scratch;

beforeEach(() => {
  scratch = createScratch();
  scratch.standIn('copilot');
});
afterEach(() => scratch.close());

const command = 'touch made && ls';
const up = (env: Record<string, string> = {}): Promise<HarnessBot> => scratch.up({ harness: 'copilot', env });
const held = () => scratch.people.held[0];
const transcript = (bot: HarnessBot) => String(scratch.facts.get(bot.agentId)?.transcript);
const events = (bot: HarnessBot) => (existsSync(transcript(bot)) ? readFileSync(transcript(bot), 'utf8') : '');

/** Its dialog stands, and its question is an approval. */
async function asks(env: Record<string, string> = {}): Promise<HarnessBot> {
  const bot = await up({ ASKED: command, ...env });
  await gateOpen(bot);
  await bot.input({ keys: ['C-o'] });
  await eventually(() => bot.explain().approvals.length === 1);
  return bot;
}

test('a paste is one framed write, Enter a write of its own after the composer shows it; the submit hook is the witness', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('say hello\n\tand more');
  expect(await scratch.deliverWithHook(bot, message)).toMatchObject({ state: 'verified', evidence: 'hook' });
  expect(scratch.typed(bot)).toBe(`\x1b[200~${composePrompt(message)}\x1b[201~\r`);
  expect(bot.state().state).toBe('working');
});

test('without its hook the transcript is the witness, and without both the composer', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('say hello');
  const result = bot.deliver(message);
  await eventually(() => scratch.typed(bot).endsWith('\r'));
  mkdirSync(join(transcript(bot), '..'), { recursive: true });
  writeFileSync(transcript(bot), jsonLines({ type: 'user.message', data: { content: composePrompt(message) } }));
  writeFileSync(transcript(bot), '\n', { flag: 'a' });
  expect(await result).toMatchObject({ state: 'verified', evidence: 'transcript' });
  const other = await up();
  await gateOpen(other);
  expect(await other.deliver(outgoing('say hello'))).toMatchObject({ state: 'verified', evidence: 'composer' });
});

test('a text that it would save as a file is pasted in pieces, each after the one before is shown', async () => {
  const bot = await up();
  await gateOpen(bot);
  const words = Array.from({ length: 2800 }, (_, at) => `no${at + 10_000}`).join(' ');
  const message = outgoing(words);
  expect(await scratch.deliverWithHook(bot, message)).toMatchObject({ state: 'verified', evidence: 'hook' });
  const pastes = [...scratch.typed(bot).matchAll(/\x1b\[200~(.*?)\x1b\[201~/gs)].map((paste) => String(paste[1]));
  expect(pastes.length).toBeGreaterThan(1);
  expect(pastes.join('')).toBe(composePrompt(message));
});

test.each([
  ['words', 'word '.repeat(10_000)],
  ['lines', 'line\n'.repeat(10_000)],
  ['characters of four bytes', '𠮷'.repeat(10_000)],
  ['nothing but blanks', ' '.repeat(30_000)],
])('a paste is cut where nothing is lost: %s', (_, text) => {
  const pieces = piecesOf(text);
  expect(pieces.join('')).toBe(text);
  for (const piece of pieces) {
    expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(20_000);
    expect(piece.isWellFormed()).toBe(true);
  }
  expect(piecesOf('a short text')).toEqual(['a short text']);
});

test('a paste is not cut beside a line break', () => {
  const pieces = piecesOf('line\n'.repeat(10_000));
  expect(pieces.slice(0, -1).filter((piece) => piece.endsWith('\n'))).toEqual([]);
  expect(pieces.slice(1).filter((piece) => piece.startsWith('\n'))).toEqual([]);
});

test('its question is an approval with the whole command; a yes is chosen in its dialog', async () => {
  const bot = await asks();
  expect(bot.state()).toMatchObject({ state: 'needs_you', reason: `asks to run: ${command}` });
  expect(held()?.ask).toMatchObject({ title: `web@dev asks to run: ${command}`, summary: command });
  scratch.people.answer(String(held()?.id), 'approve');
  await reaches(bot, 'idle');
  expect(events(bot)).toContain('"kind":"approved"');
  // Ctrl-O of the test, then one Enter.
  expect(scratch.typed(bot)).toBe('\x0f\r');
});

test('a no is given with its reason, in one line', async () => {
  const bot = await asks();
  scratch.people.answer(String(held()?.id), 'reject', 'not on\na Sunday');
  await eventually(() => events(bot).includes('permission.completed'));
  expect(events(bot)).toContain('"feedback":"A person rejected this: not on a Sunday"');
  expect(scratch.typed(bot).match(/\r/g)).toHaveLength(1);
});

test.each([
  ['Enter', 'approved'],
  ['Escape', 'cancelled'],
])('answered in the pane with %s, its approval is withdrawn there', async (key, kind) => {
  const bot = await asks();
  await bot.input({ keys: [key] });
  await eventually(() => held()?.ended !== null);
  expect(held()?.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
  expect(events(bot)).toContain(`"kind":"${kind}"`);
});

test('a dialog that does not take the answer is said to, and stays for a person at the pane', async () => {
  const bot = await asks({ STAND_IN: 'deaf-dialog' });
  scratch.people.answer(String(held()?.id), 'approve');
  await eventually(() => JSON.stringify(bot.explain().steps).includes('could not be delivered'));
  expect(bot.state().state).toBe('needs_you');
  expect(scratch.typed(bot).match(/\r/g)).toHaveLength(1);
});

test('a rule of the person answers without asking', async () => {
  mkdirSync(join(scratch.work, '.gantry'));
  const rules = 'rules:\n  - { when: { tool: shell.exec, command: "touch *" }, then: deny }\n';
  writeFileSync(join(scratch.work, '.gantry', 'policy.yaml'), rules);
  const bot = await up({ ASKED: command });
  await gateOpen(bot);
  await bot.input({ keys: ['C-o'] });
  await eventually(() => events(bot).includes('permission.completed'));
  expect(events(bot)).toContain('"feedback":"Not allowed');
  expect(scratch.people.held).toEqual([]);
});

test('a question outlives the runtime: it is taken up under the same approval and answered', async () => {
  const bot = await asks();
  const spec = scratch.spec({ agentId: bot.agentId, harness: 'copilot' });
  const again = scratch.restarted().attach(spec, bot.paneId);
  bot.close();
  await eventually(() => again.explain().approvals.length === 1);
  expect(scratch.people.held).toHaveLength(1);
  scratch.people.answer(String(held()?.id), 'approve');
  await reaches(again, 'idle');
  expect(events(again)).toContain('"kind":"approved"');
});

test('its question whether it may work in its folder is an approval; a yes is remembered, a no ends it', async () => {
  const bot = await up({ STAND_IN: 'trust' });
  await eventually(() => bot.explain().approvals.length === 1);
  expect(held()?.ask).toMatchObject({ kind: 'trust_folder', summary: scratch.work });
  scratch.people.answer(String(held()?.id), 'approve');
  await gateOpen(bot);
  // Past "Yes", which it would ask again at each start.
  expect(scratch.typed(bot)).toBe('\x1b[B\r');
  const other = await up({ STAND_IN: 'trust' });
  await eventually(() => other.explain().approvals.length === 1);
  scratch.people.answer(String(scratch.people.held[1]?.id), 'reject');
  await reaches(other, 'failed');
});

test('an interrupt is one Ctrl-C, and true only when the turn was seen to end', async () => {
  const bot = await up();
  await gateOpen(bot);
  expect(await bot.interrupt('x')).toEqual({ ended: false, keys: [] });
  await bot.input({ keys: ['C-t'] });
  await reaches(bot, 'working');
  expect(await bot.interrupt('x')).toEqual({ ended: true, keys: ['C-c'] });
  expect(bot.state().state).toBe('idle');
});

test('a text of several lines that nothing took is removed again, line break by line break', async () => {
  const bot = await up({ STAND_IN: 'deaf' });
  await gateOpen(bot);
  const { detail } = (await bot.deliver(outgoing('say hello\n\nin three lines'))) as { detail: string };
  expect(detail).toContain('the text was removed again');
  await gateOpen(bot);
});

test('the start names its conversation, brings its hooks as a plugin in private files, and leaves the home alone', async () => {
  const paths = scratch.paths('agent_x');
  const spec = scratch.spec({ agentId: 'agent_x', harness: 'copilot', model: 'm', culture: 'Be kind.' });
  const launch = await scratch.harnesses.prepare(spec, paths);
  const [, session, plugin = '', ...rest] = launch.command;
  expect(session).toMatch(/^--session-id=[0-9a-f-]{36}$/);
  expect(rest).toEqual(['--mode=interactive', '--model=m']);
  const folder = plugin.replace('--plugin-dir=', '');
  const file = join(folder, 'hooks.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { hooks } = JSON.parse(readFileSync(file, 'utf8'));
  expect(Object.keys(hooks).sort()).toEqual(['Notification', 'UserPromptSubmit']);
  expect(hooks.Notification[0].bash).toMatch(/'?hook'? '?Notification'?$/);
  expect(JSON.parse(readFileSync(join(folder, 'plugin.json'), 'utf8')).hooks).toBe('hooks.json');
  const culture = join(String(launch.env.COPILOT_CUSTOM_INSTRUCTIONS_DIRS), 'AGENTS.md');
  expect(readFileSync(culture, 'utf8')).toBe('Be kind.');
  expect(readdirSync(scratch.home)).toEqual([]);
});

test('what a dialog is about is read from its transcript in full, also where two dialogs come for one command', () => {
  const event = (permissionRequest: object, promptRequest: object = {}) =>
    questionEvent({ type: 'permission.requested', data: { requestId: 'r', permissionRequest, promptRequest } });
  const shell = { kind: 'shell', fullCommandText: 'cat /etc/hosts' };
  expect(event(shell)).toMatchObject({
    kind: 'asked',
    question: { tool: 'Bash', input: { command: 'cat /etc/hosts' } },
  });
  expect(event(shell, { kind: 'path', paths: ['/etc/hosts'] })).toMatchObject({
    question: { summary: 'cat /etc/hosts\n\n(it reaches outside its folder: /etc/hosts)', shows: '/etc/hosts' },
  });
  expect(event({ kind: 'write', fileName: '/w/a', diff: '\n+words\n', newFileContents: 'words' })).toMatchObject({
    question: { tool: 'Write', summary: '+words', words: 'asks to change /w/a' },
  });
  expect(event({ kind: 'read', path: '/etc/x' })).toMatchObject({ question: { tool: 'Read' } });
  expect(event({ kind: 'url', url: 'https://example.org/' })).toMatchObject({ question: { tool: 'WebFetch' } });
  expect(event({ kind: 'mcp', serverName: 's', toolName: 't', args: { a: 1 } })).toMatchObject({
    question: { tool: 'mcp__s__t', input: { a: 1 } },
  });
  expect(event({ kind: 'of another version' })).toMatchObject({
    question: { words: 'asks to use of another version' },
  });
  const byHook = { requestId: 'r', permissionRequest: shell, resolvedByHook: true };
  expect(questionEvent({ type: 'permission.requested', data: byHook })).toBeNull();
  expect(questionEvent({ type: 'permission.completed', data: { requestId: 'r' } })).toEqual({ kind: 'over', id: 'r' });
});

const rule = '─'.repeat(120);
const shown = (...rows: string[]) =>
  readComposer({ title: '', progress: null, bottom: [' ~/work', rule, ...rows, rule, ' footer'], dimRows: [] });

test('a text in the composer is ours as it stands, by its end where it is tall, or as its marker; in its shell mode it is closed', () => {
  expect(shown('❯')).toEqual({ kind: 'empty' });
  expect(holdsOurs(shown('❯ From owner (message d_1):', '  say hello'), 'From owner (message d_1):\nsay hello')).toBe(
    true,
  );
  expect(holdsOurs(shown('❯ [Paste #1 - 15 lines]'), 'anything')).toBe(true);
  const long = `${'a'.repeat(200)} end`;
  expect(holdsOurs(shown('❯ [Paste #1 - 15 lines][Paste #2 - 9', '  lines]'), 'anything')).toBe(true);
  expect(holdsOurs(shown(`❯ [Paste #1 - 15 lines]${long}`), `what went before\n${long}`)).toBe(true);
  expect(holdsOurs(shown(`❯ [Paste #1 - 15 lines]${long} and a draft`), `what went before\n${long}`)).toBe(false);
  // It draws blanks for these.
  expect(holdsOurs(shown('❯ a   b', '  c'), 'a │ b\nc ░▒▓ █')).toBe(true);
  expect(holdsOurs(shown('❯ a   b'), 'a │ b\nc ░▒▓ █')).toBe(false);
  const rows = Array.from({ length: 18 }, (_, at) => `  row number ${at} of many`);
  const ours = `what went before\n${rows.join('\n')}`;
  expect(holdsOurs(shown(...rows.with(0, `❯${rows[0]?.slice(1)}`)), ours)).toBe(true);
  expect(holdsOurs(shown(...rows.with(0, `❯${rows[0]?.slice(1)}`)), `${ours} and more`)).toBe(false);
  expect(shown('! Execute shell command')).toEqual({ kind: 'closed' });
  const shaded = (footer: string, ...rows: string[]) => {
    const [top, end] = [`╻${'▄'.repeat(119)}`, `╹${'▀'.repeat(119)}`];
    const bottom = [' ~/work', top, ...rows.map((row) => `┃ ${row}`.trimEnd()), end, footer];
    return readComposer({ title: '', progress: null, bottom, dimRows: [] });
  };
  expect(shaded(' ← open sidebar · Interactive', '')).toEqual({ kind: 'empty' });
  expect(
    holdsOurs(shaded(' Interactive', 'From owner (message d_1):', 'hello'), 'From owner (message d_1):\nhello'),
  ).toBe(true);
  expect(shaded(' ← open sidebar · Shell · Manual Approval', 'ls')).toEqual({ kind: 'closed' });
  // A line break of a person is a draft.
  expect(shown('❯', '')).toEqual({ kind: 'text', text: '', tall: false });
});

test.each([
  ['plan', ['--plan', '--deny-tool=write']],
  ['ask', []],
  ['accept_edits', ['--allow-tool=write']],
] as const)(
  'exec mode %s allows no more than it says; the text goes in by stdin, so it can be no option',
  async (mode, flags) => {
    const bot = botSpec({ harness: 'copilot', model: 'm' });
    const { calls } = await callExec(execCopilot, bot, {}, { mode, resume: 'id-1', timeoutMs: 5 });
    expect(calls[0]).toMatchObject({ input: '--help', timeoutMs: 5 });
    const rest = ['--output-format=json', '--no-ask-user', ...flags, '--resume=id-1', '--model=m'];
    expect(calls[0]?.command.slice(1)).toEqual(rest);
  },
);

const message = (content: string) => ({ type: 'assistant.message', data: { content } });
const result = (exitCode: number) => ({ type: 'result', sessionId: 's-1', exitCode });

test('in exec mode the last words are the answer; what was refused is counted, and an error is a failure', () => {
  const refused = { type: 'tool.execution_complete', data: { success: false, error: { code: 'denied' } } };
  const out = jsonLines(message(''), refused, message('last'), result(0));
  expect(readEvents(ranWith(out))).toEqual({
    ...{ state: 'done', text: 'last', sessionId: 's-1', refused: 1, usage: null },
    detail: '1 tool call was refused',
  });
  const error = { type: 'session.error', data: { message: '400 That is too much' } };
  expect(readEvents(ranWith(jsonLines(error, result(1)), { code: 1 }))).toMatchObject({
    ...{ state: 'failed', detail: '400 That is too much' },
  });
  expect(readEvents(ranWith('', { code: 1, stderr: 'Error: no authentication\n' }))).toMatchObject({
    ...{ state: 'failed', detail: 'Error: no authentication' },
  });
});

test('an answer is counted once; what was cached is not counted in the input again', async () => {
  const file = join(scratch.work, 'events.jsonl');
  const usage = { model: 'm', inputTokens: 110, outputTokens: 20, cacheReadTokens: 80, cacheWriteTokens: 20 };
  const line = { type: 'session.usage_record', id: 'u1', timestamp: '2026-11-22T12:00:00.000Z', data: { usage } };
  writeFileSync(file, `${jsonLines(line)}\n`);
  const { lines } = await readCopilotUsage({ facts: { transcript: file }, cursor: null, settled: true });
  expect(lines).toEqual([
    {
      ...{ id: 'u1', at: Date.parse(line.timestamp), model: 'm' },
      ...{ input: 10, cachedInput: 80, cacheWrite: 20, output: 20, cents: null },
    },
  ]);
});
