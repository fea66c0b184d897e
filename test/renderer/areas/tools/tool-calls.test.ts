import { expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import { createToolCalls } from '../../../../src/renderer/areas/tools/tool-calls.ts';

const result = { content: [{ type: 'text', text: 'hi' }], isError: false };
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test('a call runs once at a time, tells those who look, and keeps its end and how long it took', async () => {
  let clock = 1000;
  const calls = createToolCalls(() => clock);
  const seen: (string | undefined)[] = [];
  calls.subscribe(() => seen.push(calls.callOf('a')?.state));
  let began = 0;
  let end: (value: typeof result) => void = () => {};
  const run = () => {
    began += 1;
    return new Promise<typeof result>((resolve) => {
      end = resolve;
    });
  };
  calls.start('a', run);
  calls.start('a', run);
  expect([began, calls.callOf('a')?.state]).toEqual([1, 'running']);
  clock = 1250;
  end(result);
  await settled();
  expect(calls.callOf('a')).toMatchObject({ state: 'done', tookMs: 250, result });
  expect(seen).toEqual(['running', 'done']);
  expect(calls.callOf('b')).toBeNull();
});

test('a cancelled call is cancelled whatever it fails with, and one that waits for a person names the question', async () => {
  const calls = createToolCalls();
  calls.start(
    'a',
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
  );
  calls.cancel('a');
  await settled();
  expect(calls.callOf('a')?.state).toBe('cancelled');

  const refusal = (wireCode: string, extra = {}) =>
    new AppError('refused', 'Nobody answered.', '', { status: 409, wireCode, extra });
  calls.start('b', () => Promise.reject(refusal('approval_required', { approvalId: 'apr_12345678' })));
  calls.start('c', () => Promise.reject(refusal('conflict')));
  await settled();
  expect(calls.callOf('b')).toMatchObject({ state: 'waits', approvalId: 'apr_12345678' });
  expect(calls.callOf('c')?.state).toBe('failed');
});
