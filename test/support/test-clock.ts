/** A clock and timers that only a test moves. */
import type { Clock } from '../../src/kit/clock/clock.ts';
import type { Timers } from '../../src/kit/clock/timers.ts';

export interface TestClock extends Clock, Timers {
  /** Moves both clocks and fires the timers that come due, in order, letting promises settle between them. */
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock, as a person or NTP does. */
  jump(ms: number): void;
  /** Timers that wait. */
  pending(): number;
}

export function createTestClock(start = Date.UTC(2026, 0, 2, 3, 4, 5)): TestClock {
  let wall = start;
  let steady = 0;
  const waiting = new Set<{ due: number; effect: () => void }>();
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  return {
    now: () => wall,
    monotonic: () => steady,
    after: (ms, effect) => {
      const timer = { due: steady + ms, effect };
      waiting.add(timer);
      return () => waiting.delete(timer);
    },
    jump: (ms) => {
      wall += ms;
    },
    pending: () => waiting.size,
    advance: async (ms) => {
      const end = steady + ms;
      await settle();
      while (true) {
        const next = [...waiting].filter((timer) => timer.due <= end).sort((a, b) => a.due - b.due)[0];
        if (next === undefined) break;
        waiting.delete(next);
        wall += Math.max(0, next.due - steady);
        steady = Math.max(steady, next.due);
        next.effect();
        await settle();
      }
      wall += end - steady;
      steady = end;
      await settle();
    },
  };
}
