import { expect, test } from 'vitest';
import type { Ran } from '../../../src/runtime-server/harness/adapter.ts';
import { execClaude, readResult } from '../../../src/runtime-server/harness/claude/exec.ts';
import type { ExecOptions } from '../../../src/runtime-server/harness/harness.ts';
import { botSpec, callExec } from './bench-of-one.ts';

const bot = botSpec({ harness: 'claude', model: 'opus' });
const call = (ran: Partial<Ran>, options: ExecOptions) => callExec(execClaude, bot, ran, options);

test.each([
  ['plan', 'plan'],
  ['ask', 'manual'],
  ['accept_edits', 'acceptEdits'],
] as const)('mode %s is permission mode %s; the text goes in by stdin, so it can be no option', async (mode, flag) => {
  const { calls } = await call({}, { mode, resume: 'id-1', timeoutMs: 5 });
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({ input: '--help', timeoutMs: 5 });
  expect(calls[0]?.command.slice(1)).toEqual([
    '-p',
    '--output-format',
    'json',
    '--permission-mode',
    flag,
    '--resume',
    'id-1',
    '--model',
    'opus',
  ]);
});

test('an answer that does not come within its time is a timeout', async () => {
  const { result } = await call({ timedOut: true, code: null }, { mode: 'ask', timeoutMs: 5 });
  expect(result).toMatchObject({ state: 'timeout', detail: 'no answer within 5 ms; it was ended' });
});

test('one that was stopped says so, and is no answer', async () => {
  const { result } = await call({ stopped: true, code: null }, { mode: 'plan' });
  expect(result).toMatchObject({ state: 'stopped', text: '' });
});

test('what it counted itself is its usage: tokens with those of its cache, and cents; without numbers there is none', () => {
  const usage = { input_tokens: 3, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 7 };
  expect(readResult(line({ usage, total_cost_usd: 0.5 }), 0, '').usage).toEqual({
    inputTokens: 113,
    outputTokens: 7,
    cents: 50,
  });
  expect(readResult(line({ total_cost_usd: 0.5 }), 1, '').usage).toEqual({ cents: 50 });
  expect(readResult(line({ total_cost_usd: 'much' }), 0, '').usage).toBeNull();
});

const line = (value: object) => JSON.stringify({ type: 'result', session_id: 's', result: 'words', ...value });

test('exit code 0 with refused tools is done, and says how many were refused', () => {
  expect(readResult(line({ permission_denials: [{}, {}] }), 0, '')).toEqual({
    state: 'done',
    text: 'words',
    sessionId: 's',
    refused: 2,
    usage: null,
    detail: '2 tool calls were refused',
  });
});

test.each([
  ['the result says so', line({ is_error: true }), 0],
  ['the exit code says so', line({}), 1],
])('it failed when %s', (_, stdout, code) => {
  expect(readResult(stdout, code, '')).toMatchObject({ state: 'failed', text: 'words', detail: 'words' });
});

test('without a result the last words of the output are the detail', () => {
  expect(readResult('a warning\nNo conversation found with session ID: x\n', 1, '')).toMatchObject({
    state: 'failed',
    sessionId: null,
    detail: 'exit code 1: No conversation found with session ID: x',
  });
});

test('a result among other messages or in a list is found', () => {
  expect(readResult(`warning\n${line({})}\n`, 0, '').state).toBe('done');
  expect(readResult(JSON.stringify([{ type: 'system' }, JSON.parse(line({}))]), 0, '').state).toBe('done');
});
