/** Pauses that a signal ends. */
import { expect, test } from 'vitest';
import { pause } from '../../../src/kit/clock/timers.ts';

/** Counts what is armed, and never fires. */
function armedTimers() {
  let armed = 0;
  return {
    armed: () => armed,
    after() {
      armed += 1;
      return () => {
        armed -= 1;
      };
    },
  };
}

test('a pause ends with its signal, also one that was aborted before it began, and leaves no timer', async () => {
  const timers = armedTimers();
  const stop = new AbortController();
  const during = pause(timers, 60_000, stop.signal);
  expect(timers.armed()).toBe(1);
  stop.abort();
  await during;
  await pause(timers, 60_000, stop.signal);
  expect(timers.armed()).toBe(0);
});
