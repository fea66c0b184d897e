/** A worker whose queue says nothing, or not in time, and jobs whose end no queue would take as it is. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Beats } from '../../../src/programs/worker/beats.ts';
import { TaskFailure } from '../../../src/programs/worker/outcome.ts';
import { startQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { begin } from './support.ts';

const noBeats: Beats = { hold: () => () => {}, close: async () => {} };
const task = { id: 'task_1' };
const lease = { id: 'lease_1', fence: 1, expires_at: '', ttl_seconds: 60, attempt: 1 };

/** A queue that takes every call, and answers those that `answer` has something for. */
async function startSilent(answer: (url: string) => object | null) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = `${request.method} ${request.url}`;
    asked.push(url);
    const body = answer(url);
    if (body !== null) response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

/** A hundredth of each time, and what was asked for. */
function fastPatience() {
  const asked = new Set<number>();
  return {
    asked,
    timeout(ms: number) {
      asked.add(ms);
      return AbortSignal.timeout(ms / 100);
    },
  };
}

test('a queue that falls silent without a word is asked again, and does not keep a worker from draining', async () => {
  const { port, asked } = await startSilent(() => null);
  const { asked: patience, timeout } = fastPatience();
  const { worker, events } = begin(port, async () => 1, { timeout, beats: noBeats });
  await expect.poll(() => asked.length).toBeGreaterThan(1);
  expect(events[0]).toMatchObject({ kind: 'trouble', why: expect.stringContaining('did not answer') });
  worker.drain();
  expect(await worker.ended).toEqual({
    succeeded: 0,
    failed: 0,
    stopped: 0,
    lost: 0,
    abandoned: 0,
    kept: 0,
    delivered: 0,
  });
  // What may wait for a task has that time besides.
  expect([...patience]).toEqual([45_000, 30_000]);
});

test('an end that a silent queue does not take is told again until it has', async () => {
  let given = false;
  let acks = 0;
  const { port } = await startSilent((url) => {
    if (url.includes('/ack')) {
      acks += 1;
      return acks < 3 ? null : {};
    }
    if (given) return { task: null, lease: null };
    given = true;
    return { task, lease };
  });
  const { timeout } = fastPatience();
  const { worker } = begin(port, async () => 1, { timeout, beats: noBeats, untilEmpty: true });
  expect(await worker.ended).toMatchObject({ succeeded: 1, lost: 0 });
  expect(acks).toBe(3);
});

test('a task whose lease was over when the worker heard of it is not begun', async () => {
  let given = 0;
  const { port } = await startSilent((url) => {
    if (!url.includes('/queue') || url.includes('draining') || given === 1) return { task: null, lease: null };
    given += 1;
    return { task, lease: { ...lease, ttl_seconds: 0.001 } };
  });
  let ran = 0;
  const beats = { ...noBeats, hold: () => expect.unreachable() };
  const run = async () => {
    ran += 1;
  };
  const { worker, events } = begin(port, run, { beats, untilEmpty: true });
  expect(await worker.ended).toEqual({
    succeeded: 0,
    failed: 0,
    stopped: 0,
    lost: 1,
    abandoned: 0,
    kept: 0,
    delivered: 0,
  });
  expect(ran).toBe(0);
  expect(events[0]).toMatchObject({ kind: 'lost', why: expect.stringContaining('expired before') });
});

const circular: Record<string, unknown> = {};
circular.self = circular;

test.each<[string, () => unknown, { code: string; message: unknown }]>([
  [
    'a failure whose code is no word of the queue',
    () => {
      throw new TaskFailure({ code: '3Bad-Code', message: 'x' });
    },
    { code: 'bad_code', message: 'x' },
  ],
  [
    'a failure without a code',
    () => {
      throw new TaskFailure({ code: '-', message: '' });
    },
    { code: 'worker_error', message: '' },
  ],
  [
    'a failure with very many words',
    () => {
      throw new TaskFailure({ code: 'long'.repeat(20), message: `${'x'.repeat(16_383)}😀` });
    },
    { code: 'long'.repeat(16), message: 'x'.repeat(16_383) },
  ],
  [
    'an error that is no error',
    () => {
      throw Object.create(null);
    },
    { code: 'worker_error', message: expect.any(String) },
  ],
  [
    'a result with a number that JSON does not know',
    () => ({ n: 1n }),
    { code: 'bad_result', message: expect.stringContaining('BigInt') },
  ],
  ['a result that holds itself', () => circular, { code: 'bad_result', message: expect.stringContaining('circular') }],
  ['a result that is a function', () => () => 1, { code: 'bad_result', message: expect.stringContaining('JSON') }],
])('%s ends its task all the same', async (_what, job, error) => {
  const q = await startQueue(engines[0]!, { real: true });
  const { id } = await q.create();
  const { worker, kinds } = begin(q.server.port, async () => job(), { untilEmpty: true });
  expect(await worker.ended).toMatchObject({ failed: 1, lost: 0 });
  expect(await q.task(id)).toMatchObject({ status: 'failed', attempts: 1, error });
  expect(kinds()).toEqual(['began', 'failed', 'draining']);
});
