/**
 * Reads of connectors: their health, events and subscriptions, trails, rules and jobs; and the approved apps. The page's own stream does not report
 * them, so the pages that show them poll. Must not know how they are shown.
 */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { JobStatus } from '../../../contracts/connectors/rule.ts';
import type { Api } from '../../base/data/api.ts';
import type { Keys } from '../../base/data/keys.ts';
import type { ConnectorApi } from './api.ts';

/** Events or jobs on one page. */
const trailPage = 50;
/** While the page is in front, ms: with something under way, and without. */
const liveEvery = 1_500;
const quietEvery = 4_000;
/** Of the trail, which somebody watches. */
const trailEvery = 2_000;
/** A list counts down its own next try after a failure. */
const every = (ms: number, error: unknown) => (error === null ? ms : false);
const waiting: readonly JobStatus[] = ['batching', 'awaiting_approval', 'queued', 'running', 'stopping'];

/** Whether a job will still change, automatically or through a person. */
const isWaiting = (status: JobStatus): boolean => waiting.includes(status);

export const connectorKeysOf = ({ on }: Pick<Keys, 'on'>) => ({
  connectors: on('connectors', 'list'),
  /** Begins the keys of one connector. */
  connector: (id: string, ...part: readonly unknown[]) => on('connectors', 'one', id, ...part),
  ticket: (id: string) => on('ticket', id),
  // Apps of others that were let in, and what they may be told, are the person's, whichever computer is looked at.
  edgeApps: ['edge-apps'],
  eventCatalog: ['event-catalog'],
});

export function connectorQueriesOf(
  { connectors, edge, factory }: ConnectorApi & Pick<Api, 'factory'>,
  page: Pick<Keys, 'on'>,
) {
  const keys = connectorKeysOf(page);
  const cursorOf = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });
  return {
    connectors: queryOptions({
      queryKey: keys.connectors,
      queryFn: async ({ signal }) => (await connectors.listConnectors({}, { signal })).connectors,
      staleTime: 0,
      refetchOnWindowFocus: true,
      refetchInterval: ({ state: { data, error } }) =>
        every(data?.some(({ status }) => status === 'connecting') === true ? liveEvery : quietEvery, error),
    }),
    /** What a server offers is kept for a minute where it is asked; the subscriptions beside it are always new. */
    connectorEvents: (id: string) =>
      queryOptions({
        queryKey: keys.connector(id, 'events'),
        queryFn: ({ signal }) => connectors.listConnectorEvents({ params: { id } }, { signal }),
        staleTime: 0,
        refetchInterval: ({ state: { data, error } }) =>
          every(
            data?.subscriptions.some(({ status }) => status === 'pending') === true ? liveEvery : quietEvery,
            error,
          ),
      }),
    connectorSignIn: (id: string) =>
      queryOptions({
        queryKey: keys.connector(id, 'sign-in'),
        queryFn: ({ signal }) => connectors.readConnectorSignIn({ params: { id } }, { signal }),
        staleTime: 0,
      }),
    connectorBots: (id: string) =>
      queryOptions({
        queryKey: keys.connector(id, 'bots'),
        queryFn: async ({ signal }) => (await connectors.listAutomationBots({ params: { id } }, { signal })).bots,
        staleTime: 0,
      }),
    trail: (id: string, sid: string, cursor: string | undefined) =>
      queryOptions({
        queryKey: keys.connector(id, sid, 'trail', cursor ?? null),
        queryFn: ({ signal }) =>
          connectors.listConnectorTrail(
            { params: { id, sid }, query: { limit: trailPage, ...cursorOf(cursor) } },
            { signal },
          ),
        staleTime: 0,
        placeholderData: keepPreviousData,
        refetchInterval: ({ state: { error } }) => every(trailEvery, error),
      }),
    /** What an event opened; its data never changes. */
    ticket: (id: string) =>
      queryOptions({
        queryKey: keys.ticket(id),
        queryFn: ({ signal }) => factory.getTicket({ params: { id } }, { signal }),
      }),
    rules: (id: string, sid: string) =>
      queryOptions({
        queryKey: keys.connector(id, sid, 'rules'),
        queryFn: async ({ signal }) =>
          (await connectors.listAutomationRules({ params: { id, sid } }, { signal })).rules,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(quietEvery, error),
      }),
    jobs: (id: string, sid: string, status: JobStatus | undefined, cursor: string | undefined) =>
      queryOptions({
        queryKey: keys.connector(id, sid, 'runs', status ?? null, cursor ?? null),
        queryFn: ({ signal }) =>
          connectors.listAutomationRuns(
            {
              params: { id, sid },
              query: { limit: trailPage, ...cursorOf(cursor), ...(status === undefined ? {} : { status }) },
            },
            { signal },
          ),
        staleTime: 0,
        placeholderData: keepPreviousData,
        refetchInterval: ({ state: { data, error } }) =>
          every(data?.runs.some((one) => isWaiting(one.status)) === true ? liveEvery : quietEvery, error),
      }),
    /** It never moves. */
    jobPlace: (jid: string) =>
      queryOptions({
        queryKey: keys.connector('run', jid),
        queryFn: ({ signal }) => connectors.findAutomationRun({ params: { jid } }, { signal }),
      }),
    job: (id: string, sid: string, jid: string) =>
      queryOptions({
        queryKey: keys.connector(id, sid, 'run', jid),
        queryFn: ({ signal }) => connectors.readAutomationRun({ params: { id, sid, jid } }, { signal }),
        staleTime: 0,
        refetchInterval: ({ state: { data, error } }) =>
          every(data !== undefined && !isWaiting(data.status) ? quietEvery : liveEvery, error),
      }),
    jobEvents: (id: string, sid: string, jid: string, at: string) =>
      queryOptions({
        queryKey: keys.connector(id, sid, 'run', jid, 'events', at),
        queryFn: async ({ signal }) =>
          (await connectors.listAutomationRunEvents({ params: { id, sid, jid } }, { signal })).events,
        staleTime: 0,
        placeholderData: keepPreviousData,
      }),
    edgeApps: queryOptions({
      queryKey: keys.edgeApps,
      queryFn: async ({ signal }) => (await edge.listEdgeApps({}, { signal })).apps,
      staleTime: 0,
      refetchInterval: ({ state: { error } }) => every(quietEvery, error),
    }),
    eventCatalog: queryOptions({
      queryKey: keys.eventCatalog,
      queryFn: async ({ signal }) => (await edge.readEventCatalog({}, { signal })).events,
      staleTime: Number.POSITIVE_INFINITY,
    }),
  };
}
