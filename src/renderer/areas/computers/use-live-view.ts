/** Watches a screen while the caller is shown; null watches nothing. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { createLiveView, type LiveView, type LiveViewStore, noView } from './live-view-store.ts';
import { useHandsServices } from './use-hands-services.ts';

export interface Screen {
  /** `this-device`, or the id of a hosted computer. */
  readonly id: string;
  /** Absent: the desktop. */
  readonly session: string | undefined;
}

const nothing = { subscribe: () => () => {}, get: () => noView };

export function useLiveView(
  screen: Screen | null,
  round = 0,
): { readonly view: LiveView; readonly store: LiveViewStore | null } {
  const { api, slots } = useHandsServices();
  const [store, setStore] = useState<LiveViewStore | null>(null);
  const id = screen?.id;
  const session = screen?.session;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each round looks again
  useEffect(() => {
    if (id === undefined) return;
    const query = session === undefined ? {} : { browser_session_id: session };
    const made = createLiveView((handlers) => api.device.viewComputer({ params: { id }, query }, handlers), slots);
    setStore(made);
    return () => {
      made.close();
      setStore(null);
    };
  }, [api, slots, id, session, round]);
  const { subscribe, get } = store ?? nothing;
  return { view: useSyncExternalStore(subscribe, get), store };
}
