/**
 * Stores the changes of a run before reporting them: each change is one transaction with its events, and followers of the run hear of more events
 * once they are durable. Nothing is passed on from memory, so a follower misses nothing. Must not know readers.
 */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Store, Tx } from '../../../kit/store/store.ts';
import { appendEvent, type NewEvent } from './records.ts';

export interface RunTx {
  readonly tx: Tx;
  /** Milliseconds since the epoch: the time of every event of this change. */
  readonly at: number;
  event(event: NewEvent): void;
}

export interface Journal {
  /** Resolves once it is durable; what throws keeps nothing. */
  write<T>(runId: string, operation: (run: RunTx) => T): Promise<T>;
  /** Runs after each change of a run that had events. Returns the function that unsubscribes. */
  listen(runId: string, listener: () => void): () => void;
}

export function createJournal({ store, clock }: { readonly store: Store; readonly clock: Clock }): Journal {
  const listeners = new Map<string, Set<() => void>>();

  return {
    write(runId, operation) {
      return store.write((tx) => {
        const at = clock.now();
        let told = false;
        const done = operation({
          tx,
          at,
          event(event) {
            told = true;
            appendEvent(tx, runId, at, event);
          },
        });
        if (told) {
          tx.afterCommit(() => {
            for (const listener of [...(listeners.get(runId) ?? [])]) listener();
          });
        }
        return done;
      });
    },
    listen(runId, listener) {
      const own = listeners.get(runId) ?? new Set();
      listeners.set(runId, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0 && listeners.get(runId) === own) listeners.delete(runId);
      };
    },
  };
}
