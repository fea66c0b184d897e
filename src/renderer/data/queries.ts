/**
 * What the page reads, by key. Nothing here polls: the event stream (events.ts) patches or voids these keys.
 * Must not know how anything is shown.
 */
import { queryOptions } from '@tanstack/react-query';
import type { Api } from './api.ts';

export const keys = {
  session: ['session'],
  workspace: ['workspace'],
  agents: ['agents'],
  teams: ['teams'],
  deliveries: ['deliveries'],
  deliveriesOf: (agentId: string) => ['deliveries', agentId],
  threads: ['threads'],
  doctor: ['doctor'],
  explain: (agentId: string) => ['explain', agentId],
} as const;

/** Deliveries shown of one bot and in the feed at first. */
export const deliveryPage = 50;

export function queriesOf(api: Api) {
  const { factory, identity } = api;
  return {
    session: queryOptions({ queryKey: keys.session, queryFn: ({ signal }) => identity.getSession({}, { signal }) }),
    workspace: queryOptions({
      queryKey: keys.workspace,
      queryFn: ({ signal }) => factory.getWorkspace({}, { signal }),
    }),
    agents: queryOptions({ queryKey: keys.agents, queryFn: ({ signal }) => factory.listAgents({}, { signal }) }),
    teams: queryOptions({ queryKey: keys.teams, queryFn: ({ signal }) => factory.listTeams({}, { signal }) }),
    deliveries: queryOptions({
      queryKey: keys.deliveries,
      queryFn: ({ signal }) => factory.listDeliveries({ query: { limit: deliveryPage } }, { signal }),
    }),
    deliveriesOf: (agentId: string) =>
      queryOptions({
        queryKey: keys.deliveriesOf(agentId),
        queryFn: ({ signal }) => factory.listDeliveries({ query: { agent: agentId, limit: deliveryPage } }, { signal }),
      }),
    threads: queryOptions({ queryKey: keys.threads, queryFn: ({ signal }) => factory.listThreads({}, { signal }) }),
    doctor: queryOptions({ queryKey: keys.doctor, queryFn: ({ signal }) => factory.doctor({}, { signal }) }),
    explain: (agentId: string) =>
      queryOptions({
        queryKey: keys.explain(agentId),
        queryFn: ({ signal }) => factory.explainAgent({ params: { id: agentId } }, { signal }),
      }),
  };
}

export type Queries = ReturnType<typeof queriesOf>;
