/** What a person did and can take back, newest last. Must not know what was done, nor how it is shown. */

/** Older ones are forgotten: nobody remembers what they would take back. */
const maxKept = 20;
export interface Done {
  readonly id: string;
  /** What was done, as its toast says it: “Schedule removed”. */
  readonly words: string;
  /** May fail: what was done then stays done, and can be taken back later. */
  back(): Promise<unknown>;
}

export interface UndoStore {
  add(done: Done): void;
  /** Takes it back once, however often it is asked for at the same time; false: nothing was done. Throws what its way back throws. */
  takeBack(id: string): Promise<boolean>;
  last(): Done | null;
  subscribe(listener: () => void): () => void;
}

export function createUndoStore(): UndoStore {
  const listeners = new Set<() => void>();
  let kept: readonly Done[] = [];
  function change(next: readonly Done[]): void {
    kept = next.slice(-maxKept);
    for (const listener of listeners) listener();
  }
  return {
    add: (done) => change([...kept, done]),
    async takeBack(id) {
      const done = kept.find((one) => one.id === id);
      if (done === undefined) return false;
      change(kept.filter((one) => one !== done));
      try {
        await done.back();
        return true;
      } catch (error) {
        change([...kept, done]);
        throw error;
      }
    },
    last: () => kept.at(-1) ?? null,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
