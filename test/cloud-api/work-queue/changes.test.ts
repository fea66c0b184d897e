/** What readers of the queue's events are told, on both engines: over real HTTP, from another process's changes, and after a break. */
import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createChanges, type TaskChange } from '../../../src/cloud-api/work-queue/changes.ts';
import type { ChangedTask } from '../../../src/cloud-api/work-queue/reads.ts';
import { createSseParser } from '../../../src/contracts/common/sse-parser.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { startQueue, type TestQueue } from './support.ts';

function follow(q: TestQueue, headers: Record<string, string> = {}, token = 'ada') {
  const seen: { id: string; status: string; at: string | null }[] = [];
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
        resolve(response.statusCode ?? 0);
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
    onTestFinished(() => void outgoing.destroy());
  });
  return { seen, opened, statuses: (id: string) => seen.filter((each) => each.id === id).map(({ status }) => status) };
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

test('a change that was committed late, behind others, is told all the same', async () => {
  const clock = createTestClock();
  const rows: ChangedTask[] = [];
  const told: TaskChange[] = [];
  const changes = createChanges({
    changed: async (_, since) =>
      rows.filter((row) => row.updated_at >= since).sort((a, b) => a.updated_at - b.updated_at),
    listen: () => () => {},
    now: () => clock.now(),
    timers: clock,
    onFault: (error) => {
      throw error;
    },
  });
  const stop = changes.follow('user_ada', null, (change) => told.push(change));
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
    changed: async (_userId, since) => {
      if (away) throw new Error('away');
      return rows.filter(({ updated_at: at }) => at >= since);
    },
    listen: () => () => {},
    now: () => clock.now(),
    timers: clock,
    onFault: (error) => faults.push(error),
  });
  onTestFinished(() => changes.close());
  const told: TaskChange[] = [];
  const stopFirst = changes.follow('user_1', null, (change) => told.push(change));
  await clock.advance(3_000);
  expect(faults.length).toBeGreaterThan(1);
  away = false;
  await clock.advance(2_000);
  rows.push({ id: 'task_1', status: 'queued', fence: 0, updated_at: clock.now() });
  await clock.advance(2_000);
  expect(told.map(({ id }) => id)).toEqual(['task_1']);

  const second: TaskChange[] = [];
  changes.follow('user_1', null, (change) => second.push(change));
  stopFirst();
  await clock.advance(2_000);
  rows.push({ id: 'task_2', status: 'queued', fence: 0, updated_at: clock.now() });
  await clock.advance(2_000);
  expect(second.map(({ id }) => id)).toContain('task_2');
  expect(told).toHaveLength(1);
});
