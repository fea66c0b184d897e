/** Says at once when a bot begins to need a person: in a toast with the way to it, and in the window's title. */
import { useQuery } from '@tanstack/react-query';
import { Hand } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { toast } from 'sonner';
import type { Agent } from '../../contracts/factory/agent.ts';
import { useServices } from './services.tsx';
import { dispatchWindowEvent } from './window-events.ts';

export const needsPerson = (agent: Agent): boolean => agent.state === 'needs_you' || agent.state === 'blocked';

export function AnnounceNeeds() {
  const { queries } = useServices();
  const agents = useQuery(queries.agents).data?.agents;
  /** What each bot was told to need; null before the first list, which is no news. */
  const told = useRef<Map<string, string> | null>(null);
  useEffect(() => {
    if (agents === undefined) return;
    const before = told.current;
    // The reason comes a moment after the state: until then there is nothing to say.
    const now = agents.filter((agent) => needsPerson(agent) && agent.stateReason !== null);
    told.current = new Map(now.map((agent) => [agent.id, agent.stateReason ?? '']));
    const count = agents.filter(needsPerson).length;
    document.title = count === 0 ? 'Gantry' : `(${count}) Gantry`;
    if (before === null) return;
    for (const agent of now) {
      if (before.get(agent.id) === agent.stateReason) continue;
      toast(`${agent.address} ${agent.state === 'blocked' ? 'is blocked' : 'needs you'}`, {
        id: `need ${agent.id}`,
        description: agent.stateReason,
        icon: <Hand className="size-4 text-need" aria-hidden="true" />,
        action: {
          label: 'Open its pane',
          onClick: () =>
            dispatchWindowEvent('platform:factory-attach-pane', {
              paneId: agent.pane?.id ?? agent.id,
              botId: agent.id,
              originView: 'floor',
            }),
        },
      });
    }
  }, [agents]);
  return null;
}
