/** Hooks of the floor page: requests that nobody can answer, the bot named by the address, actions of teams. */
import { replaceEqualDeep } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { toast } from 'sonner';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { Action } from '../../base/actions.ts';

import { usePendingApprovals } from '../../base/approvals.ts';
import type { Floor, PlacedBot } from '../../base/data/places.ts';
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

/** So many panes open because their bots ask; more tabs nobody can tell apart, and the list names all that ask. */
const maxAsking = 16;

/** A bot that begins to need its person shows its pane, beside the others. */
export function useOpenAsking(agents: readonly PlacedBot[]): void {
  const { paneRequests } = useServices();
  const approvals = usePendingApprovals();
  const known = useRef<ReadonlySet<string>>(new Set());
  const opened = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const askers = new Set(approvals.map((one) => one.agentId));
    const asking = agents.filter((bot) => !bot.place.away && (askers.has(bot.id) || (isLive(bot) && needsPerson(bot))));
    const ids = new Set(asking.map(({ id }) => id));
    const open = new Set([...opened.current].filter((id) => ids.has(id)));
    for (const id of ids) {
      if (known.current.has(id)) continue;
      if (open.size >= maxAsking) break;
      open.add(id);
      if (paneRequests.waiting().some((request) => request.botId === id)) continue;
      paneRequests.add({ botId: id, paneId: null, originView: null, split: true, quiet: true });
    }
    known.current = ids;
    opened.current = open;
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
  const several = floors.length > 1;
  const offered = useSame(floors.filter(({ place }) => !place.away).flatMap(offeredOn));
  const actions = useMemo(
    () =>
      offered.map(
        ({ title, ...ask }): Action => ({
          id: `${ask.verb}-${ask.place.id}-${ask.team}`,
          title: `${ask.verb === 'up' ? 'Start' : 'Stop'} ${title}${several ? ` on ${ask.place.name}` : ''}`,
          group: 'Teams',
          run: () => setAsk(ask),
        }),
      ),
    [offered, several, setAsk],
  );
  useAddActions(actions);
}

function offeredOn({ place, teams, bots }: Floor): (TeamAsk & { readonly title: string })[] {
  const liveOf = new Map<string, number>();
  for (const bot of bots) if (isLive(bot)) liveOf.set(bot.team, (liveOf.get(bot.team) ?? 0) + 1);
  return teams.flatMap(({ name, title = name, agents }): ReturnType<typeof offeredOn> => {
    const live = liveOf.get(name) ?? 0;
    return [
      ...(live < agents.filter(isStartable).length ? [{ verb: 'up' as const, team: name, title, place }] : []),
      ...(live > 0 ? [{ verb: 'down' as const, team: name, title, place }] : []),
    ];
  });
}

/** The former value as long as the new one equals it: most states of bots change nothing in it. */
function useSame<T>(value: T): T {
  const same = useRef(value);
  same.current = replaceEqualDeep(same.current, value);
  return same.current;
}
