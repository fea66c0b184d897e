/** What a caller may rely on beside the states of a task: whole seconds, the order of its own tasks, its keys, and figures that add up. */
import { describe, expect, test } from 'vitest';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { createWorkReads } from '../../../src/cloud-api/work-queue/reads.ts';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { iso } from '../../../src/kit/clock/clock.ts';
import { engines } from '../../support/engines.ts';
import { startQueue } from './support.ts';

describe.each(engines)('on $name', (engine) => {
  test('a lease is told in whole seconds: 60 when it begins, and no part of one afterwards', async () => {
    const q = await startQueue(engine, { real: true });
    const { task } = await q.post('', {});
    expect((await q.lease('w1')).lease.ttl_seconds).toBe(60);
    const { lease } = await q.post(`/${task.id}/heartbeat`, { worker_id: 'w1' });
    expect(Number.isInteger(lease.ttl_seconds)).toBe(true);
  });

  test('a last attempt whose lease is over ends with the next lease call of its owner, also one that finds another task', async () => {
    const q = await startQueue(engine);
    const last = await q.create({ max_attempts: 1 });
    const asked = await q.create();
    for (const { id } of [last, asked]) expect((await q.lease('w1')).task.id).toBe(id);
    await q.post(`/${asked.id}/stop`, { graceful: true });
    q.later(60_001);
    const next = await q.create();
    expect((await q.lease('w2', '', { token: 'eve' })).task).toBeNull();
    expect((await q.task(last.id)).status).toBe('leased');
    expect((await q.lease('w2')).task.id).toBe(next.id);
    expect(await q.task(last.id)).toMatchObject({ status: 'failed', error: { code: 'lease_expired' } });
    expect((await q.task(asked.id)).status).toBe('cancelled');
  });

  test('both addresses of the queue honour the same keys', async () => {
    const q = await startQueue(engine);
    const post = (path: string, body: unknown) =>
      q.server.call('POST', path, { token: 'ada', body, headers: { 'idempotency-key': 'k1' } });
    const [one, other] = [await post('/beta/work', {}), await post('/api/v1/beta/work', {})];
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(other.json).toEqual(one.json);
    expect((await post('/api/v1/beta/work', { priority: 1 })).status).toBe(409);
    expect((await q.send('GET', '')).tasks).toHaveLength(1);
  });

  test('who was not told that a task, session or deployment was created creates it again under its key, once', async () => {
    const q = await startQueue(engine);
    for (const [path, body] of [
      ['/beta/work', {}],
      ['/beta/sessions', {}],
      ['/beta/deployments', { name: 'api' }],
    ] as const) {
      const post = () => q.server.call('POST', path, { token: 'ada', body, headers: { 'idempotency-key': 'k1' } });
      const first = await post();
      // As after a crash between the two: what was created is there, the answer is not.
      await q.store.write((tx) => tx.run('UPDATE idempotency SET status = NULL, answer = NULL'));
      const again = await post();
      expect([again.status, again.json.id]).toEqual([201, first.json.id]);
      // And before: nothing is there.
      await q.store.write((tx) => tx.run('UPDATE idempotency SET status = NULL, answer = NULL'));
      const table = {
        '/beta/work': 'work_task',
        '/beta/sessions': 'work_session',
        '/beta/deployments': 'work_deployment',
      };
      await q.store.write((tx) => tx.run(`DELETE FROM ${table[path]}`));
      const ran = await post();
      expect([ran.status, ran.json.id]).toEqual([201, first.json.id]);
      expect(await q.store.all(`SELECT id FROM ${table[path]}`)).toHaveLength(1);
    }
  });

  test('the figures stay right while they are added up, and while what waits grows old', async () => {
    const q = await startQueue(engine);
    const work = createWorkStore({ store: q.store, now: () => q.clock.now(), leaseMs: 60_000 });
    const reads = createWorkReads(q.store);
    const userId = 'user_ada';
    const figures = async () => {
      const { depth, leased, running, scheduled, failed, ages } = await reads.stats(userId, q.clock.now(), 0);
      return { depth, leased, running, scheduled, failed, ages };
    };
    for (let n = 0; n < 40; n += 1) {
      await work.create(userId, `task_${n}`, n % 10 === 9 ? { not_before: iso(q.clock.now() + 10 ** 9) } : {});
      q.later(997);
    }
    await work.lease(userId, 'w1', 'lease_1');
    await work.heartbeat({ userId, id: 'task_0', workerId: 'w1', leaseId: null });
    await work.lease(userId, 'w1', 'lease_2');
    await work.stop(userId, 'task_5', { by: null, error: '{}' });
    const before = await figures();
    expect(before).toMatchObject({ depth: 33, leased: 1, running: 1, scheduled: 4, failed: 1 });
    await work.fold();
    expect(await figures()).toEqual(before);
    expect(await q.store.all('SELECT * FROM work_move')).toEqual([]);
    for (const hours of [1, 5, 20, 100]) {
      q.later(hours * 3_600_000);
      await work.stop(userId, `task_${10 + hours}`, { by: null, error: null });
      await work.fold();
    }
    const rows = await q.store.all(`SELECT * FROM work_count WHERE user_id = ? AND kind = 'queued'`, userId);
    expect(rows.length).toBeLessThan(3);
    expect((await figures()).ages.at(-1)).toBe((await figures()).depth);
  });

  test('a second filter looks at so many at most, and the list goes on from there', async () => {
    const q = await startQueue(engine);
    const one = await q.create();
    await q.lease('w1');
    await q.store.write((tx) =>
      tx.run({
        sqlite: `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500) ${many}`,
        postgres: `WITH n (n) AS (SELECT generate_series(1, 2500)) ${many}`,
      }),
    );
    const found: string[] = [];
    let calls = 0;
    for (let cursor: string | null = ''; cursor !== null; calls += 1) {
      const page = await q.send('GET', `?worker_id=w1&status=leased${cursor === '' ? '' : `&cursor=${cursor}`}`);
      found.push(...page.tasks.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(found).toEqual([one.id]);
    expect(calls).toBe(2);
  });
});

const many = `INSERT INTO work_task (id, user_id, status, rank, queued_at, waits, attempts, max_attempts, fence, stop_requested,
  lease_worker_id, created_at, updated_at, payload, env)
  SELECT 'task_' || n, 'user_ada', 'succeeded', 0, ${10 ** 13}, 0, 1, 5, 1, 0, 'w1', ${10 ** 13} + n, ${10 ** 13}, '{}', '{}' FROM n`;

test.each(engines)(
  'on $name, tasks that follow one another keep their order, whichever replica takes them',
  async ({ name, place }) => {
    const { open } = await place();
    const first = await open(workQueueMigrations);
    const second = name === 'postgres' ? await open(workQueueMigrations) : first;
    const at = Date.now();
    // Their clocks differ, as far as a comparison leaves them, and so does what they call a task.
    const replicas = [
      { work: createWorkStore({ store: first, now: () => at + 4, leaseMs: 60_000 }), mark: 'z' },
      {
        work: createWorkStore({ store: second, now: () => (name === 'postgres' ? at : at + 4), leaseMs: 60_000 }),
        mark: 'a',
      },
    ] as const;
    const userId = 'user_ada';
    const made: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const { work, mark } = replicas[n % (name === 'postgres' ? 2 : 1)]!;
      const id = `task_${mark}${String(n).padStart(2, '0')}`;
      await work.create(userId, id, {});
      made.push(id);
    }
    const leased: (string | undefined)[] = [];
    for (let n = 0; n < 20; n += 1) leased.push((await replicas[0].work.lease(userId, 'w1', `lease_${n}`))?.id);
    expect(leased).toEqual(made);
  },
);
