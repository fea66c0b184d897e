/** One run with its events, read again whenever an event reports a change. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { ComputerUseClient } from '../../../client/computer-use.ts';
import type { RunEvent } from '../../../contracts/computer-use/run.ts';
import { useHandsServices } from './use-hands-services.ts';

const none: readonly RunEvent[] = [];
const nothing = { subscribe: () => () => {}, get: () => none };

export function useRun(id: string) {
  const { api, keys, queries } = useHandsServices();
  const client = useQueryClient();
  const [store, setStore] = useState<RunEvents | null>(null);
  useEffect(() => {
    const made = followRun(api.computerUse, id, () => {
      void client.invalidateQueries({ queryKey: keys.run(id) });
      void client.invalidateQueries({ queryKey: keys.runs });
    });
    setStore(made);
    return () => {
      made.close();
      setStore(null);
    };
  }, [api, client, keys, id]);
  const { subscribe, get } = store ?? nothing;
  return { run: useQuery(queries.run(id)), events: useSyncExternalStore(subscribe, get) };
}

/** The events of one run, past and live. Must not know what any of them means. */
interface RunEvents {
  get(): readonly RunEvent[];
  subscribe(listener: () => void): () => void;
  close(): void;
}

/** A run begins with many at once: they are shown together. Milliseconds. */
const gatherMs = 50;

/** `changed`: the run is another one than it was. */
function followRun(client: ComputerUseClient, runId: string, changed: () => void): RunEvents {
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
