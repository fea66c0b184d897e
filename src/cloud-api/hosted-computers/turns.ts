/**
 * One operation at a time for each computer, over every process that shares the database: starting, stopping, sleeping and waking of one computer
 * must not overlap. A process that died with a turn loses it after {@link heldMs}. Must not know what is done.
 */
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { starting } from './model.ts';

export interface Turns {
  /** Waits for its turn. Throws 503 `computer_starting` when it does not come in time. */
  take<T>(computerId: string, work: () => Promise<T>): Promise<T>;
  /** Null: somebody else has the turn now. */
  tryTake<T>(computerId: string, work: () => Promise<T>): Promise<T | null>;
  /** For the only process: a turn left by an earlier one is free. */
  begin(): Promise<void>;
}

/** Longer than a driver may take to make and start one. A turn that is to last much longer was taken while a clock was wrong, and is free. */
const heldMs = 90_000;
const lookMs = 250;

export function createTurns({
  store,
  now,
  ids,
}: {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly ids: { next(prefix: string): string };
}): Turns {
  const lines = new Map<string, Promise<unknown>>();
  const topicOf = (id: string) => `hosted turn:${id}`;

  async function claim(id: string, holder: string): Promise<boolean> {
    const at = now();
    const sql = `UPDATE hosted_computer SET lock_id = ?, lock_until = ?
      WHERE id = ? AND (lock_until IS NULL OR lock_until <= ? OR lock_until > ?)`;
    const values = [holder, at + heldMs, id, at, at + 2 * heldMs];
    const { changes } = await store.write((tx) => tx.run(sql, ...values), { isolation: 'statement' });
    return changes === 1;
  }

  async function release(id: string, holder: string): Promise<void> {
    const sql = 'UPDATE hosted_computer SET lock_id = NULL, lock_until = NULL WHERE id = ? AND lock_id = ?';
    await store.write(function* (tx) {
      yield* tx.run(sql, id, holder);
      tx.afterCommit(() => store.wake.signal(topicOf(id)));
    });
  }

  async function held<T>(id: string, holder: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await release(id, holder);
    }
  }

  async function whenFree<T>(id: string, work: () => Promise<T>): Promise<T> {
    const holder = ids.next('turn');
    for (let waited = 0; !(await claim(id, holder)); waited += lookMs) {
      const there = await store.get('SELECT 1 AS one FROM hosted_computer WHERE id = ?', id);
      if (there === undefined || waited >= heldMs) throw starting(id);
      await store.wake.wait(topicOf(id), lookMs);
    }
    return held(id, holder, work);
  }

  return {
    take(id, work) {
      const before = lines.get(id) ?? Promise.resolve();
      const mine = before.then(
        () => whenFree(id, work),
        () => whenFree(id, work),
      );
      const line = mine
        .catch(() => {})
        .finally(() => {
          if (lines.get(id) === line) lines.delete(id);
        });
      lines.set(id, line);
      return mine;
    },
    async tryTake(id, work) {
      if (lines.has(id)) return null;
      const holder = ids.next('turn');
      return (await claim(id, holder)) ? held(id, holder, work) : null;
    },
    async begin() {
      if (store.engine !== 'sqlite') return;
      const sql = 'UPDATE hosted_computer SET lock_id = NULL, lock_until = NULL WHERE lock_id IS NOT NULL';
      await store.write((tx) => tx.run(sql));
    },
  };
}
