/**
 * Shares changes with other processes on the same database, which drop their cached copy within a second or two. A single process needs none of it.
 * Must not know what a sign-in or a key is.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { answered } from '../../kit/store/answered.ts';
import type { Asked, Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import { follow } from '../../kit/wake/follow.ts';

/** `digest`: the cache key. `replacedBy`: the sign-in that the same browser now uses. */
export type Change =
  | {
      readonly kind: 'session';
      readonly id: string;
      readonly digest: string;
      readonly over: boolean;
      readonly replacedBy?: string | undefined;
    }
  | { readonly kind: 'key'; readonly id: string; readonly digest: string; readonly over: boolean }
  | { readonly kind: 'user'; readonly id: string; readonly over: boolean };

export interface Changes {
  /** Call it in the transaction of the change. */
  note(tx: SharedTx, change: Change): Asked<unknown>;
  /** How long a cached row may be used if the notice of its change is lost; null: for ever. */
  readonly age: { readonly clock: Clock; readonly maxAgeMs: number } | null;
  /** Calls back for the changes of other processes. */
  start(listener: (change: Change) => void): void;
  close(): void;
}

const topic = 'identity';
const retentionMs = 30_000;
const rowsRetentionMs = 60 * 60_000;

export function createChanges({
  store,
  clock,
  timers,
  log,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Changes {
  if (store.engine === 'sqlite') return { note: () => answered(undefined), age: null, start() {}, close() {} };
  const own = new Set<string>();
  let stop = () => {};

  function* note(tx: SharedTx, change: Change): Op<void> {
    const id = randomUUID();
    const now = clock.now();
    yield* tx.run('DELETE FROM identity_change WHERE at < ?', now - rowsRetentionMs);
    yield* tx.run('INSERT INTO identity_change (id, at, what) VALUES (?, ?, ?)', id, now, JSON.stringify(change));
    tx.afterCommit(() => {
      own.add(id);
      store.wake.signal(topic);
    });
  }

  return {
    note,
    age: { clock, maxAgeMs: retentionMs },
    start(listener) {
      stop = follow<{ id: string; at: number; what: string }>({
        wake: store.wake,
        clock,
        timers,
        topic,
        since: (at) => store.all('SELECT id, at, what FROM identity_change WHERE at > ? ORDER BY at', at),
        tell({ id, what }) {
          if (!own.delete(id)) listener(JSON.parse(what) as Change);
        },
        onFault: (fault) =>
          log.warn('Sign-ins that ended elsewhere could not be looked for.', { fault: String(fault) }),
      });
    },
    close: () => stop(),
  };
}
