/**
 * Turns events of the factory stream into changes of the query cache. Events are parsed by the contract; unknown types are ignored, because a
 * newer engine may send them. Must not know the connection.
 */
import type { QueryClient } from '@tanstack/react-query';
import type { z } from 'zod';
import { type Approval, byOwnClock } from '../../../contracts/approvals/approval.ts';
import type { listApprovals } from '../../../contracts/approvals/routes.ts';
import type { Agent, Team } from '../../../contracts/factory/agent.ts';
import type { Delivery } from '../../../contracts/factory/delivery.ts';
import {
  EventEnvelope,
  type FactoryEventData,
  type FactoryEventType,
  factoryEvents,
} from '../../../contracts/factory/events.ts';
import type { listAgents, listDeliveries, listTeams } from '../../../contracts/factory/routes.ts';
import type { Keys } from './keys.ts';

type AgentsAnswer = z.output<(typeof listAgents)['answers'][200]>;
type TeamsAnswer = z.output<(typeof listTeams)['answers'][200]>;
type ApprovalsAnswer = z.output<(typeof listApprovals)['answers'][200]>;
type DeliveriesAnswer = z.output<(typeof listDeliveries)['answers'][200]>;

export type KnownEvent = {
  readonly [T in FactoryEventType]: { readonly type: T; readonly at: string; readonly data: FactoryEventData<T> };
}[FactoryEventType];

export function parseFactoryEvent(value: unknown): KnownEvent | null {
  const envelope = EventEnvelope.safeParse(value);
  if (!envelope.success) return null;
  const { type, at } = envelope.data;
  if (!(type in factoryEvents)) return null;
  const data = factoryEvents[type as keyof typeof factoryEvents].safeParse(envelope.data.data);
  return data.success ? ({ type, at, data: data.data } as KnownEvent) : null;
}

/** How long changes are gathered before the lists are read again, in ms: a team going up is many events. */
const gatherFor = 150;
/** More teams than these are read with all the others, in one list. */
const maxTeamsRead = 3;
/** While they keep coming: what an event itself says is shown at once, and a list of hundreds is much to read. */
const gatherMore = 600;

interface EventCache {
  /** In the order in which they came. Each list changes once, however many of them change it. */
  apply(...events: readonly KnownEvent[]): void;
  /** Everything may have changed: after a reconnect without replay, or a reset. */
  voidAll(): void;
}

export function createEventCache(
  client: QueryClient,
  keys: Keys,
  /** The bots of one team: of hundreds, those that an event changed. */
  readTeam: (team: string) => Promise<AgentsAnswer>,
): EventCache {
  let waiting = false;
  const stale = new Map<string, readonly unknown[]>();
  /** What is being read now; a change in the meantime leaves it in `stale`. */
  const reading = new Set<string>();
  /** Teams of the bots that changed; null: any bot may have. */
  let changedTeams: Set<string> | null = new Set();

  function voidSoon(...queryKeys: (readonly unknown[])[]): void {
    for (const key of queryKeys) stale.set(JSON.stringify(key), key);
    readSoon(gatherFor);
  }

  function readSoon(wait: number): void {
    if (waiting || [...stale.keys()].every((text) => reading.has(text))) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      for (const [text, queryKey] of [...stale]) if (!reading.has(text)) void readAgain(text, queryKey);
    }, wait);
  }

  /**
   * One reading of each at a time: a run of a thousand steps sends events faster than its board can be read. None waits for another: on a busy
   * computer the changes of many worktrees take git a minute, and the bots that were started meanwhile must be seen.
   */
  async function readAgain(text: string, queryKey: readonly unknown[]): Promise<void> {
    stale.delete(text);
    reading.add(text);
    if (queryKey !== keys.agents || !(await readChangedTeams())) {
      await client.invalidateQueries({ queryKey }).catch(() => {});
    }
    reading.delete(text);
    readSoon(gatherMore);
  }

  /** `teams`: of the bots that changed; null: nobody knows. */
  function voidBots(...teams: readonly (string | null)[]): void {
    for (const team of teams) {
      if (team === null) changedTeams = null;
      else changedTeams?.add(team);
    }
    voidSoon(keys.agents);
  }

  const teamOfBot = (id: string): string | null =>
    client.getQueryData<AgentsAnswer>(keys.agents)?.agents.find((agent) => agent.id === id)?.team ?? null;

  /** Whether reading the bots of these teams was enough. What is being read as a whole would overwrite them, so that it is read again instead. */
  async function readChangedTeams(): Promise<boolean> {
    const teams = changedTeams;
    changedTeams = new Set();
    const query = client.getQueryCache().find<AgentsAnswer>({ queryKey: keys.agents });
    const listed = query?.state.data?.agents ?? [];
    const known = listed.filter(({ team }) => teams?.has(team));
    const isFew = teams !== null && teams.size <= maxTeamsRead && known.length * 2 <= listed.length;
    if (!isFew || query?.isActive() !== true || query.state.fetchStatus !== 'idle') return false;
    const answers = await Promise.all([...teams].map(readTeam)).catch(() => []);
    const fresh = new Map(answers.flatMap(({ agents }) => agents.map((agent) => [agent.id, agent])));
    // One came or left, or the answer did not come.
    if (fresh.size !== known.length || known.some(({ id }) => !fresh.has(id))) return false;
    if (query.state.fetchStatus !== 'idle') return false;
    client.setQueryData<AgentsAnswer>(
      keys.agents,
      (old) => old && { ...old, ...answers[0], agents: old.agents.map((agent) => fresh.get(agent.id) ?? agent) },
    );
    return true;
  }

  function patchAgents(states: readonly StateEvent[]): void {
    const of = Map.groupBy(states, ({ data }) => data.agentId);
    const patch = (agent: Agent): Agent => of.get(agent.id)?.reduce(withState, agent) ?? agent;
    client.setQueryData<AgentsAnswer>(keys.agents, (old) => old && { ...old, agents: changedBy(patch, old.agents) });
    const patchTeam = (team: Team): Team => {
      const agents = changedBy(patch, team.agents);
      return agents === team.agents ? team : { ...team, agents };
    };
    client.setQueryData<TeamsAnswer>(keys.teams, (old) => old && { ...old, teams: changedBy(patchTeam, old.teams) });
  }

  function patchDeliveries(changed: readonly Delivery[]): void {
    const latest = new Map(changed.map((delivery) => [delivery.id, delivery]));
    for (const [key, old] of client.getQueriesData<DeliveriesAnswer>({ queryKey: keys.deliveries })) {
      if (old === undefined) continue;
      const known = new Set(old.deliveries.map(({ id }) => id));
      if (changed.some(({ id }) => known.has(id))) {
        const deliveries = old.deliveries.map((one) => {
          const now = latest.get(one.id);
          // An event carries no words of the message.
          return now === undefined ? one : { ...now, from: one.from, firstWords: one.firstWords };
        });
        client.setQueryData<DeliveriesAnswer>(key, { ...old, deliveries });
      }
      // Which bot an address belongs to is the server's to say: the lists are read again.
      if (changed.some(({ id }) => !known.has(id))) voidSoon(keys.deliveries);
    }
  }

  /** A new one stands first, as in the list; an answered one keeps its place. */
  function patchApprovals(told: readonly Approval[]): void {
    client.setQueryData<ApprovalsAnswer>(keys.approvals, (old) => {
      if (old === undefined) return old;
      let { approvals } = old;
      for (const approval of told.map((one) => byOwnClock(one, Date.now()))) {
        approvals = approvals.some(({ id }) => id === approval.id)
          ? approvals.map((one) => (one.id === approval.id ? approval : one))
          : [approval, ...approvals];
      }
      return { ...old, approvals };
    });
  }

  function voidFor(event: KnownEvent): void {
    // Every kind of event stands in the ledger or follows from a row of it, save states, which are live only.
    if (event.type !== 'agent.state') voidSoon(keys.ledgers);
    switch (event.type) {
      case 'agent.state':
        voidBots(teamOfBot(event.data.agentId));
        voidSoon(keys.whys, keys.diffs, keys.quickRuns);
        return;
      case 'delivery': {
        const { to, threadId, dagId, nodeId } = event.data;
        voidBots(teamOfAddress(to));
        voidSoon(keys.whys);
        if (threadId !== undefined) voidSoon(keys.threads, keys.messagesOf(threadId));
        if (dagId !== undefined && nodeId !== undefined) voidSoon(keys.node(dagId, nodeId));
        return;
      }
      case 'node.status':
      case 'proof.recorded': {
        const { dagId, nodeId } = event.data;
        voidSoon(keys.campaigns, keys.boards, keys.flow(dagId), keys.node(dagId, nodeId));
        voidBots(null);
        voidSoon(keys.whys, keys.diffs, keys.quickRuns);
        return;
      }
      case 'approval.requested':
      case 'approval.resolved': {
        const { agentId, dagId, nodeId } = event.data;
        voidBots(agentId === null ? null : teamOfBot(agentId));
        voidSoon(keys.whys);
        if (dagId !== undefined && nodeId !== undefined) voidSoon(keys.node(dagId, nodeId));
        return;
      }
      case 'agent.account':
        voidSoon(keys.agents, keys.whys, keys.accounts);
        return;
      case 'trust.changed':
        voidSoon(keys.trust, keys.teams, keys.templates, keys.whys);
        return;
      case 'team.changed':
        // Started from a prompt, or ended: the team of such a run came or left.
        voidBots(null);
        voidSoon(keys.teams, keys.quickRuns);
        return;
    }
  }

  return {
    apply(...events) {
      const states = events.filter((event) => event.type === 'agent.state');
      const deliveries = events.flatMap((event) => (event.type === 'delivery' ? [event.data] : []));
      const approvals = events.flatMap((event) =>
        event.type === 'approval.requested' || event.type === 'approval.resolved' ? [event.data] : [],
      );
      if (states.length > 0) patchAgents(states);
      if (deliveries.length > 0) patchDeliveries(deliveries);
      if (approvals.length > 0) patchApprovals(approvals);
      for (const event of events) voidFor(event);
    },
    voidAll() {
      void client.invalidateQueries(keys.all === null ? {} : { queryKey: keys.all });
    },
  };
}

/** Of `bot@team`; null where it is no address of a bot. */
const teamOfAddress = (address: string): string | null => /^[^@:]+@([^@]+)$/.exec(address)?.[1] ?? null;

/** The same list where nothing in it changes, as each of it stays the same where it does not: what is drawn from it is not drawn again. */
function changedBy<T>(change: (one: T) => T, list: T[]): T[] {
  const changed = list.map(change);
  return changed.some((one, at) => one !== list[at]) ? changed : list;
}

type StateEvent = Extract<KnownEvent, { type: 'agent.state' }>;

function withState(agent: Agent, { data, at }: StateEvent): Agent {
  if (agent.state === data.state && agent.pane?.id === data.pane?.id) return agent;
  return {
    ...agent,
    state: data.state,
    // The reason belonged to the former state; the new one comes with the list.
    stateReason: agent.state === data.state ? agent.stateReason : null,
    since: agent.state === data.state ? agent.since : at,
    pane: data.pane,
  };
}
