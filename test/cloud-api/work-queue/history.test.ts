/** How the queue went: kept as changes, in larger steps the older they are, and each person's own. */
import { describe, expect, test } from 'vitest';
import type { HistoryRange, QueueMoment } from '../../../src/contracts/work-queue/task.ts';
import { engines } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

async function history(q: TestQueue, range?: HistoryRange, token = 'ada') {
  const answer = await q.send('GET', `/stats/history${range === undefined ? '' : `?range=${range}`}`, { token });
  expect(answer.status).toBe(200);
  const { step_seconds: step, moments } = answer as unknown as { step_seconds: number; moments: QueueMoment[] };
  return { step, moments };
}
/** The steps in which something happened or waited, without their times. */
const busy = (moments: readonly QueueMoment[]) =>
  moments
    .filter(({ depth, added, succeeded, failed, cancelled }) => depth + added + succeeded + failed + cancelled > 0)
    .map(({ depth, oldest_seconds: oldest, added, succeeded, failed, cancelled }) => ({
      depth,
      oldest,
      ended: [succeeded, failed, cancelled],
      added,
    }));

describe.each(engines)('on $name', (engine) => {
  /** At the beginning of an hour, so that each step of the tests is a step of the history. */
  async function start(): Promise<TestQueue> {
    const q = await startQueue(engine);
    q.later(hour - (q.clock.now() % hour));
    return q;
  }

  test('an hour, a day and a week are told in steps without gaps that end now', async () => {
    const q = await start();
    for (const [range, step, steps] of [
      ['hour', 60, 60],
      ['day', 600, 144],
      ['week', 3600, 168],
    ] as const) {
      const told = await history(q, range);
      expect([told.step, told.moments.length]).toEqual([step, steps]);
      const times = told.moments.map(({ at }) => Date.parse(at));
      expect(times.at(-1)).toBe(q.clock.now());
      expect(times.every((at, place) => place === 0 || at - (times[place - 1] ?? 0) === step * 1000)).toBe(true);
      expect(busy(told.moments)).toEqual([]);
    }
    expect((await history(q)).step).toBe(600);
    expect((await q.send('GET', '/stats/history?range=year')).status).toBe(400);
  });

  test('each minute has what was added and ended in it, and what waited at its end', async () => {
    const q = await start();
    for (let n = 0; n < 4; n += 1) await q.create();
    await q.work.queue.sweep();
    q.later(minute);
    const { task } = await q.lease('w1');
    await q.post(`/${task.id}/ack`, { worker_id: 'w1' });
    const other = (await q.lease('w1')).task;
    await q.post(`/${other.id}/stop`, { worker_id: 'w1', error: 'no' });
    await q.work.queue.sweep();
    q.later(2 * minute);
    const third = (await q.lease('w1')).task;
    await q.post(`/${third.id}/stop`);
    await q.post(`/${other.id}/retry`);
    // Nothing has added up these changes yet.
    const { moments } = await history(q, 'hour');
    expect(busy(moments).map(({ depth, ended, added }) => [depth, added, ...ended])).toEqual([
      [4, 4, 0, 0, 0],
      [2, 0, 1, 1, 0],
      // Nothing happened, and two waited.
      [2, 0, 0, 0, 0],
      [2, 1, 0, 0, 1],
    ]);
    await q.work.queue.sweep();
    expect((await history(q, 'hour')).moments).toEqual(moments);
    expect(busy((await history(q, 'hour', 'eve')).moments)).toEqual([]);
    expect(q.faults).toEqual([]);
  });

  test('the oldest grows older while nothing happens, and is another once it is leased', async () => {
    const q = await start();
    await q.create();
    await q.work.queue.sweep();
    q.later(minute);
    await q.create();
    await q.work.queue.sweep();
    q.later(minute);
    await q.lease('w1');
    await q.work.queue.sweep();
    q.later(minute);
    expect(busy((await history(q, 'hour')).moments).map(({ oldest }) => oldest)).toEqual([60, 120, 120, 120]);
  });

  test('what is older than the range of a step is kept in larger steps with the same sums, and after a week it goes', async () => {
    const q = await start();
    for (let n = 0; n < 30; n += 1) {
      await q.create();
      await q.work.queue.sweep();
      q.later(minute - 1);
    }
    const rows = async () => (await q.store.get<{ n: number }>('SELECT count(*) AS n FROM work_sample'))?.n;
    expect(await rows()).toBe(30);
    const tens = busy((await history(q, 'day')).moments).map(({ depth, added }) => [depth, added]);
    expect(tens).toEqual([
      [10, 10],
      [20, 10],
      [30, 10],
      [30, 0],
    ]);
    /** Something changes, which puts what is old into larger steps. */
    const touch = async () => {
      const { id } = await q.create({}, { token: 'ada' });
      await q.post(`/${id}/stop`);
      await q.work.queue.sweep();
    };
    q.later(4 * hour);
    await touch();
    expect(await rows()).toBe(4);
    const of = async (range: HistoryRange) =>
      busy((await history(q, range)).moments)
        .filter(({ added }) => added > 0)
        .map(({ depth, added }) => [depth, added]);
    expect(await of('day')).toEqual([...tens.slice(0, 3), [30, 1]]);
    q.later(2 * day);
    await touch();
    expect(await rows()).toBe(3);
    expect(await of('week')).toEqual([
      [30, 30],
      [30, 1],
      [30, 1],
    ]);
    q.later(8 * day);
    await q.work.forgetOld(q.clock.now());
    expect(await rows()).toBe(0);
    // They still wait.
    expect((await history(q, 'week')).moments.every(({ depth }) => depth === 30)).toBe(true);
  });
});
