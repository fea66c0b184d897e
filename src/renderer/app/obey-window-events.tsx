/** The one place that obeys the app's window events. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { toast } from 'sonner';
import { useServices } from './services.tsx';
import { hearWindowEvents } from './window-events.ts';

export function ObeyWindowEvents() {
  const { paneRequests, queries } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  useEffect(
    () =>
      hearWindowEvents(window, {
        'platform:switch-mode': () => void navigate({ to: '/floor' }),
        'platform:factory-attach-pane': ({ paneId, botId, originView }) => {
          paneRequests.add({ botId, paneId, originView });
          void navigate({ to: '/floor', search: (old) => ({ ...old, bot: botId }) });
        },
        'platform:factory-open-node': async ({ dagId, nodeId }) => {
          // Until runs have a page of their own, a node is where the bot is that works on it.
          const list = await client.ensureQueryData(queries.agents).catch(() => null);
          const bot = list?.agents.find(
            (agent) => agent.currentNode?.dagId === dagId && agent.currentNode.nodeId === nodeId,
          );
          if (bot === undefined) toast(`No bot works on node ${nodeId} of run ${dagId} now.`);
          else {
            paneRequests.add({ botId: bot.id, paneId: bot.pane?.id ?? null, originView: null });
            void navigate({ to: '/floor', search: (old) => ({ ...old, bot: bot.id }) });
          }
        },
      }),
    [client, navigate, paneRequests, queries],
  );
  return null;
}
