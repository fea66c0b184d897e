/** The events of one run, past and live. Must not know what any of them means. */
import type { ComputerUseClient } from '../../../client/computer-use.ts';
import type { RunEvent } from '../../../contracts/computer-use/run.ts';

export interface RunEvents {
  get(): readonly RunEvent[];
  subscribe(listener: () => void): () => void;
  close(): void;
}

/** A run begins with many at once: they are shown together. Milliseconds. */
const gatherMs = 50;

/** `changed`: the run is another one than it was. */
export function followRun(client: ComputerUseClient, runId: string, changed: () => void): RunEvents {
  const listeners = new Set<() => void>();
  let events: readonly RunEvent[] = [];
  let fresh: RunEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function show(): void {
    timer = undefined;
    events = [...events, ...fresh];
    fresh = [];
    for (const listener of listeners) listener();
    changed();
  }

  const stream = client.subscribeToRun(runId, (event) => {
    fresh.push(event);
    timer ??= setTimeout(show, gatherMs);
  });
  return {
    get: () => events,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      clearTimeout(timer);
      stream.close();
    },
  };
}
