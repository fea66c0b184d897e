/** Puts the page together: services and router. The only file that makes anything shared. */
import './plain-schemas.ts';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useState } from 'react';
import { createAppRouter } from './app/router.tsx';
import { createActionStore } from './base/actions.ts';
import { createApi } from './base/data/api.ts';
import { createBrowserPush } from './base/data/browser-push.ts';
import { createConnections } from './base/data/connections.ts';
import { createDesktop } from './base/data/desktop.ts';
import { createDrafts } from './base/data/drafts.ts';
import type { EarlyEvents } from './base/data/early-events.ts';
import { createLastKnown } from './base/data/last-known.ts';
import { needComputer } from './base/data/need-computer.ts';
import { createOnce } from './base/data/once.ts';
import { personQueriesOf } from './base/data/person-queries.ts';
import { createSentTexts } from './base/data/sent-texts.ts';
import { createSettingsStore } from './base/data/settings.ts';
import { createStreamSlots, eventSlots, screenSlots } from './base/data/stream-slots.ts';
import { createPaneRequests } from './base/pane-requests.ts';
import { type Services, ServicesProvider } from './base/services.tsx';
import { createUndoStore } from './base/undo-store.ts';
import { NowProvider } from './ui/now.tsx';

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The event stream says when something changed, so nothing goes stale; lists count down their own retry.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: false,
    },
  },
});

const api = createApi(() => needComputer(queryClient, personQueriesOf(api)));
const followed = {
  api,
  client: queryClient,
  slots: createStreamSlots(navigator.locks, eventSlots),
};
const connections = createConnections(followed);
const services: Omit<Services, 'earlyEvents'> = {
  ...connections.on(null),
  connections,
  once: createOnce(followed),
  lastKnown: createLastKnown(localStorage),
  browserPush: createBrowserPush(connections.on(null).api, {
    secure: window.isSecureContext,
    worker: 'serviceWorker' in navigator ? navigator.serviceWorker : undefined,
    notification: 'Notification' in window ? Notification : undefined,
    storage: localStorage,
    userAgent: navigator.userAgent,
  }),
  desktop: window.desktop === undefined ? null : createDesktop(window.desktop),
  settings: createSettingsStore(localStorage),
  slots: createStreamSlots(navigator.locks, screenSlots),
  sentTexts: createSentTexts(sessionStorage),
  drafts: createDrafts(sessionStorage),
  paneRequests: createPaneRequests(),
  actions: createActionStore(),
  undo: createUndoStore(),
};
services.events.start();
// Also of a page that is put away for good without being closed, as on a phone.
window.addEventListener('pagehide', () => services.lastKnown.save());
const router = createAppRouter();

export function Page({ earlyEvents }: { earlyEvents: EarlyEvents }) {
  const [all] = useState<Services>(() => ({ ...services, earlyEvents }));
  return (
    <QueryClientProvider client={queryClient}>
      <ServicesProvider value={all}>
        <NowProvider>
          <RouterProvider router={router} />
        </NowProvider>
      </ServicesProvider>
    </QueryClientProvider>
  );
}
