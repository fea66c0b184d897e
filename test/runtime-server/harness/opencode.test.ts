import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { readEvents } from '../../../src/runtime-server/harness/opencode/exec.ts';
import { botSpec, createScratch, eventually, gateOpen, outgoing, reaches, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;

beforeEach(() => {
  scratch = createScratch();
  scratch.standIn('opencode');
});
afterEach(() => scratch.close());

const up = (mode = ''): Promise<HarnessBot> => scratch.up({ harness: 'opencode', env: { STAND_IN: mode } });
const say = (bot: HarnessBot, line: string) => scratch.panes.write(bot.paneId, `${line}\n`);
const event = (bot: HarnessBot, type: string, properties: Record<string, unknown>) =>
  say(bot, JSON.stringify({ type, properties }));
const status = (bot: HarnessBot, sessionID: string, type: string) =>
  event(bot, 'session.status', { sessionID, status: { type } });
const spec = botSpec({ agentId: 'agent_x', harness: 'opencode', model: 'fake/fake-1', culture: 'Be kind.' });

test('a message goes over its server and is verified by the event that gives it back; no key is pressed', async () => {
  const bot = await up();
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('!ls'))).toMatchObject({ state: 'verified', evidence: 'transcript' });
  expect(scratch.panes.written(bot.paneId)).toBe('');
  await reaches(bot, 'working');
  await status(bot, 'ses_1', 'idle');
  await reaches(bot, 'idle');
});

test('without its event the stored message is the witness; without that nothing is claimed, and it is not sent again', async () => {
  const bot = await up('no-event');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'verified', detail: /when asked/ });
  const other = await up('mute');
  await gateOpen(other);
  expect(await other.deliver(outgoing('hello'))).toMatchObject({ state: 'unconfirmed', evidence: null });
});

test('what its server refuses has failed, with the answer', async () => {
  const bot = await up('refuse');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'failed', detail: /500/ });
});

test('while its server is away messages are held, and go on when it is back', async () => {
  const bot = await up('late');
  expect(bot.gate().open).toBe(false);
  await gateOpen(bot);
  await say(bot, 'gone');
  await eventually(() => JSON.stringify(bot.gate()).includes('its server does not answer'));
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'held' });
  await say(bot, 'back');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'verified' });
});

test('a turn is ended by its server, without a key; what goes on is not called interrupted', async () => {
  const bot = await up();
  await gateOpen(bot);
  await status(bot, 'ses_1', 'busy');
  await reaches(bot, 'working');
  expect(bot.interruptKeys()).toEqual([]);
  expect(await bot.interrupt('x')).toEqual({ ended: true, keys: [] });
  expect(bot.state().state).toBe('idle');
  expect(scratch.panes.written(bot.paneId)).not.toContain('\x1b');
  const other = await up('goes-on');
  await gateOpen(other);
  await status(other, 'ses_1', 'busy');
  await reaches(other, 'working');
  expect(await other.interrupt('x')).toEqual({ ended: false, keys: [] });
});

test('without its server Escape is pressed twice, as its screen asks', async () => {
  const bot = await up();
  await gateOpen(bot);
  await status(bot, 'ses_1', 'busy');
  await reaches(bot, 'working');
  await say(bot, 'gone');
  await eventually(() => bot.interruptKeys().length > 0);
  expect(await bot.interrupt('x')).toEqual({ ended: false, keys: ['Escape', 'Escape'] });
  expect(scratch.panes.written(bot.paneId).match(/\x1b/g)).toHaveLength(2);
});

test('it is not idle while its server does not answer: not before it did, and not when it hangs later', async () => {
  const bot = await up('hangs');
  const states: string[] = [];
  bot.onState(({ state, reason }) => states.push(`${state}: ${reason}`));
  await eventually(() => states.includes('starting: its server does not answer'));
  expect(states.some((state) => state.startsWith('idle'))).toBe(false);
  await say(bot, 'answer');
  // Its first call hangs until it gives up; the next one is answered.
  await eventually(() => bot.gate().open, 30_000);
  expect(bot.state().state).toBe('idle');
  await say(bot, 'hang');
  await eventually(() => bot.state().reason === 'its server does not answer', 20_000);
  expect(bot.state().state).toBe('starting');
  expect(bot.gate()).toMatchObject({ open: false, why: 'its server does not answer' });
}, 60_000);

test('a damaged event and one of an unknown kind change nothing; the next one counts', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, '{"type":"session.status","proper');
  await event(bot, 'whatever.new', { sessionID: 'ses_1' });
  await status(bot, 'ses_1', 'busy');
  await reaches(bot, 'working');
});

test('a sub-agent’s conversation neither begins nor ends a turn', async () => {
  const bot = await up();
  await gateOpen(bot);
  await status(bot, 'ses_child', 'busy');
  await status(bot, 'ses_1', 'busy');
  await reaches(bot, 'working');
  await status(bot, 'ses_child', 'idle');
  await event(bot, 'session.idle', { sessionID: 'ses_child' });
  await event(bot, 'session.error', { sessionID: 'ses_child', error: { name: 'APIError' } });
  // Events are read in order: with the question, those before it have been.
  const states: string[] = [];
  bot.onState(({ state }) => states.push(state));
  await say(bot, 'ask per_1');
  await eventually(() => states.at(-1) === 'needs_you');
  expect(states).toEqual(['needs_you']);
});

test('a question is asked as an approval and its answer handed over once', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, 'ask per_1');
  await reaches(bot, 'needs_you');
  expect(bot.state().reason).toBe('asks to run: ls');
  await eventually(() => bot.explain().approvals.length === 1);
  scratch.people.answer('apr_1', 'approve');
  await eventually(() => bot.explain().approvals.length === 0);
  await eventually(() => bot.state().state === 'idle');
});

test('an answer that comes second finds the question gone: nothing breaks, and the approval is closed', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, 'ask per_1');
  await eventually(() => bot.explain().approvals.length === 1);
  await say(bot, 'forget per_1');
  await eventually(() => scratch.panes.get(bot.paneId)?.facts.title === 'forgot per_1');
  scratch.people.answer('apr_1', 'approve');
  await eventually(() => bot.explain().approvals.length === 0);
  expect(bot.explain().steps.some(({ evidence }) => evidence.includes('already over'))).toBe(true);
  await gateOpen(bot);
});

test('answered in the pane, also while nobody listened: the approval is withdrawn there', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, 'ask per_1');
  await eventually(() => bot.explain().approvals.length === 1);
  await event(bot, 'permission.replied', { sessionID: 'ses_1', requestID: 'per_1', reply: 'once' });
  await eventually(() => scratch.people.held[0]?.ended?.kind === 'withdrawn');
  await say(bot, 'forget per_1');
  await say(bot, 'ask per_2');
  await eventually(() => bot.explain().approvals.length === 1);
  await say(bot, 'gone');
  await eventually(() => !bot.gate().open && JSON.stringify(bot.gate()).length > 0);
  await say(bot, 'forget per_2');
  await say(bot, 'back');
  await eventually(() => scratch.people.held[1]?.ended?.kind === 'withdrawn');
  expect(scratch.people.held.map(({ ended }) => ended)).toEqual(Array(2).fill({ kind: 'withdrawn', surface: 'pane' }));
});

test('the start asks for permission, has no plugins and no update, a password of its own in a private file; the home stays untouched', async () => {
  const paths = scratch.paths('agent_x');
  const launch = await scratch.harnesses.prepare(spec, paths);
  const config = JSON.parse(String(launch.env.OPENCODE_CONFIG_CONTENT));
  expect(config).toMatchObject({ autoupdate: false, share: 'disabled', permission: { bash: 'ask', edit: 'ask' } });
  expect(readFileSync(config.instructions[0], 'utf8')).toBe('Be kind.\n');
  const file = join(paths.folder, 'opencode-server.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const first = JSON.parse(readFileSync(file, 'utf8'));
  expect(launch.env.OPENCODE_SERVER_PASSWORD).toBe(first.password);
  expect(launch.command.slice(1)).toEqual([
    '--pure',
    '--hostname',
    '127.0.0.1',
    '--port',
    String(first.port),
    '--model=fake/fake-1',
  ]);
  expect(launch.command.join(' ')).not.toContain(first.password);
  await scratch.harnesses.prepare(spec, paths);
  expect(JSON.parse(readFileSync(file, 'utf8')).password).not.toBe(first.password);
  expect(readdirSync(scratch.home)).toEqual([]);
});

test('exec: answers, refusals and failures are read from its events, whatever stands between them', () => {
  const line = (value: unknown) => `${JSON.stringify(value)}\n`;
  const text = line({ type: 'text', sessionID: 'ses_1', part: { text: 'done' } });
  const finish = line({
    type: 'step_finish',
    part: { cost: 0.5, tokens: { input: 3, output: 4, cache: { read: 2 } } },
  });
  expect(readEvents(`noise\n${text}{"broken\n${finish}`, 0, '')).toEqual({
    state: 'done',
    text: 'done',
    sessionId: 'ses_1',
    refused: 0,
    usage: { inputTokens: 5, outputTokens: 4, cents: 50 },
    detail: '',
  });
  const state = { status: 'error', error: 'The user rejected permission to use this specific tool call.' };
  expect(readEvents(line({ type: 'tool_use', part: { tool: 'bash', state } }), 0, '').refused).toBe(1);
  const error = { name: 'APIError', data: { message: 'slow down' } };
  expect(readEvents(line({ type: 'error', error }), 1, '')).toMatchObject({ state: 'failed', detail: 'slow down' });
  expect(readEvents('', 1, 'Session not found\n')).toMatchObject({ state: 'failed', detail: /Session not found/ });
});
