import { expect, test } from 'vitest';
import type { Ran } from '../../../src/runtime-server/factory/harness/adapter.ts';
import { execGemini, readEvents } from '../../../src/runtime-server/factory/harness/gemini/exec.ts';

const bot = {
  agentId: 'a',
  slug: 'web',
  team: 'dev',
  harness: 'gemini',
  model: 'gemini-x',
  command: null,
  cwd: '/',
  env: {},
  culture: null,
} as const;
const doors = { urlFile: '/u', tokenFile: '/t', workspace: '/w', gantry: ['gantry'], folder: '/f' };

test.each([
  ['plan', 'plan'],
  ['ask', 'default'],
  ['accept_edits', 'auto_edit'],
] as const)('mode %s is approval mode %s; the text goes in by stdin, so it can be no option', async (mode, flag) => {
  const calls: { command: readonly string[]; input: string | null }[] = [];
  const processes = {
    run: async (command: readonly [string, ...string[]], { input }: { input: string | null }) => {
      calls.push({ command, input });
      return { code: null, stdout: '', stderr: '', timedOut: true };
    },
  };
  const path = new URL('./stand-in-bin', import.meta.url).pathname;
  const around = { env: { PATH: path }, home: '/', processes };
  const result = await execGemini(around, bot, doors, '--help', { mode, resume: 'id-1', timeoutMs: 5 });
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

const lines = (...events: object[]) => events.map((event) => JSON.stringify(event)).join('\n');
const begun = { type: 'init', session_id: 's-1' };
const said = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true });
const success = { type: 'result', status: 'success', stats: { input_tokens: 20, output_tokens: 40 } };
const ran = (stdout: string, rest: Partial<Ran> = {}): Ran => ({
  code: 0,
  stdout,
  stderr: '',
  timedOut: false,
  ...rest,
});

test('the pieces behind the last tool are the answer, with the session and what it counted itself', () => {
  const stdout = lines(
    begun,
    { type: 'message', role: 'user', content: 'say' },
    said('I will.'),
    { type: 'tool_use' },
    { type: 'tool_result', status: 'success' },
    said('It '),
    said('ran.'),
    success,
  );
  expect(readEvents(ran(stdout))).toEqual({
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
  expect(readEvents(ran(lines(begun, refused, planned, broke, said('No.'), success)))).toMatchObject({
    state: 'done',
    refused: 2,
    detail: '2 tool calls were refused',
  });
});

test('an error decides whatever the exit code is; without a result its complaint does', () => {
  const failed = lines(begun, { type: 'result', status: 'error', error: { message: 'API key not valid' } });
  expect(readEvents(ran(failed))).toMatchObject({ state: 'failed', detail: 'API key not valid' });
  const stderr =
    'Warning: 256-color support not detected.\nApproval mode overridden to "default"\n\u001b[31mGemini CLI is not running in a trusted directory.\u001b[0m\n';
  expect(readEvents(ran('', { code: 55, stderr }))).toMatchObject({
    state: 'failed',
    detail: 'Gemini CLI is not running in a trusted directory.',
  });
});
