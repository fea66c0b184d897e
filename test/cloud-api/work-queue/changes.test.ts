/** What readers of the queue's events are told, on both engines: over real HTTP, from another process's changes, and after a break. */
import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ChangesDeps, createChanges, type TaskChange } from '../../../src/cloud-api/work-queue/changes.ts';
import type { ChangedTask, ChangePoint } from '../../../src/cloud-api/work-queue/reads.ts';
import { createSseParser } from '../../../src/contracts/common/sse-parser.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { startQueue, type TestQueue } from './support.ts';

function follow(q: TestQueue, headers: Record<string, string> = {}, token = 'ada') {
  const seen: { id: string; status: string; at: string | null }[] = [];
  let over = false;
  const parser = createSseParser();
  const read = (text: string) => {
    for (const event of parser.push(text)) {
      if (event.event === 'task')
        seen.push({ ...(JSON.parse(event.data) as { id: string; status: string }), at: event.id });
    }
  };
  const opened = new Promise<number>((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: q.server.port,
        path: '/beta/work/events',
        headers: { authorization: `Bearer ${token}`, ...headers },
      },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', read);
        response.on('error', () => {});
        response.on('close', () => {
          over = true;
        });
        resolve(response.statusCode ?? 0);
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
    onTestFinished(() => void outgoing.destroy());
  });
  const statuses = (id: string) => seen.filter((each) => each.id === id).map(({ status }) => status);
  return { seen, opened, statuses, over: () => over };
}

const into = (told: TaskChange[]) => ({ tell: (change: TaskChange) => told.push(change) > 0, drained: async () => {} });

const isBehind = (row: ChangedTask, { at, id }: ChangePoint) =>
  row.updated_at > at || (row.updated_at === at && row.id > id);

/** What the database answers. */
function pagesOf(rows: readonly ChangedTask[]): ChangesDeps['changed'] {
  return async (_userId, after, limit) =>
    rows
      .filter((row) => isBehind(row, after))
      .sort((a, b) => (isBehind(a, { at: b.updated_at, id: b.id }) ? 1 : -1))
      .slice(0, limit);
}

describe.each(engines)('on $name', (engine) => {
  test('a reader is told of each task of theirs that changes, and of nobody else’s', async () => {
    const q = await startQueue(engine);
    const before = await q.create();
    q.later(10);
    const [mine, others] = [follow(q), follow(q, {}, 'eve')];
    expect([await mine.opened, await others.opened]).toEqual([200, 200]);
    const turn = async (id: string, status: string) => {
      await expect
        .poll(async () => {
          await q.clock.advance(100);
          return mine.statuses(id).at(-1);
        })
        .toBe(status);
    };
    const { id } = await q.create({ priority: 1 });
    await turn(id, 'queued');
    await q.lease('w1');
    await turn(id, 'leased');
    await q.post(`/${id}/heartbeat`, { worker_id: 'w1' });
    await turn(id, 'running');
    await q.post(`/${id}/heartbeat`, { worker_id: 'w1' });
    q.later(60_001);
    await q.post(`/${before.id}/stop`);
    await q.lease('w2');
    await turn(id, 'leased');
    await q.post(`/${id}/ack`, { worker_id: 'w2' });
    await turn(id, 'succeeded');
    expect(mine.statuses(id)).toEqual(['queued', 'leased', 'running', 'leased', 'succeeded']);
    expect(mine.statuses(before.id)).toEqual(['cancelled']);
    expect(others.seen).toEqual([]);
    expect(q.faults).toEqual([]);
  });

  test('one that comes back is told what it missed', async () => {
    const q = await startQueue(engine);
    const first = follow(q);
    await first.opened;
    const { id } = await q.create();
    await expect
      .poll(async () => {
        await q.clock.advance(100);
        return first.seen.length;
      })
      .toBe(1);
    await q.lease('w1');
    q.later(600_000);
    await q.post(`/${id}/ack`, { worker_id: 'w1' });
    const again = follow(q, { 'last-event-id': first.seen[0]!.at! });
    await expect
      .poll(async () => {
        await q.clock.advance(100);
        return again.statuses(id);
      })
      .toEqual(['succeeded']);
  });
});

describe.each(engines)('many at once, on $name', (engine) => {
  const many = 4_000;

  test('four thousand tasks that change at once are each told, to one that was there and to one that comes for them', async () => {
    const q = await startQueue(engine);
    const at = q.clock.now();
    const n = {
      sqlite: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many})`,
      postgres: `WITH n (i) AS (SELECT generate_series(1, ${many}))`,
    };
    const insert = `INSERT INTO work_task (id, user_id, status, rank, queued_at, waits, attempts, max_attempts, fence,
      stop_requested, lease_id, lease_worker_id, lease_until, created_at, updated_at, payload, env)
      SELECT 'task_' || (1000000 + i), 'user_ada', 'leased', 0, 1, 0, 5, 5, 1, 0, 'l', 'w', ${at + 10}, 1, 1, '{}', '{}' FROM n`;
    await q.store.write((tx) => tx.run({ sqlite: `${n.sqlite} ${insert}`, postgres: `${n.postgres} ${insert}` }));
    const there = follow(q);
    await there.opened;
    await expect.poll(() => q.waiting()).toBeGreaterThan(0);
    q.later(1_000);
    await q.work.queue.sweep();
    const comes = follow(q, { 'last-event-id': String(at) });
    const all = (seen: typeof there.seen) =>
      new Set(seen.filter(({ status }) => status === 'failed').map(({ id }) => id));
    for (const reader of [there, comes]) {
      await expect
        .poll(async () => {
          await q.clock.advance(100);
          return all(reader.seen).size;
        })
        .toBe(many);
      expect(reader.over()).toBe(false);
    }
    expect(q.faults).toEqual([]);
  });
});

test('who reads from the beginning of time is told in pages, and one that does not read holds up nobody else', async () => {
  const clock = createTestClock();
  const rows = Array.from({ length: 10_000 }, (_, n) => {
    return { id: `task_${100_000 + n}`, status: 'queued' as const, fence: 0, updated_at: 1 + Math.floor(n / 3_000) };
  });
  const told: TaskChange[] = [];
  const slow: TaskChange[] = [];
  let max = 0;
  let before = 0;
  const changes = createChanges({
    changed: pagesOf(rows),
    listen: () => () => {},
    now: () => clock.now(),
    timers: clock,
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => changes.close());
  let read = () => {};
  const stuck = new Promise<void>((resolve) => (read = resolve));
  changes.follow('user_1', 0, {
    tell: (change) => slow.push(change) === 0,
    drained: () => (slow.length === 0 ? Promise.resolve() : stuck),
  });
  changes.follow('user_1', 0, {
    tell: (change) => told.push(change) === 0,
    async drained() {
      max = Math.max(max, told.length - before);
      before = told.length;
    },
  });
  await clock.advance(5_000);
  expect(new Set(told.map(({ id }) => id)).size).toBe(rows.length);
  expect(told).toHaveLength(rows.length);
  expect(max).toBeLessThanOrEqual(1_000);
  expect(slow.length).toBeLessThanOrEqual(1_000);
  read();
  await clock.advance(5_000);
  expect(slow.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
});

test('a change that was committed late, behind others, is told all the same', async () => {
  const clock = createTestClock();
  const rows: ChangedTask[] = [];
  const told: TaskChange[] = [];
  const changes = createChanges({
    changed: pagesOf(rows),
    listen: () => () => {},
    now: () => clock.now(),
    timers: clock,
    onFault: (error) => {
      throw error;
    },
  });
  const stop = changes.follow('user_ada', null, into(told));
  await clock.advance(10);
  const began = clock.now();
  await clock.advance(10);
  rows.push({ id: 'quick', status: 'queued', fence: 0, updated_at: clock.now() });
  await clock.advance(25_000);
  rows.push({ id: 'late', status: 'queued', fence: 0, updated_at: began });
  await clock.advance(30_000);
  expect(told.map(({ id }) => id)).toEqual(['quick', 'late']);
  stop();
  await clock.advance(30_000);
  expect(clock.pending()).toBe(0);
});

test('a reader that begins while the database is away, or as the last other one leaves, is told all the same', async () => {
  const clock = createTestClock();
  const rows: ChangedTask[] = [];
  let away = true;
  const faults: unknown[] = [];
  const changes = createChanges({
    changed: async (...asked) => {
      if (away) throw new Error('away');
      return pagesOf(rows)(...asked);
    },
    listen: () => () => {},
    now: () => clock.now(),
    timers: clock,
    onFault: (error) => faults.push(error),
  });
  onTestFinished(() => changes.close());
  const told: TaskChange[] = [];
  const stopFirst = changes.follow('user_1', null, into(told));
  await clock.advance(3_000);
  expect(faults.length).toBeGreaterThan(1);
  away = false;
  await clock.advance(2_000);
  rows.push({ id: 'task_1', status: 'queued', fence: 0, updated_at: clock.now() });
  await clock.advance(2_000);
  expect(told.map(({ id }) => id)).toEqual(['task_1']);

  const second: TaskChange[] = [];
  changes.follow('user_1', null, into(second));
  stopFirst();
  await clock.advance(2_000);
  rows.push({ id: 'task_2', status: 'queued', fence: 0, updated_at: clock.now() });
  await clock.advance(2_000);
  expect(second.map(({ id }) => id)).toContain('task_2');
  expect(told).toHaveLength(1);
});
