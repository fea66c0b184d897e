import { expect, test } from 'vitest';
import type { Ran } from '../../../src/runtime-server/harness/adapter.ts';
import { execCodex, readEvents } from '../../../src/runtime-server/harness/codex/exec.ts';
import type { ExecOptions } from '../../../src/runtime-server/harness/harness.ts';
import { botSpec, callExec, jsonLines, ranWith } from './bench-of-one.ts';

const bot = botSpec({ harness: 'codex', model: 'gpt-x', culture: 'Be "kind".' });
const call = (ran: Partial<Ran>, options: ExecOptions) => callExec(execCodex, bot, ran, options);

test.each([
  ['plan', 'read-only'],
  ['ask', 'read-only'],
  ['accept_edits', 'workspace-write'],
] as const)('mode %s is the sandbox %s; the text goes in by stdin, so it can be no option', async (mode, sandbox) => {
  const { calls } = await call({}, { mode, resume: 'id-1', timeoutMs: 5 });
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({ input: '--help', timeoutMs: 5 });
  expect(calls[0]?.command.slice(1)).toEqual([
    'exec',
    '--json',
    '--skip-git-repo-check',
    '-s',
    sandbox,
    '-c',
    'check_for_update_on_startup=false',
    '-m',
    'gpt-x',
    '-c',
    'developer_instructions="Be \\"kind\\"."',
    'resume',
    'id-1',
    '-',
  ]);
});

test('an answer that does not come within its time is a timeout; one that was stopped says so', async () => {
  const late = await call({ timedOut: true, code: null }, { mode: 'ask', timeoutMs: 5 });
  expect(late.result).toMatchObject({ state: 'timeout', detail: 'no answer within 5 ms; it was ended' });
  const stopped = await call({ stopped: true, code: null }, { mode: 'plan' });
  expect(stopped.result).toMatchObject({ state: 'stopped', text: '' });
});

const started = { type: 'thread.started', thread_id: 't-1' };
const said = (text: string) => ({ type: 'item.completed', item: { type: 'agent_message', text } });
const completed = { type: 'turn.completed', usage: { input_tokens: 20, output_tokens: 40 } };

test('the last words are the answer, with the session and what it counted itself', () => {
  expect(readEvents(ranWith(jsonLines(started, said('first'), said('last'), completed)))).toEqual({
    state: 'done',
    text: 'last',
    sessionId: 't-1',
    refused: 0,
    usage: { inputTokens: 20, outputTokens: 40 },
    detail: '',
  });
});

test('exit code 0 with tools that were turned down says how many', () => {
  const line = '2026-11-22T17:16:31Z ERROR codex_core::tools::router: error=';
  const stderr = `${line}approval policy is Never; reject command\n${line}patch rejected: writing outside\nWARNING: other\n`;
  const result = readEvents(ranWith(jsonLines(started, said('words'), completed), { stderr }));
  expect(result).toMatchObject({ state: 'done', refused: 2, detail: '2 tool calls were refused' });
});

test('a turn that failed says why; without events the last words of its log do', () => {
  const failed = jsonLines(started, { type: 'turn.failed', error: { message: '429 Too Many Requests' } });
  expect(readEvents(ranWith(failed, { code: 1 }))).toMatchObject({ state: 'failed', detail: '429 Too Many Requests' });
  expect(readEvents(ranWith('', { code: 1, stderr: 'WARNING: x\nError: no rollout found\n' }))).toMatchObject({
    state: 'failed',
    sessionId: null,
    detail: 'Error: no rollout found',
  });
  // It ended before its turn did.
  expect(readEvents(ranWith(jsonLines(started, said('half'))))).toMatchObject({ state: 'failed' });
});
