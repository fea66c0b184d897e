/** Handles everything that steers the page from outside: the desktop program, the app's window events, the page's service worker. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { z } from 'zod';
import { useServices } from '../base/services.tsx';
import { dispatchWindowEvent, hearWindowEvents } from '../base/window-events.ts';

/** A click on a notification or a menu, a link. Window events go out through the one helper. */
export function ObeyDesktop() {
  const { desktop } = useServices();
  const navigate = useNavigate();
  useEffect(
    () =>
      desktop?.follow((to) => {
        if (to.kind === 'go') void navigate({ href: to.path });
        else dispatchWindowEvent(to.name, to.detail);
      }),
    [desktop, navigate],
  );
  return null;
}

/** The one place that obeys the app's window events. */
export function ObeyWindowEvents() {
  const { paneRequests, earlyEvents } = useServices();
  const navigate = useNavigate();
  useEffect(() => {
    const stop = hearWindowEvents(window, {
      'platform:switch-mode': () => void navigate({ to: '/floor' }),
      'platform:factory-attach-pane': ({ paneId, botId, originView }) => {
        paneRequests.add({ botId, paneId, originView, typing: true });
        void navigate({ to: '/floor', search: (old) => ({ ...old, bot: botId }) });
      },
      'platform:factory-open-node': ({ dagId, nodeId }) => {
        void navigate({ to: '/work', search: { dag: dagId, node: nodeId, view: 'graph' } });
      },
    });
    earlyEvents.release();
    return stop;
  }, [navigate, paneRequests, earlyEvents]);
  return null;
}

const Message = z.union([
  z.object({ type: z.literal('pushed') }),
  z.object({ type: z.literal('open'), url: z.string().regex(/^\/(?!\/)/) }),
]);

/** A click on a notification leads here, and a push means that something is new. */
export function ObeyWorker() {
  const { keys } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  useEffect(() => {
    if (!('serviceWorker' in navigator)) return;
    const worker = navigator.serviceWorker;
    const listener = (event: MessageEvent): void => {
      const message = Message.safeParse(event.data).data;
      if (message === undefined) return;
      void client.invalidateQueries({ queryKey: keys.notifications });
      void client.invalidateQueries({ queryKey: keys.approvals });
      if (message.type === 'open') void navigate({ href: message.url });
    };
    worker.addEventListener('message', listener);
    return () => worker.removeEventListener('message', listener);
  }, [client, keys, navigate]);
  return null;
}
