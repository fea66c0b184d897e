/** Runs one action at a time in each place. Must not know the actions. */

interface PlaceLanes {
  /** Runs `work` after all that was given before it for this place. Rejects with the signal's reason when it aborts first. */
  run<Result>(place: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

export function createPlaceLanes(): PlaceLanes {
  const last = new Map<string, Promise<void>>();
  return {
    async run(place, signal, work) {
      const before = last.get(place) ?? Promise.resolve();
      const { promise: over, resolve: end } = Promise.withResolvers<void>();
      const mine = before.then(() => over);
      last.set(place, mine);
      try {
        await before;
        signal.throwIfAborted();
        return await work();
      } finally {
        end();
        if (last.get(place) === mine) last.delete(place);
      }
    },
  };
}
