/** Leases end by the store's clock: what a clock that is set, a computer that slept and an answer that came late do to them. */
import { describe, expect, test } from 'vitest';
import { createStoreClock, type StoreClock, workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { wireLease } from '../../../src/cloud-api/work-queue/rows.ts';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { engines, sqliteIn } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';

const workOf = (store: SharedStore, clock: StoreClock) =>
  createWorkStore({ store, now: () => clock.now(), leaseMs: 60_000 });

/** A database on another computer whose clock is ten minutes ahead. Its answers take as long as the test says. */
function database(store: SharedStore, time: TestClock) {
  const ahead = 600_000;
  const late: number[] = [];
  let base = time.now();
  const now = () => base + ahead + time.monotonic();
  const get = async () => {
    const answer = { now: now() };
    const ms = late.shift() ?? 0;
    if (ms > 0) await time.advance(ms);
    return answer;
  };
  const asked: SharedStore = { ...store, engine: 'postgres', get: get as unknown as SharedStore['get'] };
  /** This computer sleeps: its steady clock stands still, and everything else goes on. */
  const sleep = (ms: number) => {
    base += ms;
    time.jump(ms);
  };
  return { now, late, asked, sleep };
}

async function start() {
  const time = createTestClock();
  const store = await sqliteIn(scratchFolder()).open(workQueueMigrations, time);
  return { time, store };
}

describe('on a file of its own', () => {
  test.each([60_000, 8 * 3_600_000, -3_600_000])(
    'a wall clock that is set by %i ms frees no lease and keeps none longer, and is followed',
    async (step) => {
      const { time, store } = await start();
      const clock = createStoreClock(store, time);
      const work = workOf(store, clock);
      await work.create('ada', 'task_1', {});
      await work.lease('ada', 'w1', 'lease_1');
      await work.lease('ada', 'w2', 'lease_2');
      await time.advance(30_000);
      time.jump(step);
      // The first who asks is still told the old time.
      expect(await work.lease('ada', 'w2', 'lease_2')).toBeNull();
      await clock.compare();
      expect(clock.now()).toBe(time.now());
      expect(await work.lease('ada', 'w2', 'lease_2')).toBeNull();
      await time.advance(29_000);
      expect(await work.lease('ada', 'w2', 'lease_2')).toBeNull();
      await time.advance(1_001);
      expect(await work.lease('ada', 'w2', 'lease_2')).toMatchObject({ id: 'task_1', attempts: 2 });
    },
  );
});

describe('on a database of another computer', () => {
  test('an answer that came late is not believed: no lease ends before its holder was told it would', async () => {
    const { time, store } = await start();
    const { late, asked, now } = database(store, time);
    late.push(5_000);
    const clock = createStoreClock(asked, time);
    await clock.compare();
    expect(clock.now()).toBe(now());
    late.push(...Array.from({ length: 5 }, () => 5_000));
    await clock.compare();
    expect(clock.now()).toBe(now());
    const work = workOf(store, clock);
    await work.create('ada', 'task_1', {});
    const row = (await work.lease('ada', 'w1', 'lease_1'))!;
    expect(row.lease_until! - now()).toBe(wireLease(row, clock.now()).ttl_seconds * 1000);
  });

  test('one that answers late each time is believed as far as it goes, and the best of its answers', async () => {
    const { time, store } = await start();
    const { late, asked, now } = database(store, time);
    late.push(5_000, 4_000, 900, 3_000, 2_000);
    const clock = createStoreClock(asked, time);
    await clock.compare();
    expect(clock.now() - now()).toBe(-900);
  });

  test('a computer that slept asks at once, and not only when it is time to', async () => {
    const { time, store } = await start();
    const { asked, now, sleep } = database(store, time);
    const clock = createStoreClock(asked, time);
    await clock.compare();
    sleep(120_000);
    clock.now();
    await expect.poll(() => clock.now()).toBe(now());
  });
});

test.each(engines)(
  'on $name, a beat that was held up does not shorten the lease that a later one renewed',
  async (engine) => {
    const time = createTestClock();
    const store = await (await engine.place()).open(workQueueMigrations, time);
    let at = time.now();
    const work = createWorkStore({ store, now: () => at, leaseMs: 60_000 });
    await work.create('ada', 'task_1', {});
    await work.lease('ada', 'w1', 'lease_1');
    const holder = { userId: 'ada', id: 'task_1', workerId: 'w1', leaseId: 'lease_1' };
    const sent = at;
    at = sent + 20_000;
    const later = (await work.heartbeat(holder))!;
    expect(later.lease_until).toBe(at + 60_000);
    at = sent;
    await work.heartbeat(holder);
    expect((await work.find('ada', 'task_1'))!.lease_until).toBe(later.lease_until);
  },
);
