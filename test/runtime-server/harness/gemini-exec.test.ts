import { expect, test } from 'vitest';
import { execGemini, readEvents } from '../../../src/runtime-server/harness/gemini/exec.ts';
import { botSpec, callExec, jsonLines, ranWith } from './bench-of-one.ts';

const bot = botSpec({ harness: 'gemini', model: 'gemini-x' });

test.each([
  ['plan', 'plan'],
  ['ask', 'default'],
  ['accept_edits', 'auto_edit'],
] as const)('mode %s is approval mode %s; the text goes in by stdin, so it can be no option', async (mode, flag) => {
  const options = { mode, resume: 'id-1', timeoutMs: 5 };
  const { result, calls } = await callExec(execGemini, bot, { code: null, timedOut: true }, options);
  expect(result).toMatchObject({ state: 'timeout', detail: 'no answer within 5 ms; it was ended' });
  expect(calls[0]?.input).toBe('--help');
  expect(calls[0]?.command.slice(1)).toEqual([
    '-o',
    'stream-json',
    '--approval-mode',
    flag,
    '--resume',
    'id-1',
    '--model=gemini-x',
  ]);
});

const begun = { type: 'init', session_id: 's-1' };
const said = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true });
const success = { type: 'result', status: 'success', stats: { input_tokens: 20, output_tokens: 40 } };

test('the pieces behind the last tool are the answer, with the session and what it counted itself', () => {
  const stdout = jsonLines(
    begun,
    { type: 'message', role: 'user', content: 'say' },
    said('I will.'),
    { type: 'tool_use' },
    { type: 'tool_result', status: 'success' },
    said('It '),
    said('ran.'),
    success,
  );
  expect(readEvents(ranWith(stdout))).toEqual({
    state: 'done',
    text: 'It ran.',
    sessionId: 's-1',
    refused: 0,
    usage: { inputTokens: 20, outputTokens: 40 },
    detail: '',
  });
});

test('a tool that its mode does not offer is a refusal, although the exit code is 0', () => {
  const refused = {
    type: 'tool_result',
    status: 'error',
    error: { type: 'tool_not_registered', message: 'not found' },
  };
  const planned = { ...refused, error: { type: 'invalid_tool_params', message: 'Access denied: plan path (a) …' } };
  const broke = { type: 'tool_result', status: 'error', error: { type: 'shell_execute_error', message: 'exit 1' } };
  expect(readEvents(ranWith(jsonLines(begun, refused, planned, broke, said('No.'), success)))).toMatchObject({
    state: 'done',
    refused: 2,
    detail: '2 tool calls were refused',
  });
});

test('an error decides whatever the exit code is; without a result its complaint does', () => {
  const failed = jsonLines(begun, { type: 'result', status: 'error', error: { message: 'API key not valid' } });
  expect(readEvents(ranWith(failed))).toMatchObject({ state: 'failed', detail: 'API key not valid' });
  const stderr =
    'Warning: 256-color support not detected.\nApproval mode overridden to "default"\n\u001b[31mGemini CLI is not running in a trusted directory.\u001b[0m\n';
  expect(readEvents(ranWith('', { code: 55, stderr }))).toMatchObject({
    state: 'failed',
    detail: 'Gemini CLI is not running in a trusted directory.',
  });
});
