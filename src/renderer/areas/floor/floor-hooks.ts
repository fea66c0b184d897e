/** Hooks of the floor page: requests that nobody can answer, the bot named by the address, actions of teams. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { toast } from 'sonner';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { Action } from '../../base/actions.ts';

import { usePendingApprovals } from '../../base/approvals.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { useFloors } from '../../base/floors.tsx';
import { isLive, isStartable } from '../../base/is-live.ts';
import { needsPerson } from '../../base/needs-person.ts';
import { useAddActions, useServices } from '../../base/services.tsx';
import type { TeamAsk } from './team-dialog.tsx';

/** Says when a pane was asked for that is not here; before the bots have loaded nobody can know. */
export function useUnknownRequests(agents: readonly Agent[] | undefined): void {
  const { paneRequests } = useServices();
  const waiting = useSyncExternalStore(paneRequests.subscribe, paneRequests.waiting);
  useEffect(() => {
    if (agents === undefined) return;
    for (const request of waiting) {
      if (agents.some((agent) => agent.id === request.botId || agent.pane?.id === request.paneId)) continue;
      paneRequests.done(request);
      toast(`Bot ${request.botId} was not found.`);
    }
  }, [agents, waiting, paneRequests]);
}

/** A bot that begins to need its person shows its pane, beside the others. */
export function useOpenAsking(agents: readonly PlacedBot[]): void {
  const { paneRequests } = useServices();
  const approvals = usePendingApprovals();
  const known = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const askers = new Set(approvals.map((one) => one.agentId));
    const asking = agents.filter((bot) => !bot.place.away && (askers.has(bot.id) || (isLive(bot) && needsPerson(bot))));
    for (const { id } of asking) {
      if (known.current.has(id)) continue;
      if (paneRequests.waiting().some((request) => request.botId === id)) continue;
      paneRequests.add({ botId: id, paneId: null, originView: null, split: true, quiet: true });
    }
    known.current = new Set(asking.map((bot) => bot.id));
  }, [agents, approvals, paneRequests]);
}

/** A bot named in the address shows its pane, also when the page was opened there. */
export function useBotOfAddress(agents: readonly Agent[], focused: string | null): void {
  const { paneRequests } = useServices();
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (focused === null || shown.current === focused) return;
    if (!agents.some((agent) => agent.id === focused)) return;
    shown.current = focused;
    if (!paneRequests.waiting().some((request) => request.botId === focused)) {
      paneRequests.add({ botId: focused, paneId: null, originView: null });
    }
  }, [agents, focused, paneRequests]);
}

/** Starting and stopping teams from the palette; only what would change something is offered. */
export function useTeamActions(setAsk: (ask: TeamAsk) => void): void {
  const floors = useFloors();
  const actions = useMemo<readonly Action[]>(
    () =>
      floors
        .filter(({ place }) => !place.away)
        .flatMap(({ place, teams, bots }) =>
          teams.flatMap((team): Action[] => {
            const live = bots.filter((bot) => bot.team === team.name && isLive(bot)).length;
            const verb = (name: 'up' | 'down', title: string): Action => ({
              id: `${name}-${place.id}-${team.name}`,
              title: `${title} ${team.name}${floors.length > 1 ? ` on ${place.name}` : ''}`,
              group: 'Teams',
              run: () => setAsk({ verb: name, team: team.name, place }),
            });
            return [
              ...(live < team.agents.filter(isStartable).length ? [verb('up', 'Start')] : []),
              ...(live > 0 ? [verb('down', 'Stop')] : []),
            ];
          }),
        ),
    [floors, setAsk],
  );
  useAddActions(actions);
}
