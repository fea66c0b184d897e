/** How long a head waits after each failed attempt. Must not know what is sent. */

const minute = 60_000;
const defaultSchedule = [
  1000,
  2000,
  5000,
  10_000,
  30_000,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
];

interface Backoff {
  /** Milliseconds, spread by ±20 %. */
  after(attempt: number): number;
}

/** `schedule`: waits before the 2nd, 3rd … attempt; the last one repeats. `random`: 0 ≤ x < 1. */
export function createBackoff(
  schedule: readonly number[] = defaultSchedule,
  random: () => number = Math.random,
): Backoff {
  const longest = Math.max(...schedule);
  return {
    after: (attempt) =>
      Math.round((schedule[Math.min(attempt, schedule.length) - 1] ?? longest) * (0.8 + 0.4 * random())),
  };
}
