/**
 * Counts events within a window, over all processes that share a database: protection against guessing must not weaken with their number. First user:
 * failed credentials. Must not know whom it counts.
 */
import type { Op, SharedStore, SharedTx } from '../store/shared-store.ts';
import type { Migration } from '../store/store.ts';

export const sharedCountMigrations: readonly Migration[] = [
  {
    area: 'limits',
    number: 1,
    name: 'what is counted together',
    sql: `
      CREATE TABLE shared_count (
        name TEXT PRIMARY KEY,
        hits INTEGER NOT NULL,
        until INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX shared_count_until ON shared_count (until);
    `,
  },
];

export interface SharedCount {
  /** Counts one more; returns the count in the window and when the window ends (milliseconds from now). */
  hit(name: string): Promise<{ readonly hits: number; readonly leftMs: number }>;
}

export function createSharedCount({
  store,
  clock,
  windowMs,
}: {
  readonly store: SharedStore;
  readonly clock: { now(): number };
  /** Starts with the first event. */
  readonly windowMs: number;
}): SharedCount {
  function* count(tx: SharedTx, name: string, now: number): Op<{ hits: number; until: number }> {
    const sql = `INSERT INTO shared_count (name, hits, until) VALUES (?, 1, ?) ON CONFLICT (name) DO UPDATE SET
      hits = CASE WHEN shared_count.until <= ? THEN 1 ELSE shared_count.hits + 1 END,
      until = CASE WHEN shared_count.until <= ? THEN excluded.until ELSE shared_count.until END
      RETURNING hits, until`;
    const row = (yield* tx.get<{ hits: number; until: number }>(sql, name, now + windowMs, now, now))!;
    if (row.hits === 1) yield* tx.run('DELETE FROM shared_count WHERE until < ?', now - windowMs);
    return row;
  }

  return {
    async hit(name) {
      const now = clock.now();
      const { hits, until } = await store.write((tx) => count(tx, name, now), { isolation: 'rows' });
      return { hits, leftMs: until - now };
    },
  };
}
