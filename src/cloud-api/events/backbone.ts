/**
 * The event backbone of the cloud: what happened to a user is a row, written in the transaction of its cause and kept once by
 * `(user, type, source id)` (store.md 7.3). Wakes readers of this process; whoever misses that finds it by polling.
 * Must not know who reads.
 */
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Store, Tx } from '../../kit/store/store.ts';

export interface NewEvent<T extends NotifiableEvent = NotifiableEvent> {
  readonly userId: string;
  readonly type: T;
  /** Names what happened: a second event of this user and type with the same one is not kept. */
  readonly sourceId: string;
  /** At its producer, milliseconds since the epoch. */
  readonly occurredAt: number;
  readonly data: EventData<T>;
  /** The computer that forwarded it. */
  readonly computerId?: string;
}

export interface EventBackbone {
  /** False: it was known. */
  emit<T extends NotifiableEvent>(tx: Tx, event: NewEvent<T>): boolean;
  /** Notes that this computer forwards events. */
  forwarded(tx: Tx, computerId: string): void;
  /** Whether this computer has ever forwarded an event. */
  forwards(tx: Pick<Tx, 'get'>, computerId: string): boolean;
  /** Called once events are durable. Returns the way to stop. */
  onEmit(listener: () => void): () => void;
  /** Removes what was stored before. */
  forget(before: number): Promise<void>;
}

export function createEventBackbone(deps: { store: Store; clock: Clock; ids: Ids }): EventBackbone {
  const { store, clock, ids } = deps;
  const listeners = new Set<() => void>();
  const insert = `INSERT INTO user_event (id, user_id, type, source_id, computer_id, occurred_at, stored_at, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, type, source_id) DO NOTHING`;

  return {
    emit(tx, { userId, type, sourceId, occurredAt, data, computerId = null as string | null }) {
      const now = clock.now();
      // A producer whose clock is ahead has nothing to tell us of the future.
      const times = [Math.min(occurredAt, now), now];
      const values = [ids.next('event'), userId, type, sourceId, computerId, ...times, JSON.stringify(data)];
      if (tx.run(insert, ...values).changes === 0) return false;
      tx.afterCommit(() => {
        for (const listener of [...listeners]) listener();
      });
      return true;
    },
    forwarded(tx, computerId) {
      const sql = 'INSERT INTO event_source (computer_id, first_at) VALUES (?, ?) ON CONFLICT (computer_id) DO NOTHING';
      tx.run(sql, computerId, clock.now());
    },
    forwards: (tx, computerId) => tx.get('SELECT 1 FROM event_source WHERE computer_id = ?', computerId) !== undefined,
    onEmit(listener) {
      const entry = () => listener();
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    forget: (before) =>
      store.write((tx) => {
        tx.run('DELETE FROM user_event WHERE stored_at < ?', before);
      }),
  };
}
