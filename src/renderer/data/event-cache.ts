/**
 * One event of the factory stream → what changes in the query cache. Events are parsed by the contract; unknown types are
 * ignored, because a newer engine may send them. Must not know the connection.
 */
import type { QueryClient } from '@tanstack/react-query';
import type { z } from 'zod';
import type { Agent, Team } from '../../contracts/factory/agent.ts';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import { EventEnvelope, type FactoryEventData, factoryEvents } from '../../contracts/factory/events.ts';
import type { listAgents, listDeliveries, listTeams } from '../../contracts/factory/routes.ts';
import { keys } from './queries.ts';

type AgentsAnswer = z.output<(typeof listAgents)['answers'][200]>;
type TeamsAnswer = z.output<(typeof listTeams)['answers'][200]>;
type DeliveriesAnswer = z.output<(typeof listDeliveries)['answers'][200]>;

export type KnownEvent =
  | { readonly type: 'agent.state'; readonly at: string; readonly data: FactoryEventData<'agent.state'> }
  | { readonly type: 'delivery'; readonly at: string; readonly data: FactoryEventData<'delivery'> }
  | { readonly type: 'team.changed'; readonly at: string; readonly data: FactoryEventData<'team.changed'> };

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

export interface EventCache {
  apply(event: KnownEvent): void;
  /** Everything may have changed: after a reconnect without replay, or a reset. */
  voidAll(): void;
  close(): void;
}

export function createEventCache(client: QueryClient): EventCache {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const stale = new Set<readonly unknown[]>();

  function voidSoon(...queryKeys: (readonly unknown[])[]): void {
    for (const key of queryKeys) stale.add(key);
    timer ??= setTimeout(() => {
      timer = null;
      for (const key of stale) void client.invalidateQueries({ queryKey: key, exact: key !== keys.deliveries });
      stale.clear();
    }, gatherFor);
  }

  function patchAgent(data: FactoryEventData<'agent.state'>, at: string): void {
    const patch = (agent: Agent): Agent =>
      agent.id !== data.agentId || (agent.state === data.state && agent.pane?.id === data.pane?.id)
        ? agent
        : {
            ...agent,
            state: data.state,
            // The reason belonged to the former state; the new one comes with the list.
            stateReason: agent.state === data.state ? agent.stateReason : null,
            since: agent.state === data.state ? agent.since : at,
            pane: data.pane,
          };
    client.setQueryData<AgentsAnswer>(keys.agents, (old) => old && { ...old, agents: old.agents.map(patch) });
    client.setQueryData<TeamsAnswer>(
      keys.teams,
      (old) => old && { ...old, teams: old.teams.map((team: Team) => ({ ...team, agents: team.agents.map(patch) })) },
    );
  }

  function patchDelivery(delivery: Delivery): void {
    for (const [key, old] of client.getQueriesData<DeliveriesAnswer>({ queryKey: keys.deliveries })) {
      if (old === undefined) continue;
      const known = old.deliveries.some((one) => one.id === delivery.id);
      if (known) {
        const deliveries = old.deliveries.map((one) => (one.id === delivery.id ? delivery : one));
        client.setQueryData<DeliveriesAnswer>(key, { ...old, deliveries });
      } else {
        // Which bot an address belongs to is the server's to say: the lists are read again.
        voidSoon(keys.deliveries);
      }
    }
  }

  return {
    apply(event) {
      if (event.type === 'agent.state') {
        patchAgent(event.data, event.at);
        voidSoon(keys.agents);
      } else if (event.type === 'delivery') {
        patchDelivery(event.data);
        voidSoon(keys.agents);
        if (event.data.threadId !== undefined) voidSoon(keys.threads);
      } else {
        voidSoon(keys.agents, keys.teams);
      }
    },
    voidAll() {
      void client.invalidateQueries();
    },
    close() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}
