/**
 * Who holds a task whatever happens: fifty workers at once, late beats, stale holders, workers that die. On both
 * engines.
 */
import { describe, expect, test } from 'vitest';
import { readyTopic } from '../../../src/cloud-api/work-queue/store.ts';
import { createWaiters } from '../../../src/cloud-api/work-queue/waiters.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { startQueue, type TestQueue } from './support.ts';

describe.each(engines)('on $name', (engine) => {
  const start = () => startQueue(engine);
  const beat = (q: TestQueue, id: string, worker_id: string, lease_id?: string) =>
    q.post(`/${id}/heartbeat`, { worker_id, lease_id });
  const ack = (q: TestQueue, id: string, body: Record<string, unknown>) => q.post(`/${id}/ack`, body);

  test('fifty that lease at once get fifty different tasks, and with fewer tasks each is given once', async () => {
    const q = await start();
    for (let count = 0; count < 60; count += 1) await q.create();
    const ask = async (workers: number) =>
      (await Promise.all(Array.from({ length: workers }, (_, n) => q.lease(`w${n}`)))).flatMap(({ task }) =>
        task === null ? [] : [task.id],
      );
    const first = await ask(50);
    expect(new Set(first).size).toBe(50);
    const rest = await ask(50);
    expect(rest).toHaveLength(10);
    expect(new Set([...first, ...rest]).size).toBe(60);
  });

  test('fifty that wait get what comes, each one task', async () => {
    const q = await start();
    const waiting = Array.from({ length: 50 }, (_, n) => q.lease(`w${n}`, '&wait=30'));
    await expect.poll(() => q.clock.pending()).toBeGreaterThan(50);
    const made = await Promise.all(Array.from({ length: 20 }, () => q.create()));
    await q.clock.advance(2_000);
    await expect.poll(async () => (await q.send('GET', '?status=leased')).tasks.length).toBe(20);
    const soon = Promise.all(waiting);
    await q.clock.advance(30_000);
    const got = (await soon).flatMap(({ task }) => (task === null ? [] : [task.id]));
    expect(got.sort()).toEqual(made.map(({ id }) => id).sort());
  });

  test('one that waits is woken by the task that comes', async () => {
    const q = await start();
    const waiting = q.lease('w1', '&wait=30');
    // The clock stands still: nothing but the wake can end this.
    await expect.poll(() => q.waiting()).toBeGreaterThan(0);
    const { id } = await q.create();
    expect((await waiting).task.id).toBe(id);
  });

  test('one that left gets nothing that somebody else could have', async () => {
    const q = await start();
    const gone = new AbortController();
    const url = `http://127.0.0.1:${q.server.port}/beta/work/queue?worker_id=gone&wait=30`;
    const left = fetch(url, { headers: { authorization: 'Bearer ada' }, signal: gone.signal }).catch(() => null);
    await expect.poll(() => q.waiting()).toBeGreaterThan(0);
    gone.abort();
    await left;
    await expect.poll(() => q.waiting()).toBe(0);
    const { id } = await q.create();
    expect((await q.lease('w2')).task.id).toBe(id);
  });

  test.each(['at once', 'while it waits'])(
    'one that leaves while it is being served, %s, costs the task no attempt and nobody a minute',
    async (when) => {
      const q = await start();
      const gone = new AbortController();
      const ask = () =>
        q.work.queue.lease({
          userId: 'user_ada',
          workerId: 'gone',
          can: null,
          waitMs: 30_000,
          draining: false,
          signal: gone.signal,
        });
      let left: ReturnType<typeof ask>;
      if (when === 'at once') {
        await q.create();
        left = ask();
        gone.abort();
      } else {
        left = ask();
        await expect.poll(() => q.waiting()).toBeGreaterThan(0);
        // Behind the listener that begins to serve it.
        q.store.wake.on(readyTopic('user_ada'), () => gone.abort());
        await q.create();
      }
      expect(await left).toBeNull();
      const { task, lease } = await q.lease('w2');
      expect([task.lease_worker_id, lease.attempt]).toEqual(['w2', 1]);
    },
  );

  test('a queue that closes tells those who wait that there is nothing', async () => {
    const q = await start();
    const waiting = q.lease('w1', '&wait=30');
    await expect.poll(() => q.waiting()).toBeGreaterThan(0);
    q.work.close();
    expect(await waiting).toEqual({ status: 200, task: null, lease: null });
  });

  test('only the holder beats, by its lease when it names one', async () => {
    const q = await start();
    const { id } = await q.create();
    expect(await beat(q, id, 'w1')).toMatchObject({ status: 404, error: 'lease_not_found' });
    const { lease } = await q.lease('w1');
    expect(await beat(q, id, 'w2')).toMatchObject({ status: 404, error: 'lease_not_found' });
    expect(await beat(q, id, 'w1', 'lease_other')).toMatchObject({ status: 404 });
    expect((await q.task(id)).status).toBe('leased');
    expect(await beat(q, id, 'w1', lease.id)).toMatchObject({ status: 200, lease: { id: lease.id, fence: 1 } });
    expect(await beat(q, 'task_none', 'w1')).toMatchObject({ status: 404, error: 'task_not_found' });
  });

  test('a late beat renews as long as nobody else came, and a late ack counts', async () => {
    const q = await start();
    const { id } = await q.create();
    await q.lease('w1');
    q.later(3_600_000);
    expect(await beat(q, id, 'w1')).toMatchObject({ status: 200, lease: { ttl_seconds: 60 } });
    q.later(3_600_000);
    expect(await ack(q, id, { worker_id: 'w1', result: 1 })).toMatchObject({
      status: 200,
      task: { status: 'succeeded' },
    });
  });

  test('after a reclaim the first holder can do nothing, also under the same name', async () => {
    const q = await start();
    const { id } = await q.create();
    const first = (await q.lease('w1')).lease;
    q.later(60_001);
    const second = (await q.lease('w1')).lease;
    expect(second.id).not.toBe(first.id);
    expect(await beat(q, id, 'w1', first.id)).toMatchObject({ status: 404 });
    expect(await ack(q, id, { worker_id: 'w1', lease_id: first.id, result: 'stale' })).toMatchObject({ status: 404 });
    expect(await q.post(`/${id}/stop`, { worker_id: 'w1', lease_id: first.id })).toMatchObject({ status: 404 });
    q.later(60_001);
    await q.lease('w2');
    expect(await ack(q, id, { worker_id: 'w1', result: 'stale' })).toMatchObject({
      status: 404,
      error: 'lease_not_found',
    });
    expect(await q.post(`/${id}/stop`, { worker_id: 'w1' })).toMatchObject({ status: 404 });
    expect(await q.task(id)).toMatchObject({ status: 'leased', result: null, lease_worker_id: 'w2' });
  });

  test('the same ack again is answered the same, another is refused, and others see nothing', async () => {
    const q = await start();
    const { id } = await q.create();
    const { lease } = await q.lease('w1');
    const body = { worker_id: 'w1', result: { a: 1, b: [2] } };
    const first = await ack(q, id, body);
    q.later(5_000);
    expect(await ack(q, id, body)).toEqual(first);
    expect(await ack(q, id, { ...body, lease_id: lease.id, result: { b: [2], a: 1 } })).toEqual(first);
    expect(await ack(q, id, { worker_id: 'w1', result: { a: 2 } })).toMatchObject({
      status: 409,
      error: 'already_finished',
    });
    expect(await ack(q, id, { worker_id: 'w1' })).toMatchObject({ status: 409 });
    expect(await ack(q, id, { ...body, worker_id: 'w2' })).toMatchObject({ status: 404 });
    expect(await ack(q, id, { ...body, lease_id: 'lease_other' })).toMatchObject({ status: 404 });
    expect((await q.task(id)).result).toEqual({ a: 1, b: [2] });
  });

  test('ten acks at once end it once', async () => {
    const q = await start();
    const { id } = await q.create();
    await q.lease('w1');
    const all = await Promise.all(Array.from({ length: 10 }, (_, result) => ack(q, id, { worker_id: 'w1', result })));
    const won = all.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(all.filter(({ status }) => status === 409)).toHaveLength(9);
    expect((await q.task(id)).result).toBe(won[0]!.task.result);
  });

  test('a stop ends a task, with an error as failed, and its holder is told at its ack', async () => {
    const q = await start();
    const [one, two] = [await q.create(), await q.create()];
    await q.lease('w1');
    await q.lease('w1');
    expect(await q.post(`/${one.id}/stop`, { worker_id: 'w2' })).toMatchObject({
      status: 404,
      error: 'lease_not_found',
    });
    const stopped = await q.post(`/${one.id}/stop`);
    expect(stopped).toMatchObject({
      status: 200,
      stopped: true,
      task: { status: 'cancelled', error: null, lease_worker_id: null },
    });
    const error = { code: 'no_disk', message: 'The disk is full.' };
    expect((await q.post(`/${two.id}/stop`, { worker_id: 'w1', error })).task).toMatchObject({
      status: 'failed',
      error,
    });
    for (const { id } of [one, two]) {
      expect(await ack(q, id, { worker_id: 'w1', result: 1 })).toMatchObject({
        status: 409,
        error: 'already_finished',
      });
      expect(await ack(q, id, { worker_id: 'w2', result: 1 })).toMatchObject({ status: 404 });
      expect(await beat(q, id, 'w1')).toMatchObject({ status: 404 });
      expect(await q.post(`/${id}/stop`)).toMatchObject({ status: 404, error: 'already_finished' });
      expect((await q.task(id)).result).toBeNull();
    }
    const text = await q.create();
    expect((await q.post(`/${text.id}/stop`, { error: 'Not needed.' })).task.error).toEqual({
      code: 'worker_error',
      message: 'Not needed.',
    });
    expect(await q.post(`/${text.id}/stop`, { lease_id: 'x' })).toMatchObject({ status: 400 });
  });

  test('a graceful stop is told with the next beat, and ends the task at the end of its lease', async () => {
    const q = await start();
    const [queued, one, two, three] = [await q.create(), await q.create(), await q.create(), await q.create()];
    expect((await q.post(`/${queued.id}/stop`, { graceful: true })).task.status).toBe('cancelled');
    for (let count = 0; count < 3; count += 1) await q.lease('w1');
    for (const { id } of [one, two, three]) {
      const asked = await q.post(`/${id}/stop`, { graceful: true, error: id === two.id ? 'Too slow.' : undefined });
      expect(asked).toMatchObject({ stopped: true, task: { status: 'leased', stop_requested: true, error: null } });
      expect(await beat(q, id, 'w1')).toMatchObject({ stop_requested: true, task: { status: 'running' } });
    }
    // The worker may finish what it has, or end it itself.
    expect((await ack(q, three.id, { worker_id: 'w1', result: 3 })).task).toMatchObject({
      status: 'succeeded',
      error: null,
    });
    q.later(60_001);
    expect((await q.lease('w2')).task).toBeNull();
    expect(await q.task(one.id)).toMatchObject({ status: 'cancelled', error: null });
    expect(await q.task(two.id)).toMatchObject({ status: 'failed', error: { message: 'Too slow.' } });
  });

  test('a worker that was asked to stop ends its task for the reason it was given', async () => {
    const q = await start();
    const { id } = await q.create();
    await q.lease('w1');
    await q.post(`/${id}/stop`, { graceful: true, error: 'Too slow.' });
    expect((await q.post(`/${id}/stop`, { worker_id: 'w1' })).task).toMatchObject({
      status: 'failed',
      error: { message: 'Too slow.' },
    });
  });

  test('a task that kills its worker five times is given up, and lies with those that failed', async () => {
    const q = await start();
    const { id } = await q.create();
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      expect((await q.lease(`w${attempt}`)).lease.attempt).toBe(attempt);
      q.later(60_001);
    }
    expect((await q.lease('w6')).task).toBeNull();
    expect(await q.task(id)).toMatchObject({ status: 'failed', attempts: 5, error: { code: 'lease_expired' } });
    expect((await q.send('GET', '?status=failed')).tasks.map((task) => task.id)).toEqual([id]);
    expect(await ack(q, id, { worker_id: 'w5' })).toMatchObject({ status: 409, error: 'already_finished' });

    const retried = await q.post(`/${id}/retry`);
    expect(retried.task).toMatchObject({ status: 'queued', attempts: 0, error: null, stop_requested: false });
    expect(await q.post(`/${id}/retry`)).toMatchObject({ status: 409, error: 'invalid_transition' });
    expect(await ack(q, id, { worker_id: 'w5' })).toMatchObject({ status: 404 });
    expect((await q.lease('w7')).lease).toMatchObject({ attempt: 1, fence: 6 });
  });

  test('without any lease call the sweep gives up what had its last attempt', async () => {
    const q = await start();
    const { id } = await q.create({ max_attempts: 1 });
    await q.lease('w1');
    q.later(59_000);
    await q.work.queue.sweep();
    expect((await q.task(id)).status).toBe('leased');
    q.later(1_001);
    const status = async () => {
      await q.clock.advance(10_000);
      return (await q.task(id)).status;
    };
    await expect.poll(status).toBe('failed');
    expect(q.faults).toEqual([]);
  });
});

test('those that wait are served in the order in which they came', async () => {
  const tasks: number[] = [];
  let look = () => {};
  const waiters = createWaiters<number, null>({
    lease: async () => tasks.shift() ?? null,
    listen: (_userId, listener) => {
      look = listener;
      return () => {};
    },
    timers: createTestClock(),
  });
  const got: (readonly [worker: number, task: number | null])[] = [];
  const { signal } = new AbortController();
  const all = Array.from({ length: 50 }, async (_, n) => {
    got.push([n, await waiters.wait({ userId: 'ada', workerId: `w${n}`, can: null, kind: '', ms: 30_000, signal })]);
  });
  for (const some of [[0, 1], Array.from({ length: 20 }, (_, n) => n + 2)]) {
    tasks.push(...some);
    look();
    await expect.poll(() => got.length).toBe((some.at(-1) ?? 0) + 1);
  }
  waiters.close();
  await Promise.all(all);
  expect(got).toEqual(Array.from({ length: 50 }, (_, n) => [n, n < 22 ? n : null]));
});
