/**
 * The store's clock. Leases end by it, whichever replica took or renews them. It runs steadily, whatever a person or NTP does to the wall clock. On
 * SQLite it begins with the wall clock at each start. When the two differ (a step, or a computer that slept: Linux's steady clock stands still then),
 * it follows and moves the ends of leases along, so that each lease keeps its remaining time. On PostgreSQL it is the database's clock, as this
 * process last compared it with its own steady one. The delay of an answer can only make it slow, never fast: a lease then seems shorter to us, and
 * nobody loses one too early.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { held, statusIn } from './model.ts';

export interface StoreClock {
  now(): number;
  /** Compares again. Rejects if the database does not answer; the last comparison then holds. */
  compare(): Promise<void>;
}

/** A wall clock that moves further from the steady one was set, or the computer slept. */
const partedMs = 500;
/** A slower answer is less exact, and is used only if there is no better one. */
const promptMs = 500;
const tries = 5;

export function createStoreClock(store: SharedStore, clock: Clock): StoreClock {
  let offset = clock.now() - clock.monotonic();
  /** How far the wall clock was ahead of the steady one at the last comparison. */
  let ahead = offset;
  /** The duration of the answer that set `offset`. */
  let took = Number.POSITIVE_INFINITY;
  let under: Promise<void> | null = null;

  const aheadNow = () => clock.now() - clock.monotonic();
  const parted = () => Math.abs(aheadNow() - ahead) > partedMs;

  async function follow(): Promise<void> {
    if (!parted()) return;
    const step = Math.round(aheadNow() - ahead);
    await store.write(
      function* (tx) {
        yield* tx.run(`UPDATE work_task SET lease_until = lease_until + ? WHERE ${statusIn(held)}`, step);
        tx.afterCommit(() => {
          offset += step;
          ahead += step;
        });
      },
      { isolation: 'statement' },
    );
  }

  async function ask(): Promise<void> {
    // Earlier comparisons no longer count.
    if (parted()) took = Number.POSITIVE_INFINITY;
    for (let count = 0; count < tries; count += 1) {
      const before = { at: clock.monotonic(), ahead: aheadNow() };
      const sql = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now';
      const row = await store.get<{ now: number }>(sql);
      const at = clock.monotonic();
      const prompt = at - before.at <= promptMs;
      if (row !== undefined && (prompt || at - before.at < took)) {
        offset = row.now - at;
        ahead = before.ahead;
        took = at - before.at;
      }
      if (prompt) return;
    }
  }

  function compare(): Promise<void> {
    under ??= (store.engine === 'sqlite' ? follow() : ask()).finally(() => {
      under = null;
    });
    return under;
  }

  return {
    now() {
      // The regular comparison logs its error.
      if (under === null && parted()) compare().catch(() => {});
      return Math.floor(clock.monotonic() + offset);
    },
    compare,
  };
}
