/**
 * The page's reads, by key. Nothing here polls: the event stream (events.ts) patches or invalidates these keys. Must not know how anything is shown.
 */

import { queryOptions } from '@tanstack/react-query';
import { byOwnClock } from '../../../contracts/approvals/approval.ts';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { usageGroups } from '../../../contracts/factory/spending-routes.ts';
import type { Api } from './api.ts';
import type { BudgetsOf, Keys } from './keys.ts';
import { personQueriesOf } from './person-queries.ts';

/** Approvals kept: all that wait, and what was answered last. */
const approvalPage = 100;

/** Deliveries shown of one bot and in the feed at first. */
const deliveryPage = 50;

export function queriesOf(api: Api, keys: Keys) {
  const { approvals, factory } = api;
  return {
    ...personQueriesOf(api),
    workspace: queryOptions({
      queryKey: keys.workspace,
      queryFn: ({ signal }) => factory.getWorkspace({}, { signal }),
    }),
    trust: queryOptions({ queryKey: keys.trust, queryFn: ({ signal }) => factory.getTrust({}, { signal }) }),
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
    modelPlaces: queryOptions({
      queryKey: keys.modelPlaces,
      queryFn: ({ signal }) => factory.listModelPlaces({}, { signal }),
    }),
    health: queryOptions({
      queryKey: keys.health,
      queryFn: ({ signal }) => factory.factoryHealth({ query: {} }, { signal }),
    }),
    doctor: queryOptions({ queryKey: keys.doctor, queryFn: ({ signal }) => factory.doctor({}, { signal }) }),
    explain: (agentId: string) =>
      queryOptions({
        queryKey: keys.explain(agentId),
        queryFn: ({ signal }) => factory.explainAgent({ params: { id: agentId } }, { signal }),
      }),
    spending: queryOptions({
      queryKey: keys.spending,
      queryFn: ({ signal }) => factory.getSpending({}, { signal }),
    }),
    sandboxTry: ({ id, team, slug }: Pick<Agent, 'id' | 'team' | 'slug'>) =>
      queryOptions({
        queryKey: keys.sandboxTry(id),
        queryFn: ({ signal }) => factory.trySandbox({ params: { name: team }, query: { bot: slug } }, { signal }),
      }),
    accounts: queryOptions({ queryKey: keys.accounts, queryFn: ({ signal }) => factory.listAccounts({}, { signal }) }),
    usageDays: (by: (typeof usageGroups)[number], days: number) =>
      queryOptions({
        queryKey: keys.usageDays(by, days),
        queryFn: ({ signal }) => factory.getUsageDays({ query: { by, days: String(days) } }, { signal }),
      }),
    schedules: queryOptions({
      queryKey: keys.schedules,
      queryFn: ({ signal }) => factory.listSchedules({}, { signal }),
    }),
    occurrences: (scheduleId: string) =>
      queryOptions({
        queryKey: keys.occurrences(scheduleId),
        queryFn: ({ signal }) =>
          factory.listOccurrences({ params: { id: scheduleId }, query: { limit: 20 } }, { signal }),
      }),
    campaigns: queryOptions({
      queryKey: keys.campaigns,
      queryFn: ({ signal }) => factory.listCampaigns({}, { signal }),
    }),
    board: (campaignId: string) =>
      queryOptions({
        queryKey: keys.board(campaignId),
        queryFn: ({ signal }) => factory.getBoard({ params: { id: campaignId } }, { signal }),
      }),
    flow: (dagId: string) =>
      queryOptions({
        queryKey: keys.flow(dagId),
        queryFn: ({ signal }) => factory.getFlow({ params: { dagId } }, { signal }),
      }),
    runTimes: (dagId: string) =>
      queryOptions({
        queryKey: keys.runTimes(dagId),
        queryFn: ({ signal }) => factory.getRunTimes({ params: { dagId } }, { signal }),
      }),
    budgets: (of: BudgetsOf) =>
      queryOptions({
        queryKey: keys.budgets(of),
        queryFn: ({ signal }) => factory.listWorkBudgets({ query: of }, { signal }),
      }),
    node: (dagId: string, nodeId: string) =>
      queryOptions({
        queryKey: keys.node(dagId, nodeId),
        queryFn: ({ signal }) => factory.getNode({ params: { dagId, nodeId } }, { signal }),
      }),
    templates: queryOptions({
      queryKey: keys.templates,
      queryFn: ({ signal }) => factory.listTemplates({}, { signal }),
    }),
    template: (id: string) =>
      queryOptions({
        queryKey: keys.template(id),
        queryFn: ({ signal }) => factory.getTemplate({ params: { id } }, { signal }),
      }),
    approvals: queryOptions({
      queryKey: keys.approvals,
      queryFn: async ({ signal }) => {
        const answer = await approvals.listApprovals({ query: { limit: approvalPage } }, { signal });
        // Times as this browser's clock has them, however far it is from the server's.
        return { ...answer, approvals: answer.approvals.map((one) => byOwnClock(one, Date.now())) };
      },
    }),
    why: (id: string, dagId: string | null = null) =>
      queryOptions({
        queryKey: keys.why(id, dagId),
        queryFn: ({ signal }) =>
          factory.explainWhy({ params: { id }, query: dagId === null ? {} : { run: dagId } }, { signal }),
      }),
    diff: (agentId: string) =>
      queryOptions({
        queryKey: keys.diff(agentId),
        queryFn: ({ signal }) => factory.agentDiff({ params: { id: agentId } }, { signal }),
      }),
    /** When something happened last before this page was opened; after that its events say it. */
    lastEvent: queryOptions({
      queryKey: keys.lastEvent,
      queryFn: async ({ signal }) =>
        (await factory.queryLedger({ query: { limit: 1 } }, { signal })).rows[0]?.at ?? null,
    }),
    messagesOf: (threadId: string) =>
      queryOptions({
        queryKey: keys.messagesOf(threadId),
        queryFn: ({ signal }) =>
          factory.listMessages({ params: { id: threadId }, query: { limit: deliveryPage } }, { signal }),
      }),
  };
}

export type Queries = ReturnType<typeof queriesOf>;
