/** What is done once a day, over all replicas, on both engines. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDaily, dailyMigrations } from '../../src/host/daily.ts';
import { type Engine, engines } from '../support/engines.ts';
import { createTestClock } from '../support/test-clock.ts';

const hour = 3600_000;

describe.each(engines)('on $name', ({ name, place }: Engine) => {
  test('once a day it is done by one of them, also when a part of it fails, and not sooner after a start', async () => {
    const there = await place();
    const clock = createTestClock();
    const began = clock.now();
    const days: number[] = [];
    const faults: unknown[] = [];
    const areas = [
      { forgetOld: () => Promise.reject(new Error('It cannot.')) },
      { forgetOld: async (now: number) => void days.push((now - began) / (24 * hour)) },
    ];
    let running = 0;
    const start = async () => {
      const store = await there.open(dailyMigrations, clock);
      const daily = createDaily({ store, clock, timers: clock, areas, onFault: (fault) => faults.push(fault) });
      daily.start();
      running += 1;
      onTestFinished(() => daily.close());
    };
    const pass = async (hours: number) => {
      for (let left = hours; left > 0; left -= 1) {
        await clock.advance(hour);
        // Each of them has looked.
        await expect.poll(() => clock.pending()).toBe(running);
      }
    };
    for (let made = 0; made < (name === 'postgres' ? 3 : 1); made += 1) await start();
    await pass(1);
    expect(days.map(Math.floor)).toEqual([0]);
    if (name === 'postgres') await start();
    await pass(20);
    expect(days).toHaveLength(1);
    await pass(30);
    expect(days.map(Math.floor)).toEqual([0, 1, 2]);
    expect(faults.map(String)).toEqual(Array(3).fill('Error: It cannot.'));
  });

  test('a clock that was ahead does not put it off', async () => {
    const there = await place();
    const clock = createTestClock();
    const store = await there.open(dailyMigrations, clock);
    let times = 0;
    const forgetOld = async () => {
      times += 1;
    };
    const areas = [{ forgetOld }];
    const daily = createDaily({ store, clock, timers: clock, areas, onFault: () => {} });
    onTestFinished(() => daily.close());
    clock.jump(1000 * 24 * hour);
    daily.start();
    await clock.advance(hour / 2);
    await expect.poll(() => times).toBe(1);
    await expect.poll(() => clock.pending()).toBe(1);
    clock.jump(-1000 * 24 * hour);
    await clock.advance(hour);
    await expect.poll(() => times).toBe(2);
  });
});
