/** Daily work, done by the first replica to start it: removes data older than its retention time. Must not know what that data is. */
import type { Timers } from '../kit/clock/timers.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Migration } from '../kit/store/store.ts';

export const dailyMigrations: readonly Migration[] = [
  {
    area: 'daily',
    number: 1,
    name: 'what is done once a day',
    sql: 'CREATE TABLE daily_run (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT',
  },
];

interface Daily {
  /** Soon after, if it is due; then it looks once an hour. */
  start(): void;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

const firstMs = 60_000;
const everyMs = 3600_000;
const dayMs = 24 * 3600_000;
/** A clock that was ahead must not put it off. */
const claim = `INSERT INTO daily_run (name, at) VALUES ('forget', ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at
  WHERE daily_run.at <= ? OR daily_run.at > excluded.at`;

export function createDaily({
  store,
  clock,
  timers,
  areas,
  onFault,
}: {
  readonly store: SharedStore;
  /** The store's: replicas compare times. */
  readonly clock: { now(): number };
  readonly timers: Timers;
  /** One after the other; what one throws does not keep the next from it. */
  readonly areas: readonly { forgetOld(now: number): Promise<void> }[];
  readonly onFault: (fault: unknown) => void;
}): Daily {
  let closed = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  async function forget(): Promise<void> {
    const now = clock.now();
    const { changes } = await store.write((tx) => tx.run(claim, now, now - dayMs), { isolation: 'statement' });
    if (changes === 0) return;
    for (const area of areas) if (!closed) await area.forgetOld(now).catch(onFault);
  }

  function later(ms: number): void {
    if (closed) return;
    cancel = timers.after(ms, () => {
      running = forget()
        .catch(onFault)
        .finally(() => later(everyMs));
    });
  }

  return {
    start: () => later(firstMs),
    async close() {
      closed = true;
      cancel();
      await running;
    },
  };
}
