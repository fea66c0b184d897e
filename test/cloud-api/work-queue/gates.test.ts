/** Concurrency keys and rates: how many tasks of a key run at once, and how fast they start, whatever else happens. Both engines. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

describe.each(engines)('on $name', (engine) => {
  const leaseAll = async (q: TestQueue, worker = 'w1') => {
    const ids: string[] = [];
    for (;;) {
      const { task } = await q.lease(worker);
      if (task === null) return ids;
      ids.push(task.id);
    }
  };
  const ack = (q: TestQueue, id: string) => q.post(`/${id}/ack`, { worker_id: 'w1' });

  test('at most so many tasks of a concurrency key are held at once, and the oldest follows each that ends', async () => {
    const q = await startQueue(engine);
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) made.push((await q.create({ concurrency_key: 'db', concurrency_limit: 2 })).id);
    const plain = await q.create();
    expect(await leaseAll(q)).toEqual([made[0], made[1], plain.id]);
    expect((await q.task(made[2]!)).waiting_for).toContain('"db"');
    expect((await q.send('GET', '/stats')).depth).toBe(3);
    await ack(q, made[1]!);
    expect(await leaseAll(q)).toEqual([made[2]]);
    await q.post(`/${made[0]!}/stop`, { worker_id: 'w1', error: 'x' });
    await q.post(`/${made[3]!}/stop`);
    expect(await leaseAll(q)).toEqual([made[4]]);
    await ack(q, made[4]!);
    await ack(q, made[2]!);
    for (const table of ['work_slot', 'work_gate', 'work_line'])
      expect(await q.store.all(`SELECT * FROM ${table}`)).toEqual([]);
  });

  test('a stopped task frees its place also before it was leased, and another person has places of their own', async () => {
    const q = await startQueue(engine);
    const [first, second] = [await q.create({ concurrency_key: 'a' }), await q.create({ concurrency_key: 'a' })];
    const eve = (await q.post('', { concurrency_key: 'a' }, { token: 'eve' })).task;
    await q.post(`/${first.id}/stop`);
    expect(await leaseAll(q)).toEqual([second.id]);
    expect((await q.lease('w1', '', { token: 'eve' })).task.id).toBe(eve.id);
  });

  test('a worker that falls silent keeps the place of its task, which the next worker takes over', async () => {
    const q = await startQueue(engine);
    const [first, second] = [await q.create({ concurrency_key: 'a' }), await q.create({ concurrency_key: 'a' })];
    await q.lease('w1');
    q.later(60_001);
    expect(await leaseAll(q, 'w2')).toEqual([first.id]);
    await q.post(`/${first.id}/ack`, { worker_id: 'w2' });
    expect(await leaseAll(q, 'w2')).toEqual([second.id]);
  });

  test('a task that is retried gives up its place meanwhile, and one that was given back keeps it', async () => {
    const q = await startQueue(engine);
    const retry = { on: ['x'], backoff_seconds: 5 };
    const [first, second] = [await q.create({ concurrency_key: 'a', retry }), await q.create({ concurrency_key: 'a' })];
    const { lease } = await q.lease('w1');
    const gone = new AbortController();
    gone.abort();
    await q.post(`/${first.id}/stop`, { worker_id: 'w1', lease_id: lease.id, error: { code: 'x', message: '' } });
    const asked = { userId: 'user_ada', workerId: 'w1', can: null, waitMs: 1, draining: false, signal: gone.signal };
    expect(await q.work.queue.lease(asked)).toBeNull();
    q.later(5_000);
    expect(await leaseAll(q)).toEqual([second.id]);
    await ack(q, second.id);
    expect(await leaseAll(q)).toEqual([first.id]);
  });

  test('a place that a crash left behind is free again after the sweep', async () => {
    const q = await startQueue(engine);
    const [first, second] = [await q.create({ concurrency_key: 'a' }), await q.create({ concurrency_key: 'a' })];
    await q.lease('w1');
    // As a version does that knows no keys.
    await q.store.write((tx) => tx.run(`UPDATE work_task SET status = 'succeeded' WHERE id = ?`, first.id));
    expect(await leaseAll(q)).toEqual([]);
    await q.work.queue.sweep();
    expect(await leaseAll(q)).toEqual([second.id]);
  });

  test('many that end and lease at once never exceed the limit', async () => {
    const q = await startQueue(engine);
    for (let n = 0; n < 24; n += 1) await q.create({ concurrency_key: 'a', concurrency_limit: 3 });
    let most = 0;
    const work = async (worker: string) => {
      for (let idle = 0; idle < 3; ) {
        const { task } = await q.lease(worker);
        if (task === null) {
          idle += 1;
          continue;
        }
        const { leased, running } = await q.send('GET', '/stats');
        most = Math.max(most, Number(leased) + Number(running));
        await q.post(`/${task.id}/ack`, { worker_id: worker });
      }
    };
    for (let rounds = 0; rounds < 24 && (await q.send('GET', '?status=succeeded')).tasks.length < 24; rounds += 1)
      await Promise.all(Array.from({ length: 6 }, (_, n) => work(`w${n}`)));
    expect((await q.send('GET', '?status=succeeded')).tasks).toHaveLength(24);
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(0);
  });

  test('tasks of a rate start no faster than it says, however many workers ask', async () => {
    const q = await startQueue(engine);
    const made: string[] = [];
    for (let n = 0; n < 3; n += 1) made.push((await q.create({ rate: { key: 'api', per_minute: 30 } })).id);
    expect(await leaseAll(q)).toEqual([made[0]]);
    expect((await q.task(made[1]!)).waiting_for).toContain('at most 30 tasks with the rate key "api"');
    await ack(q, made[0]!);
    q.later(1_990);
    expect(await leaseAll(q)).toEqual([]);
    q.later(10);
    expect(await leaseAll(q)).toEqual([made[1]]);
    // Time in which nobody asked is not made up for.
    q.later(60_000);
    const fourth = await q.create({ rate: { key: 'api', per_minute: 30 } });
    await ack(q, made[1]!);
    expect(await leaseAll(q)).toEqual([made[2]]);
    q.later(2_000);
    expect(await leaseAll(q)).toEqual([fourth.id]);
  });

  test('a task with a concurrency key and a rate waits for both', async () => {
    const q = await startQueue(engine);
    const both = { concurrency_key: 'db', rate: { key: 'api', per_minute: 60 } };
    const [first, second, third] = [await q.create(both), await q.create(both), await q.create({ rate: both.rate })];
    expect(await leaseAll(q)).toEqual([first.id]);
    q.later(1_000);
    expect(await leaseAll(q)).toEqual([third.id]);
    await ack(q, first.id);
    expect(await leaseAll(q)).toEqual([]);
    q.later(1_000);
    expect(await leaseAll(q)).toEqual([second.id]);
  });

  const none = '&labels=&images=none';
  const gpu = '&labels=gpu=a100&images=none';
  const labels = { gpu: 'a100' };
  const connected = (q: TestQueue, worker: string) =>
    expect
      .poll(async () =>
        ((await q.send('GET', '/workers')).workers as { worker_id: string }[]).map((one) => one.worker_id),
      )
      .toContain(worker);

  test('a task that no connected worker can run gives its place to the next that one can run, and gets it back by its age', async () => {
    const q = await startQueue(engine);
    const stuck = await q.create({ concurrency_key: 'a', labels });
    const alike = await q.create({ concurrency_key: 'a', labels });
    const [first, second] = [await q.create({ concurrency_key: 'a' }), await q.create({ concurrency_key: 'a' })];
    const plain = await q.create();
    expect((await q.lease('w1', none)).task.id).toBe(first.id);
    expect((await q.lease('w1', none)).task.id).toBe(plain.id);
    expect((await q.lease('w1', none)).task).toBeNull();
    await expect
      .poll(async () => (await q.task(stuck.id)).waiting_for)
      .toBe('No connected worker has the label gpu=a100.');
    await ack(q, first.id);
    expect((await q.lease('w1', none)).task.id).toBe(second.id);
    expect((await q.lease('w2', gpu)).task).toBeNull();
    await ack(q, second.id);
    expect((await q.lease('w2', gpu)).task.id).toBe(stuck.id);
    expect((await q.lease('w2', gpu)).task).toBeNull();
    await q.post(`/${stuck.id}/ack`, { worker_id: 'w2' });
    expect((await q.lease('w2', gpu)).task.id).toBe(alike.id);
    await q.post(`/${alike.id}/ack`, { worker_id: 'w2' });
    for (const table of ['work_slot', 'work_gate', 'work_line'])
      expect(await q.store.all(`SELECT * FROM ${table}`)).toEqual([]);
  });

  test('a place stays with its task while a connected worker can run it', async () => {
    const q = await startQueue(engine);
    await q.lease('w2', gpu);
    await connected(q, 'w2');
    const [kept, other] = [await q.create({ concurrency_key: 'a', labels }), await q.create({ concurrency_key: 'a' })];
    expect((await q.lease('w1', none)).task).toBeNull();
    expect((await q.task(other.id)).waiting_for).toContain('"a"');
    // A worker that asked longer ago is not connected.
    q.later(31_000);
    expect((await q.lease('w1', none)).task.id).toBe(other.id);
    await ack(q, other.id);
    expect((await q.lease('w2', gpu)).task.id).toBe(kept.id);
  });

  test('a worker with enough other work takes a place over all the same, a second later at most', async () => {
    const q = await startQueue(engine);
    await q.create({ concurrency_key: 'a', labels, priority: 2 });
    const other = await q.create({ concurrency_key: 'a', priority: 1 });
    const fair: string[] = [];
    for (let n = 0; n < 3; n += 1) fair.push((await q.create({ fairness_key: 'b' })).id);
    expect((await q.lease('w1', none)).task.id).toBe(other.id);
    const next = await q.create({ concurrency_key: 'a', priority: 1 });
    await ack(q, other.id);
    expect((await q.lease('w1', none)).task.id).toBe(fair[0]);
    q.later(1_000);
    expect((await q.lease('w1', none)).task.id).toBe(next.id);
    expect((await q.lease('w1', none)).task.id).toBe(fair[1]);
  });

  test('a turn of a rate is given away, too, and what waits at both gates leaves both', async () => {
    const q = await startQueue(engine);
    const rate = { key: 'api', per_minute: 60 };
    const both = await q.create({ concurrency_key: 'db', rate, labels });
    const [ofKey, ofRate] = [await q.create({ concurrency_key: 'db' }), await q.create({ rate })];
    expect(new Set([(await q.lease('w1', none)).task.id, (await q.lease('w1', none)).task.id])).toEqual(
      new Set([ofKey.id, ofRate.id]),
    );
    await ack(q, ofRate.id);
    q.later(1_000);
    expect((await q.lease('w2', gpu)).task).toBeNull();
    await ack(q, ofKey.id);
    expect((await q.lease('w2', gpu)).task.id).toBe(both.id);
  });

  test('beside tasks that nobody can run the others all run, never more at once than the limit', async () => {
    const q = await startQueue(engine);
    for (let n = 0; n < 3; n += 1) await q.create({ concurrency_key: 'a', concurrency_limit: 2, labels });
    for (let n = 0; n < 12; n += 1) await q.create({ concurrency_key: 'a', concurrency_limit: 2 });
    let most = 0;
    const work = async (worker: string) => {
      for (let idle = 0; idle < 3; ) {
        const { task } = await q.lease(worker, none);
        if (task === null) {
          idle += 1;
          continue;
        }
        const { leased, running } = await q.send('GET', '/stats');
        most = Math.max(most, Number(leased) + Number(running));
        await q.post(`/${task.id}/ack`, { worker_id: worker });
      }
    };
    for (let rounds = 0; rounds < 24 && (await q.send('GET', '?status=succeeded')).tasks.length < 12; rounds += 1)
      await Promise.all(Array.from({ length: 4 }, (_, n) => work(`w${n}`)));
    expect((await q.send('GET', '?status=succeeded')).tasks).toHaveLength(12);
    expect((await q.send('GET', '?status=queued')).tasks).toHaveLength(3);
    expect(most).toBeLessThanOrEqual(2);
    expect(most).toBeGreaterThan(0);
  });

  test('a limit without its key is refused', async () => {
    const q = await startQueue(engine);
    expect((await q.post('', { concurrency_limit: 2 })).status).toBe(400);
  });
});
