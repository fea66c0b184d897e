/**
 * What the page is made of, made once in page.tsx and handed down: no part reaches for a global. What belongs to a computer
 * (`api.factory`, `queries`, `keys`, `events`) is that of the computer that is looked at, which `OnComputer` changes for a part
 * of the page.
 */
import { createContext, type ReactNode, use, useEffect, useMemo, useSyncExternalStore } from 'react';
import type { Action, ActionStore } from './actions.ts';
import type { BrowserPush } from './data/browser-push.ts';
import type { Connection, Connections } from './data/connections.ts';
import type { Desktop } from './data/desktop.ts';
import type { Drafts } from './data/drafts.ts';
import type { EarlyEvents } from './data/early-events.ts';
import type { FeedEntry, LinkState } from './data/events.ts';
import type { LastKnown } from './data/last-known.ts';
import type { Once } from './data/once.ts';
import type { SentTexts } from './data/sent-texts.ts';
import type { Settings, SettingsStore } from './data/settings.ts';
import type { StreamSlots } from './data/stream-slots.ts';
import type { PaneRequests } from './pane-requests.ts';
import type { UndoStore } from './undo-store.ts';

export interface Services extends Connection {
  readonly connections: Connections;
  readonly once: Once;
  readonly lastKnown: LastKnown;
  readonly browserPush: BrowserPush;
  /** Null in a browser. */
  readonly desktop: Desktop | null;
  readonly settings: SettingsStore;
  readonly slots: StreamSlots;
  readonly sentTexts: SentTexts;
  readonly drafts: Drafts;
  readonly paneRequests: PaneRequests;
  /** Window events from before the page listened. */
  readonly earlyEvents: EarlyEvents;
  readonly actions: ActionStore;
  readonly undo: UndoStore;
}

const ServicesContext = createContext<Services | null>(null);
export const ServicesProvider = ServicesContext;

export function useServices(): Services {
  const services = use(ServicesContext);
  if (services === null) throw new Error('Services are missing: the page was not put together by page.tsx.');
  return services;
}

/** Everything inside reads from and writes to this computer; null: the one that answers when none is named. */
export function OnComputer({ computer, children }: { computer: string | null; children: ReactNode }) {
  const outer = useServices();
  const { connections } = outer;
  const services = useMemo(() => ({ ...outer, ...connections.on(computer) }), [outer, connections, computer]);
  return <ServicesContext value={outer.computer === computer ? outer : services}>{children}</ServicesContext>;
}

export function useSettings(): Settings {
  const { settings } = useServices();
  return useSyncExternalStore(settings.subscribe, settings.get);
}

/** The link of this page to Gantry, whichever computer is looked at. */
export function useLink(): LinkState {
  const { events } = useServices().connections.on(null);
  return useSyncExternalStore(events.subscribe, events.link);
}

export function useFeed(): readonly FeedEntry[] {
  const { events } = useServices();
  return useSyncExternalStore(events.subscribe, events.feed);
}

/** Adds actions while the calling view is shown. Give a memoised list. */
export function useAddActions(actions: readonly Action[]): void {
  const { actions: store } = useServices();
  useEffect(() => store.add(actions), [store, actions]);
}

export function useAllActions(): readonly Action[] {
  const { actions } = useServices();
  return useSyncExternalStore(actions.subscribe, actions.all);
}
