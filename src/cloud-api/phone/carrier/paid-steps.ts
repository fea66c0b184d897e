/**
 * Steps at the carrier that cost money, each done once despite kills, time-outs and several replicas: recorded durably before it begins, kept with
 * its result, and looked up at the carrier before it is tried again. Owns `phone_paid_step`; must not know what a step is.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../kit/clock/clock.ts';
import { pause, systemTimers, type Timers } from '../../../kit/clock/timers.ts';
import { portion, removePortions } from '../../../kit/store/remove-portions.ts';
import type { Op, SharedStore } from '../../../kit/store/shared-store.ts';
import { CarrierFault } from './port.ts';

interface PaidStep<T> {
  /** Looks the result up at the carrier; null: certainly not done. Throws if that is unknown. */
  readonly find: () => Promise<T | null>;
  /** Requests it once. A {@link CarrierFault} of a kind other than `unknown` means that it was not done. */
  readonly act: () => Promise<T>;
}

export interface PaidSteps {
  /**
   * The result, a JSON value, of this run or of an earlier one of `key`. A step that was begun and has no result is looked up first. Throws what the
   * step throws; a fault that says it was not done forgets the step. Throws `unknown` with `retryAfter` while the carrier may still be working on an
   * unanswered one.
   */
  run<T>(key: string, step: PaidStep<T>): Promise<T>;
  /** Removes results that nobody has read in months. */
  forgetOld(now: number): Promise<void>;
}

/** How long to wait for a replica that was killed. */
const leaseMs = 30_000;
const renewMs = 10_000;
const lookMs = 250;
/** Twice the longest duration of a request. */
const defaultSettleMs = 20_000;
const retentionMs = 90 * 24 * 60 * 60_000;
const neverAborted = new AbortController().signal;

interface Row {
  readonly result: string | null;
  readonly heldUntil: number;
  readonly actedAt: number;
}

type Claim =
  | { readonly is: 'done'; readonly result: string }
  /** `begunAt`: an earlier run began it then, with an unknown result; null: it is new. */
  | { readonly is: 'mine'; readonly begunAt: number | null }
  | { readonly is: 'held' };

export function createPaidSteps(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers?: Timers;
  /** How long the carrier may work on an unanswered request; until then "nothing found" is not believed. */
  readonly settleMs?: number;
}): PaidSteps {
  const { store, clock, timers = systemTimers, settleMs = defaultSettleMs } = deps;
  const { claim, renew, isStillMine, keep, forget, letGo } = createClaims({ store, clock, timers });
  const running = new Map<string, Promise<unknown>>();

  async function look<T>(key: string, begunAt: number, { find }: PaidStep<T>): Promise<T | null> {
    const found = await find();
    if (found !== null) return keep(key, found);
    const left = begunAt + settleMs - clock.now();
    // Over the whole duration: the clock was set back.
    if (left > 0 && left <= settleMs) {
      throw new CarrierFault('unknown', 'The carrier has not answered, and may still be working on it.', {
        retryAfter: Math.ceil(left / 1000),
      });
    }
    return null;
  }

  /** Null: another process has it by now. */
  async function doIt<T>(key: string, begunAt: number | null, step: PaidStep<T>): Promise<{ result: T } | null> {
    const stop = renew(key);
    let acted = false;
    try {
      if (begunAt !== null) {
        const found = await look(key, begunAt, step);
        if (found !== null) return { result: found };
        if (!(await isStillMine(key))) return null;
      }
      acted = true;
      return { result: await keep(key, await step.act()) };
    } catch (error) {
      const undone = acted && error instanceof CarrierFault && error.kind !== 'unknown';
      await (undone ? forget(key) : letGo(key));
      throw error;
    } finally {
      stop();
    }
  }

  async function begin<T>(key: string, step: PaidStep<T>): Promise<T> {
    while (true) {
      const claimed = await claim(key);
      if (claimed.is === 'done') return JSON.parse(claimed.result) as T;
      if (claimed.is === 'mine') {
        const done = await doIt(key, claimed.begunAt, step);
        if (done !== null) return done.result;
      }
      await pause(timers, lookMs, neverAborted);
    }
  }

  return {
    run<T>(key: string, step: PaidStep<T>): Promise<T> {
      const under = running.get(key) as Promise<T> | undefined;
      if (under !== undefined) return under;
      const work = begin(key, step).finally(() => running.delete(key));
      running.set(key, work);
      return work;
    },
    forgetOld(now) {
      const sql = `DELETE FROM phone_paid_step WHERE result IS NOT NULL AND acted_at < ? AND key IN (SELECT key FROM phone_paid_step
        WHERE result IS NOT NULL AND acted_at < ? ORDER BY acted_at LIMIT ${portion})`;
      return removePortions(store, sql, now - retentionMs, now - retentionMs);
    },
  };
}

/** Which process works on a step: its row is claimed, and renewed as long as the work lasts. */
function createClaims({
  store,
  clock,
  timers,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
}) {
  const holder = randomUUID();
  // Only one process has the file: a claim of another one is left over.
  const alone = store.engine === 'sqlite';
  return { claim, renew, isStillMine, keep, forget, letGo };

  function claim(key: string): Promise<Claim> {
    return store.write(function* (tx): Op<Claim> {
      const now = clock.now();
      const sql = `INSERT INTO phone_paid_step (key, holder, held_until, acted_at) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`;
      if ((yield* tx.run(sql, key, holder, now + leaseMs, now)).changes === 1) return { is: 'mine', begunAt: null };
      const row = yield* tx.get<Row>(
        'SELECT result, held_until AS "heldUntil", acted_at AS "actedAt" FROM phone_paid_step WHERE key = ?',
        key,
      );
      if (row === undefined) return { is: 'held' };
      if (row.result !== null) return { is: 'done', result: row.result };
      if (!alone && row.heldUntil > now) return { is: 'held' };
      yield* tx.run('UPDATE phone_paid_step SET holder = ?, held_until = ? WHERE key = ?', holder, now + leaseMs, key);
      return { is: 'mine', begunAt: row.actedAt };
    });
  }

  /** Renews the claim until the returned function is called. */
  function renew(key: string): () => void {
    if (alone) return () => {};
    const sql = 'UPDATE phone_paid_step SET held_until = ? WHERE key = ? AND holder = ?';
    const again = () => {
      cancel = timers.after(renewMs, again);
      store
        .write((tx) => tx.run(sql, clock.now() + leaseMs, key, holder), { isolation: 'statement' })
        // The next renewal may succeed; if none does, the process that takes over looks first.
        .catch(() => {});
    };
    let cancel = timers.after(renewMs, again);
    return () => cancel();
  }

  /** Runs right before the request: a process that hung may have lost the claim. */
  async function isStillMine(key: string): Promise<boolean> {
    const now = clock.now();
    const sql = `UPDATE phone_paid_step SET acted_at = ?, held_until = ? WHERE key = ? AND holder = ? AND result IS NULL`;
    const { changes } = await store.write((tx) => tx.run(sql, now, now + leaseMs, key, holder), {
      isolation: 'statement',
    });
    return changes === 1;
  }

  async function keep<T>(key: string, result: T): Promise<T> {
    const text = JSON.stringify(result ?? null);
    // Stored even if the claim was lost: the result is known.
    await store.write(
      (tx) => tx.run('UPDATE phone_paid_step SET result = ? WHERE key = ? AND result IS NULL', text, key),
      { isolation: 'statement' },
    );
    return result;
  }

  function forget(key: string) {
    return store.write(
      (tx) => tx.run('DELETE FROM phone_paid_step WHERE key = ? AND holder = ? AND result IS NULL', key, holder),
      { isolation: 'statement' },
    );
  }

  function letGo(key: string) {
    const sql = 'UPDATE phone_paid_step SET held_until = 0 WHERE key = ? AND holder = ?';
    return store.write((tx) => tx.run(sql, key, holder), { isolation: 'statement' });
  }
}
