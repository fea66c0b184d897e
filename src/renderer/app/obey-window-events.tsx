/** The only place that handles the app's window events. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useServices } from '../base/services.tsx';
import { hearWindowEvents } from '../base/window-events.ts';

export function ObeyWindowEvents() {
  const { paneRequests, earlyEvents } = useServices();
  const navigate = useNavigate();
  useEffect(() => {
    const stop = hearWindowEvents(window, {
      'platform:switch-mode': () => void navigate({ to: '/floor' }),
      'platform:factory-attach-pane': ({ paneId, botId, originView }) => {
        paneRequests.add({ botId, paneId, originView });
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
