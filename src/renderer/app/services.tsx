/** What the page is made of, made once in main.tsx and handed down: no part reaches for a global. */
import { createContext, use, useSyncExternalStore } from 'react';
import type { Api } from '../data/api.ts';
import type { Events, FeedEntry, LinkState } from '../data/events.ts';
import type { Queries } from '../data/queries.ts';
import type { SentTexts } from '../data/sent-texts.ts';
import type { Settings, SettingsStore } from '../data/settings.ts';
import type { StreamSlots } from '../data/stream-slots.ts';
import type { ActionStore } from './actions.ts';
import type { PaneRequests } from './pane-requests.ts';

export interface Services {
  readonly api: Api;
  readonly queries: Queries;
  readonly events: Events;
  readonly settings: SettingsStore;
  readonly slots: StreamSlots;
  readonly sentTexts: SentTexts;
  readonly paneRequests: PaneRequests;
  readonly actions: ActionStore;
}

const ServicesContext = createContext<Services | null>(null);
export const ServicesProvider = ServicesContext;

export function useServices(): Services {
  const services = use(ServicesContext);
  if (services === null) throw new Error('Services are missing: the page was not put together by main.tsx.');
  return services;
}

export function useSettings(): Settings {
  const { settings } = useServices();
  return useSyncExternalStore(settings.subscribe, settings.get);
}

export function useLink(): LinkState {
  const { events } = useServices();
  return useSyncExternalStore(events.subscribe, events.link);
}

export function useFeed(): readonly FeedEntry[] {
  const { events } = useServices();
  return useSyncExternalStore(events.subscribe, events.feed);
}
