/**
 * The store's clock: leases end by it, whichever replica took or renews them (gaps.md A). On SQLite it is this computer's; on
 * PostgreSQL the database's, as this process last compared it with its own steady one. A comparison that took long, or a process
 * that stood still since, puts it back and never forward: a lease then seems shorter to us, and is taken from nobody too early.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

export interface StoreClock {
  now(): number;
  /** Compares again. Rejects when the database does not answer; the last comparison then holds. */
  compare(): Promise<void>;
}

export function createStoreClock(store: SharedStore, clock: Clock): StoreClock {
  if (store.engine === 'sqlite') return { now: () => clock.now(), compare: async () => {} };
  let offset = clock.now() - clock.monotonic();
  return {
    now: () => Math.floor(clock.monotonic() + offset),
    async compare() {
      const sql = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now';
      const row = await store.get<{ now: number }>(sql);
      // Asked before it was answered: what the answer took on its way is not added.
      if (row !== undefined) offset = row.now - clock.monotonic();
    },
  };
}
