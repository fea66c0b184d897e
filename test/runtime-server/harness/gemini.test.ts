import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, eventually, gateOpen, outgoing, type Scratch } from './bench-of-one.ts';

const chats = () => join(scratch.home, '.gemini', 'tmp', 'project', 'chats');
let scratch: Scratch;

beforeEach(() => {
  scratch = createScratch();
  scratch.standIn('gemini');
  mkdirSync(chats(), { recursive: true });
  const projects = { projects: { [scratch.work]: 'project' } };
  writeFileSync(join(scratch.home, '.gemini', 'projects.json'), JSON.stringify(projects));
});
afterEach(() => scratch.close());

const up = (mode = ''): Promise<HarnessBot> => scratch.up({ harness: 'gemini', env: { STAND_IN: mode } });
const typed = (bot: HarnessBot) => scratch.typed(bot);
const sessionOf = (agentId: string) => String(scratch.facts.get(agentId)?.sessionId);
const chat = (time: string, sessionId: string) =>
  join(chats(), `session-2026-11-22T${time}-${sessionId.slice(0, 8)}.jsonl`);
const prompt = (text: string) => `${JSON.stringify({ type: 'user', content: [{ text }] })}\n`;

test('a paste is one framed write, Enter comes after it; the transcript is the witness, in whichever file of the session', async () => {
  const bot = await up();
  await gateOpen(bot);
  const message = outgoing('say hello\n\tand more');
  const [older, newer] = ['17-07', '17-09'].map((time) => chat(time, sessionOf(bot.agentId))) as [string, string];
  for (const file of [older, newer]) writeFileSync(file, prompt('something else'));
  const result = bot.deliver(message);
  await eventually(() => typed(bot).endsWith('\r'));
  appendFileSync(older, prompt(composePrompt(message)));
  expect(await result).toMatchObject({ state: 'verified', evidence: 'transcript' });
  expect(typed(bot)).toBe(`\x1b[200~${composePrompt(message)}\x1b[201~\r`);
  // Its title may follow later: the next message must not fall between.
  expect(bot.state().state).toBe('working');
});

test('a swallowed Enter is pressed once more; then the composer is the witness', async () => {
  const bot = await up('drop-first-enter');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'verified', evidence: 'composer' });
  expect(typed(bot).match(/\r/g)).toHaveLength(2);
});

test('a prompt that it keeps until it has started is verified when its turn begins', async () => {
  const bot = await up('keeps-prompts');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'verified', evidence: 'composer' });
  expect(bot.state().state).toBe('working');
});

test('what nothing has seen is unconfirmed: the text is sent once and Enter at most twice', async () => {
  const bot = await up('deaf');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toMatchObject({ state: 'unconfirmed', evidence: null });
  expect([typed(bot).match(/\r/g)?.length, typed(bot).match(/200~/g)?.length]).toEqual([2, 1]);
});

test.each([
  ['dialog-on-paste', 'a dialog opened'],
  ['loses-paste', 'the composer did not take the text'],
])('%s: no Enter is pressed and the message is held', async (mode, why) => {
  const bot = await up(mode);
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('say hello'))).toEqual({ state: 'held', why });
  expect(typed(bot)).not.toContain('\r');
});

test('a start names its session; it is resumed only where a transcript of it is there', async () => {
  const spec = scratch.spec({ agentId: 'agent_r', harness: 'gemini', model: 'gemini-x', resume: true });
  const begin = () => scratch.harnesses.prepare(spec, scratch.paths('agent_r'));
  const first = await begin();
  const id = sessionOf('agent_r');
  expect(first.command.slice(1, 5)).toEqual(['--session-id', id, '--approval-mode', 'default']);
  expect((await begin()).command[1]).toBe('--session-id');
  const other = sessionOf('agent_r');
  expect(other).not.toBe(id);
  writeFileSync(chat('17-07', other), prompt('hello'));
  const again = await begin();
  expect([again.command.slice(1, 3), again.resumed]).toEqual([['--resume', other], true]);
  expect(scratch.facts.get('agent_r')).toMatchObject({ sessionId: other, transcript: chat('17-07', other) });
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
  expect(people.held[0]?.ask.details?.[0]?.text).toContain('Gemini CLI starts');
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
