/**
 * The newest changes of computers, numbered, for clouds that were away for a moment. Kept in memory: a helper that starts again says that its caller
 * missed some, and the caller compares with the list. Must not know sockets.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Cursor, HostChange, HostChanges } from './protocol.ts';

interface Journal {
  add(change: Pick<HostChange, 'computer' | 'state' | 'why'>): void;
  since(cursor: Cursor | null): HostChanges;
  onChange(listener: (change: HostChange) => void): () => void;
}

/** A day of a busy machine; a few hundred kilobytes. */
const kept = 2000;

export function createJournal(clock: Pick<Clock, 'now'>): Journal {
  const run = randomBytes(8).toString('hex');
  const listeners = new Set<(change: HostChange) => void>();
  const changes: HostChange[] = [];
  let number = 0;
  return {
    add({ computer, state, why }) {
      number += 1;
      const change = { number, computer, state, why, at: clock.now() };
      changes.push(change);
      if (changes.length > kept) changes.shift();
      for (const listener of listeners) listener(change);
    },
    since(cursor) {
      if (cursor === null) return { run, number, missed: false, changes: [] };
      const missed = cursor.run !== run || cursor.number > number || cursor.number < number - changes.length;
      return { run, number, missed, changes: missed ? [] : changes.filter((one) => one.number > cursor.number) };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
