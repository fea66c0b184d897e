/** One yes, one use: decides which of several askers with the same question uses its answer. Must not know what they ask. */

export interface Turns {
  /** Begins to wait. `leave(true)` returns whether this caller may use the approval. */
  join(id: string): { leave(use: boolean): boolean };
}

export function createTurns(): Turns {
  const waiting = new Map<string, { calls: number; used: boolean }>();
  return {
    join(id) {
      const entry = waiting.get(id) ?? { calls: 0, used: false };
      entry.calls += 1;
      waiting.set(id, entry);
      return {
        leave(use) {
          entry.calls -= 1;
          if (entry.calls === 0) waiting.delete(id);
          const mine = use && !entry.used;
          entry.used ||= use;
          return mine;
        },
      };
    },
  };
}
