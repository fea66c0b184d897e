/** Failures that a task wants retried, and those that are final. Both engines. */
import { describe, expect, test } from 'vitest';
import { backoffMs, retries } from '../../../src/cloud-api/work-queue/model.ts';
import { engines } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

const failing = (q: TestQueue, id: string, code: string, more: Record<string, unknown> = {}) =>
  q.post(`/${id}/stop`, { worker_id: 'w1', error: { code, message: `It ended with ${code}.` }, ...more });

describe.each(engines)('on $name', (engine) => {
  test('a failure that the task names puts it back, each time after twice as long, until its attempts are used up', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create({ retry: { on: ['exit_*'], backoff_seconds: 10 }, max_attempts: 3 });
    for (const [failures, seconds] of [
      [1, 10],
      [2, 20],
    ] as const) {
      expect((await q.lease('w1')).task.id).toBe(id);
      const { task } = await failing(q, id, 'exit_1');
      expect(task).toMatchObject({
        ...{ status: 'queued', attempts: failures, failures, error: null, lease_worker_id: null },
        last_failure: { code: 'exit_1', message: 'It ended with exit_1.' },
      });
      expect((await q.task(id)).waiting_for).toContain('exit_1');
      expect((await q.send('GET', '/stats')).scheduled).toBe(1);
      q.later(seconds * 1000 - 1);
      expect((await q.lease('w1')).task).toBeNull();
      q.later(1);
    }
    expect((await q.lease('w1')).lease.attempt).toBe(3);
    expect((await failing(q, id, 'exit_1')).task).toMatchObject({ status: 'failed', error: { code: 'exit_1' } });
    expect((await q.lease('w1')).task).toBeNull();

    // A person who puts it back gives it all its attempts.
    expect((await q.post(`/${id}/retry`)).task).toMatchObject({ status: 'queued', failures: 0, last_failure: null });
    expect((await q.lease('w1')).lease.attempt).toBe(1);
  });

  test('a failure that the task does not name is final, and so is any end that a person asks for', async () => {
    const q = await startQueue(engine);
    const retry = { on: ['exit_1'] };
    const [other, byPerson, asked, plain] = [
      await q.create({ retry }),
      await q.create({ retry }),
      await q.create({ retry }),
      await q.create(),
    ];
    for (let count = 0; count < 4; count += 1) await q.lease('w1');
    expect((await failing(q, other.id, 'exit_12')).task.status).toBe('failed');
    expect((await failing(q, byPerson.id, 'exit_1', { worker_id: undefined })).task.status).toBe('failed');
    await q.post(`/${asked.id}/stop`, { graceful: true });
    expect((await failing(q, asked.id, 'exit_1')).task.status).toBe('failed');
    expect((await failing(q, plain.id, 'exit_1')).task).toMatchObject({ status: 'failed', failures: 0 });
  });

  test('who does not hold the task makes nobody try again', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create({ retry: { on: ['exit_1'], backoff_seconds: 1 } });
    const first = (await q.lease('w1')).lease;
    q.later(60_001);
    await q.lease('w1');
    expect(await failing(q, id, 'exit_1', { lease_id: first.id })).toMatchObject({ status: 404 });
    expect(await failing(q, id, 'exit_1', { worker_id: 'w2' })).toMatchObject({ status: 404 });
    expect(await q.task(id)).toMatchObject({ status: 'leased', failures: 0 });
  });

  test('a task that waits to be tried again can be stopped, and is then cancelled', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create({ retry: { on: ['x'] } });
    await q.lease('w1');
    await failing(q, id, 'x');
    expect((await q.post(`/${id}/stop`)).task).toMatchObject({ status: 'cancelled', error: null });
  });
});

test('a code is named by itself or by its beginning', () => {
  const on = ['timeout', 'exit_*'];
  expect(['timeout', 'exit_1', 'exit_', 'exit', 'timeouts'].map((code) => retries({ on }, code))).toEqual([
    ...[true, true, true],
    ...[false, false],
  ]);
});

test('the time before a retry grows to a day at most', () => {
  const retry = { on: ['x'] };
  expect([1, 2, 3, 40].map((failures) => backoffMs(retry, failures) / 1000)).toEqual([10, 20, 40, 86_400]);
});
