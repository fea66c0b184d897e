/**
 * Which process sends the heads of a lane when several share the database: a lease in a row, renewed while a head is out. A process that lost it must
 * not settle anything: another one has the head by then. Owns `lane_hold`; must not know items.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import { answered } from '../store/answered.ts';
import type { Asked, SharedStore, SharedTx } from '../store/shared-store.ts';

interface Holds {
  /** False: another process sends from this lane. */
  take(tx: SharedTx, lane: string): Asked<boolean>;
  /** Whether this process still holds it. */
  has(tx: SharedTx, lane: string): Asked<boolean>;
  letGo(tx: SharedTx, lane: string): Asked<unknown>;
  /** Renews it until the returned function is called. */
  renew(lane: string): () => void;
}

/**
 * How long to wait for a process that was killed. Clocks of replicas must not differ by more than a fraction of it: a hold that is to last much
 * longer was taken while a clock was wrong, and its process is not waited for.
 */
const leaseMs = 15_000;
const renewMs = 5_000;

/** For a single process: every lane is its own. */
export const noHolds: Holds = {
  take: () => answered(true),
  has: () => answered(true),
  letGo: () => answered(undefined),
  renew: () => () => {},
};

export function createHolds({
  store,
  clock,
  timers,
  lanes,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly lanes: string;
}): Holds {
  const holder = randomUUID();
  return {
    *take(tx, lane) {
      const now = clock.now();
      const sql = `INSERT INTO lane_hold (lanes, lane, holder, until) VALUES (?, ?, ?, ?)
        ON CONFLICT (lanes, lane) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE lane_hold.until <= ? OR lane_hold.until > ? OR lane_hold.holder = excluded.holder`;
      return (yield* tx.run(sql, lanes, lane, holder, now + leaseMs, now, now + 2 * leaseMs)).changes === 1;
    },
    *has(tx, lane) {
      const sql = 'SELECT 1 AS found FROM lane_hold WHERE lanes = ? AND lane = ? AND holder = ?';
      return (yield* tx.get(sql, lanes, lane, holder)) !== undefined;
    },
    letGo: (tx, lane) =>
      tx.run('DELETE FROM lane_hold WHERE lanes = ? AND lane = ? AND holder = ?', lanes, lane, holder),
    renew(lane) {
      const sql = 'UPDATE lane_hold SET until = ? WHERE lanes = ? AND lane = ? AND holder = ?';
      const again = () => {
        cancel = timers.after(renewMs, again);
        store
          .write((tx) => tx.run(sql, clock.now() + leaseMs, lanes, lane, holder), { isolation: 'statement' })
          // The next renewal may succeed; if none does, the outcome finds the hold lost.
          .catch(() => {});
      };
      let cancel = timers.after(renewMs, again);
      return () => cancel();
    },
  };
}
