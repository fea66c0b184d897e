/** Opens a bot's pane from anywhere through a window event, so that all callers use the same code. */

import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { Agent } from '../../../contracts/factory/agent.ts';
import { useServices } from '../../base/services.tsx';
import { dispatchWindowEvent } from '../../base/window-events.ts';

export function useOpenBot(originView: string): (agent: Agent) => void {
  const { paneRequests } = useServices();
  const navigate = useNavigate();
  return useCallback(
    (agent) => {
      if (agent.pane !== null) {
        dispatchWindowEvent('platform:factory-attach-pane', { paneId: agent.pane.id, botId: agent.id, originView });
      } else {
        paneRequests.add({ botId: agent.id, paneId: null, originView });
        void navigate({ to: '/floor', search: (old) => ({ ...old, bot: agent.id, file: undefined }) });
      }
    },
    [navigate, originView, paneRequests],
  );
}
