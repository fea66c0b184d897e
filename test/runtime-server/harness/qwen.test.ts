import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, eventually, gateOpen, outgoing, reaches, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;

beforeEach(() => {
  scratch = createScratch();
  scratch.standIn('qwen');
});
afterEach(() => scratch.close());

const up = (mode = ''): Promise<HarnessBot> => scratch.up({ harness: 'qwen', env: { STAND_IN: mode } });
const say = (bot: HarnessBot, line: unknown) =>
  scratch.panes.write(bot.paneId, `${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
const inputOf = (bot: HarnessBot) => (scratch.facts.get(bot.agentId) as { channel: { input: string } }).channel.input;
const ask = (id: string) => ({
  type: 'control_request',
  request_id: id,
  request: {
    subtype: 'can_use_tool',
    tool_name: 'run_shell_command',
    tool_use_id: `call_${id}`,
    input: { command: 'ls' },
  },
});

test('a message is a line in its file and verified by its events; no key is pressed, and idle must hold', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('!ls');
  expect(await bot.deliver(message)).toMatchObject({ state: 'verified', evidence: 'hook' });
  expect(scratch.panes.written(bot.paneId)).toBe('');
  expect(bot.state().state).toBe('working');
  await say(bot, 'idle');
  await reaches(bot, 'idle');
});

test('without an event its transcript is the witness, as a whole line', async () => {
  const bot = await up('wordless');
  await gateOpen(bot);
  const message = outgoing('hello');
  const file = String(scratch.facts.get(bot.agentId)?.transcript);
  mkdirSync(dirname(file), { recursive: true });
  const line = { type: 'user', message: { parts: [{ text: composePrompt(message) }] } };
  writeFileSync(file, `{"type":"user","mess\n${JSON.stringify(line)}\n`);
  expect(await bot.deliver(message)).toMatchObject({ state: 'verified', evidence: 'transcript' });
}, 40_000);

test('what nothing has seen is unconfirmed, and written once', async () => {
  const bot = await up('deaf');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'unconfirmed', evidence: null });
  const input = inputOf(bot);
  expect(readFileSync(input, 'utf8').trim().split('\n')).toHaveLength(1);
}, 40_000);

test('a damaged line and one of an unknown kind are passed over', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, '{"type":"user","mess');
  await say(bot, { type: 'whatever_new' });
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'verified' });
});

test('a question is asked as an approval; the answer is a line in its file', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, 'dialog');
  await say(bot, ask('r1'));
  await reaches(bot, 'needs_you');
  expect(bot.state().reason).toBe('asks to run: ls');
  await eventually(() => bot.explain().approvals.length === 1);
  scratch.people.answer('apr_1', 'approve');
  await eventually(() => bot.explain().approvals.length === 0);
  const input = inputOf(bot);
  expect(JSON.parse(readFileSync(input, 'utf8'))).toEqual({
    type: 'confirmation_response',
    request_id: 'r1',
    allowed: true,
  });
  await say(bot, 'idle');
  await gateOpen(bot);
});

test.each([
  ['its tool has run', { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'call_r1' }] } }],
  ['it says so', { type: 'control_response', response: { subtype: 'success', request_id: 'r1' } }],
  ['its dialog left the screen', 'idle'],
])('a question that was answered in the pane is withdrawn: %s', async (_, sign) => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, ask('r1'));
  await say(bot, 'dialog');
  await eventually(() => bot.explain().approvals.length === 1);
  await eventually(() => bot.explain().steps.some(({ rule }) => rule === 'qwen.dialog.permission'));
  await say(bot, sign);
  await eventually(() => scratch.people.held[0]?.ended !== null);
  expect(scratch.people.held[0]?.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
});

test('a question outlives the runtime: it is asked again under the same approval', async () => {
  const bot = await up();
  await gateOpen(bot);
  await say(bot, 'dialog');
  await say(bot, ask('r1'));
  await eventually(() => bot.explain().approvals.length === 1);
  const again = scratch.restarted().attach(scratch.spec({ agentId: bot.agentId, harness: 'qwen' }), bot.paneId);
  await eventually(() => again.explain().approvals.length === 1);
  expect(scratch.people.held).toHaveLength(1);
  bot.close();
});

test('the start asks for permission, names its conversation, has private files and no telemetry; the home stays untouched', async () => {
  const paths = scratch.paths('agent_x');
  const base = { slug: 'web', team: 'dev', model: 'm', command: null, cwd: scratch.work, env: {}, culture: 'Be kind.' };
  const launch = await scratch.harnesses.prepare({ agentId: 'agent_x', harness: 'qwen', ...base }, paths);
  const [, ...args] = launch.command;
  expect(args[args.indexOf('--approval-mode') + 1]).toBe('default');
  expect(args[args.indexOf('--session-id') + 1]).toMatch(/^[0-9a-f-]{36}$/);
  expect(args).toContain('--append-system-prompt=Be kind.');
  for (const flag of ['--input-file', '--json-file']) {
    expect(statSync(String(args[args.indexOf(flag) + 1])).mode & 0o777).toBe(0o600);
  }
  const settings = JSON.parse(readFileSync(String(launch.env.QWEN_CODE_SYSTEM_SETTINGS_PATH), 'utf8'));
  expect([settings.privacy, settings.general.enableAutoUpdate]).toEqual([{ usageStatisticsEnabled: false }, false]);
  expect(readdirSync(scratch.home)).toEqual([]);
});

test('a settings file that a company put there is not put aside', async () => {
  scratch.env.QWEN_CODE_SYSTEM_SETTINGS_PATH = '/etc/ours.json';
  const base = { slug: 'web', team: 'dev', model: null, command: null, cwd: scratch.work, env: {}, culture: null };
  const launch = await scratch.harnesses.prepare(
    { agentId: 'agent_y', harness: 'qwen', ...base },
    scratch.paths('agent_y'),
  );
  expect(launch.env.QWEN_CODE_SYSTEM_SETTINGS_PATH).toBe('/etc/ours.json');
});
