/**
 * The event backbone of the cloud. Each event of a user is a row, written in the transaction of its cause and kept once by `(user, type, source id)`.
 * Wakes readers in every process; a reader that misses a wake finds the row when it polls. Must not know who reads.
 */

import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import { follow } from '../../kit/wake/follow.ts';

export interface NewEvent<T extends NotifiableEvent = NotifiableEvent> {
  readonly userId: string;
  readonly type: T;
  /** Identifies the event: a second one of this user and type with the same id is dropped. */
  readonly sourceId: string;
  /** The producer's time, milliseconds since the epoch. */
  readonly occurredAt: number;
  readonly data: EventData<T>;
  /** The computer that forwarded it. */
  readonly computerId?: string;
}

interface FollowedEvent {
  readonly id: string;
  readonly userId: string;
  readonly type: NotifiableEvent;
  readonly sourceId: string;
  /** When it was stored. */
  readonly at: number;
}

export interface EventBackbone {
  /** False: it was stored before. */
  emit<T extends NotifiableEvent>(tx: SharedTx, event: NewEvent<T>): Op<boolean>;
  /** Notes that this computer forwards events. */
  forwarded(tx: SharedTx, computerId: string): Op<void>;
  /** Whether this computer has ever forwarded an event. */
  forwards(tx: SharedReader, computerId: string): Op<boolean>;
  /** Called once events are durable. Returns a function that unsubscribes. */
  onEmit(listener: () => void): () => void;
  /** Each new event of these types, once, whichever process stored it, in no particular order. Returns a function that unsubscribes. */
  follow(types: readonly NotifiableEvent[], listener: (event: FollowedEvent) => void | Promise<void>): () => void;
  /** Removes what was stored before then. */
  forget(before: number): Promise<void>;
}

const eventsTopic = 'events';

export interface BackboneDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timers?: Timers;
  readonly log?: { warn(message: string, facts?: Record<string, unknown>): void };
}

export function createEventBackbone(deps: BackboneDeps): EventBackbone {
  const { store, clock, ids, timers = systemTimers } = deps;
  const insert = `INSERT INTO user_event (id, user_id, type, source_id, computer_id, occurred_at, stored_at, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, type, source_id) DO NOTHING`;

  return {
    *emit(tx, { userId, type, sourceId, occurredAt, data, computerId = null as string | null }) {
      const now = clock.now();
      // A producer whose clock is ahead cannot report the future.
      const times = [Math.min(occurredAt, now), now];
      const values = [ids.next('event'), userId, type, sourceId, computerId, ...times, JSON.stringify(data)];
      if ((yield* tx.run(insert, ...values)).changes === 0) return false;
      tx.afterCommit(() => store.wake.signal(eventsTopic));
      return true;
    },
    *forwarded(tx, computerId) {
      const sql = 'INSERT INTO event_source (computer_id, first_at) VALUES (?, ?) ON CONFLICT (computer_id) DO NOTHING';
      yield* tx.run(sql, computerId, clock.now());
    },
    *forwards(tx, computerId) {
      const sql = 'SELECT 1 AS found FROM event_source WHERE computer_id = ?';
      return (yield* tx.get(sql, computerId)) !== undefined;
    },
    follow(types, listener) {
      const sql = `SELECT id, user_id AS "userId", type, source_id AS "sourceId", stored_at AS at FROM user_event
        WHERE stored_at > ? AND type IN (${types.map(() => '?').join(', ')}) ORDER BY stored_at, seq`;
      return follow<FollowedEvent>({
        wake: store.wake,
        clock,
        timers,
        topic: eventsTopic,
        since: (at) => store.all<FollowedEvent>(sql, at, ...types),
        tell: listener,
        onFault: (fault) => deps.log?.warn('New events could not be looked for.', { fault: String(fault) }),
      });
    },
    onEmit: (listener) => store.wake.on(eventsTopic, listener),
    async forget(before) {
      const sql = `DELETE FROM user_event WHERE seq IN
        (SELECT seq FROM user_event WHERE stored_at < ? ORDER BY stored_at LIMIT ${portion})`;
      await removePortions(store, sql, before);
    },
  };
}
