/**
 * How long tasks are kept once they have ended (docs/decisions.md, "Work queue"). What waits or is held stays however old it is, and so
 * do sessions and deployments, so that a task's link leads somewhere. Must not know leases.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { moves, statusIn } from './model.ts';

export interface RetentionDeps {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly timers: Timers;
  readonly onFault: (error: unknown) => void;
}

export interface Retention {
  /** Soon after, and then once an hour. Replicas may do it at the same time. */
  start(): void;
  close(): void;
}

export const keptMs = 30 * 24 * 3600 * 1000;
const firstMs = 60_000;
const everyMs = 3600 * 1000;
/** Few enough that nobody waits long for a write of theirs behind it. */
const portion = 200;

const nextOwner = 'SELECT user_id FROM work_task WHERE user_id > ? ORDER BY user_id LIMIT 1';
const over = statusIn([moves.ack.to, moves.fail.to, moves.cancel.to]);
/**
 * By the index of what changed: the oldest of each person, so that what is still kept is not looked at. Asked twice whether it has
 * ended: somebody may just be trying it again.
 */
const remove = `DELETE FROM work_task WHERE ${over} AND id IN (SELECT id FROM work_task WHERE user_id = ? AND updated_at < ?
  AND ${over} ORDER BY updated_at LIMIT ${portion})`;

export function createRetention({ store, now, timers, onFault }: RetentionDeps): Retention {
  let closed = false;
  let cancel = () => {};

  async function prune(): Promise<void> {
    const before = now() - keptMs;
    let userId = '';
    while (!closed) {
      const next = await store.get<{ user_id: string }>(nextOwner, userId);
      if (next === undefined) return;
      userId = next.user_id;
      while (!closed && (await removeSome(userId, before)) === portion);
    }
  }

  async function removeSome(userId: string, before: number): Promise<number> {
    const { changes } = await store.write((tx) => tx.run(remove, userId, before), { isolation: 'statement' });
    return changes;
  }

  function later(ms: number): void {
    if (closed) return;
    cancel = timers.after(ms, () => {
      prune()
        .catch(onFault)
        .finally(() => later(everyMs));
    });
  }

  return {
    start: () => later(firstMs),
    close() {
      closed = true;
      cancel();
    },
  };
}
