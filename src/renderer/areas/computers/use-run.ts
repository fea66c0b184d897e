/** One run with its events, read again whenever an event reports a change. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { RunEvent } from '../../../contracts/computer-use/run.ts';
import { followRun, type RunEvents } from './run-events.ts';
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
