/** Handles messages of the page's service worker: a click on a notification opens its page, and a push means that something is new. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { z } from 'zod';
import { useServices } from '../base/services.tsx';

const Message = z.union([
  z.object({ type: z.literal('pushed') }),
  z.object({ type: z.literal('open'), url: z.string().regex(/^\/(?!\/)/) }),
]);

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
