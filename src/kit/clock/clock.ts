/** Time as an argument. First users: ledger, leases, one-time codes; tests set it by hand. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds; only differences mean anything. */
  monotonic(): number;
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** RFC 3339 UTC with milliseconds. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
