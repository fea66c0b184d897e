/**
 * Turns one event of the factory stream into changes of the query cache. Events are parsed by the contract; unknown types are ignored, because a
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

interface EventCache {
  apply(event: KnownEvent): void;
  /** Everything may have changed: after a reconnect without replay, or a reset. */
  voidAll(): void;
}

export function createEventCache(client: QueryClient, keys: Keys): EventCache {
  let waiting = false;
  let reading = false;
  const stale = new Map<string, readonly unknown[]>();

  function voidSoon(...queryKeys: (readonly unknown[])[]): void {
    for (const key of queryKeys) stale.set(JSON.stringify(key), key);
    if (reading || waiting || stale.size === 0) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      void readAgain();
    }, gatherFor);
  }

  /** One reading at a time: a run of a thousand steps sends events faster than its board can be read. */
  async function readAgain(): Promise<void> {
    reading = true;
    const queryKeys = [...stale.values()];
    stale.clear();
    await Promise.allSettled(queryKeys.map((queryKey) => client.invalidateQueries({ queryKey })));
    reading = false;
    voidSoon();
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

  /** A new one stands first, as in the list; an answered one keeps its place. */
  function patchApproval(told: Approval): void {
    const approval = byOwnClock(told, Date.now());
    client.setQueryData<ApprovalsAnswer>(keys.approvals, (old) => {
      if (old === undefined) return old;
      const known = old.approvals.some((one) => one.id === approval.id);
      const approvals = known
        ? old.approvals.map((one) => (one.id === approval.id ? approval : one))
        : [approval, ...old.approvals];
      return { ...old, approvals };
    });
  }

  return {
    apply(event) {
      // Every kind of event stands in the ledger or follows from a row of it, save states, which are live only.
      if (event.type !== 'agent.state') voidSoon(keys.ledgers);
      switch (event.type) {
        case 'agent.state':
          patchAgent(event.data, event.at);
          return voidSoon(keys.agents, keys.whys, keys.diffs);
        case 'delivery': {
          const { threadId, dagId, nodeId } = event.data;
          patchDelivery(event.data);
          voidSoon(keys.agents, keys.whys);
          if (threadId !== undefined) voidSoon(keys.threads, keys.messagesOf(threadId));
          if (dagId !== undefined && nodeId !== undefined) voidSoon(keys.node(dagId, nodeId));
          return;
        }
        case 'node.status':
        case 'proof.recorded': {
          const { dagId, nodeId } = event.data;
          voidSoon(keys.campaigns, keys.boards, keys.flow(dagId), keys.node(dagId, nodeId));
          return voidSoon(keys.agents, keys.whys, keys.diffs);
        }
        case 'approval.requested':
        case 'approval.resolved': {
          const { dagId, nodeId } = event.data;
          patchApproval(event.data);
          voidSoon(keys.agents, keys.whys);
          if (dagId !== undefined && nodeId !== undefined) voidSoon(keys.node(dagId, nodeId));
          return;
        }
        case 'trust.changed':
          return voidSoon(keys.trust, keys.teams, keys.templates, keys.whys);
        case 'team.changed':
          return voidSoon(keys.agents, keys.teams);
      }
    },
    voidAll() {
      void client.invalidateQueries(keys.all === null ? {} : { queryKey: keys.all });
    },
  };
}
