/** Puts the page together: services, router, root. The only file that makes anything shared. */
import './plain-schemas.ts';
import '@fontsource-variable/inter/index.css';
import '@fontsource-variable/jetbrains-mono/index.css';
import './styles.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createActionStore } from './app/actions.ts';
import { createPaneRequests } from './app/pane-requests.ts';
import { createAppRouter } from './app/router.tsx';
import { type Services, ServicesProvider } from './app/services.tsx';
import { createApi } from './data/api.ts';
import { createBrowserPush } from './data/browser-push.ts';
import { createConnections } from './data/connections.ts';
import { createDesktop } from './data/desktop.ts';
import { createLastKnown } from './data/last-known.ts';
import { createQueueEvents } from './data/queue-events.ts';
import { createSentTexts } from './data/sent-texts.ts';
import { createSettingsStore } from './data/settings.ts';
import { createStreamSlots, eventSlots, screenSlots } from './data/stream-slots.ts';
import { createToolCalls } from './data/tool-calls.ts';
import { NowProvider } from './ui/now.tsx';

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The event stream says when something changed; nothing grows old by itself, and lists count down their own retry.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: false,
    },
  },
});

const followed = {
  api: createApi(),
  client: queryClient,
  slots: createStreamSlots(navigator.locks, eventSlots),
};
const connections = createConnections(followed);
const services: Services = {
  ...connections.on(null),
  connections,
  queueEvents: createQueueEvents(followed),
  toolCalls: createToolCalls(),
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
  paneRequests: createPaneRequests(),
  actions: createActionStore(),
};
services.events.start();

// Gantry was updated under an open page: parts that it has not loaded yet are gone under their old names. At most once a minute,
// so that a part that is really missing shows its error instead of loading for ever.
window.addEventListener('vite:preloadError', (event) => {
  const last = Number(sessionStorage.getItem('gantry.reloaded'));
  if (Date.now() - last < 60_000) return;
  event.preventDefault();
  sessionStorage.setItem('gantry.reloaded', String(Date.now()));
  window.location.reload();
});

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element "root".');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <ServicesProvider value={services}>
        <NowProvider>
          <RouterProvider router={createAppRouter()} />
        </NowProvider>
      </ServicesProvider>
    </QueryClientProvider>
  </StrictMode>,
);
