/**
 * Shares the host's one thread among emulators: each pane with unparsed bytes gets a slice a turn of the event loop, so that a
 * flooding pane delays a quiet one by slices, never by its backlog. It knows nothing of what is parsed.
 */

interface Feeder {
  /** Parses at most a slice; answers whether more waits. */
  feed(): boolean;
}

export interface Feed {
  wants(feeder: Feeder): void;
}

export function createFeed(): Feed {
  const waiting = new Set<Feeder>();
  let scheduled = false;
  function turn(): void {
    scheduled = false;
    for (const feeder of [...waiting]) if (!feeder.feed()) waiting.delete(feeder);
    schedule();
  }
  function schedule(): void {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    setImmediate(turn);
  }
  return {
    wants(feeder) {
      waiting.add(feeder);
      schedule();
    },
  };
}
