/** Reads of the work queue: pages of tasks, figures, workers, sessions and deployments. Must not know how they are shown. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { HistoryRange, TaskStatus } from '../../../contracts/work-queue/task.ts';
import type { QueueApi } from './api.ts';

/** Tasks, sessions or deployments on one page. */
const queuePage = 50;
/** Sessions and deployments whose names are known without asking for each. */
const maxNames = 200;
export interface TaskFilter {
  readonly status?: TaskStatus | undefined;
  readonly session_id?: string | undefined;
  readonly deployment_id?: string | undefined;
  readonly worker_id?: string | undefined;
}

export type LinkKind = 'sessions' | 'deployments';

export const queueKeys = {
  /** Key prefixes of all data that changes without the person: counts of the whole queue, and lists of parts of it. */
  figures: ['queue', 'figures'],
  tasks: ['queue', 'tasks'],
  stats: ['queue', 'figures', 'stats'],
  workers: ['queue', 'figures', 'workers'],
  history: (range: HistoryRange) => ['queue', 'figures', 'history', range],
  pages: ['queue', 'tasks', 'page'],
  page: (filter: TaskFilter, cursor: string | undefined) => ['queue', 'tasks', 'page', filter, cursor ?? null],
  task: (id: string) => ['queue', 'tasks', 'one', id],
  links: (kind: LinkKind, cursor: string | undefined) => ['queue', kind, cursor ?? null],
  link: (kind: LinkKind, id: string) => ['queue', kind, 'one', id],
  names: (kind: LinkKind) => ['queue', kind, 'names'],
} as const;

/** A session or a deployment; both are shown alike. */
interface WorkLink {
  readonly id: string;
  /** Null: it was given none. */
  readonly name: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
}

interface WorkLinks {
  readonly links: readonly WorkLink[];
  readonly next_cursor: string | null;
}

export function queueQueriesOf(queue: QueueApi) {
  async function readLinks(kind: LinkKind, query: { limit: number; cursor?: string }, signal: AbortSignal) {
    if (kind === 'sessions') {
      const { sessions, next_cursor } = await queue.listWorkSessions({ query }, { signal });
      return { links: sessions.map(({ title, ...one }): WorkLink => ({ ...one, name: title })), next_cursor };
    }
    const { deployments, next_cursor } = await queue.listDeployments({ query }, { signal });
    return { links: deployments as readonly WorkLink[], next_cursor };
  }
  const cursorOf = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

  return {
    queueStats: queryOptions({
      queryKey: queueKeys.stats,
      queryFn: ({ signal }) => queue.getQueueStats({}, { signal }),
      staleTime: 0,
    }),
    queueWorkers: queryOptions({
      queryKey: queueKeys.workers,
      queryFn: ({ signal }) => queue.listWorkers({}, { signal }),
      staleTime: 0,
    }),
    queueHistory: (range: HistoryRange) =>
      queryOptions({
        queryKey: queueKeys.history(range),
        queryFn: ({ signal }) => queue.getQueueHistory({ query: { range } }, { signal }),
        staleTime: 0,
        placeholderData: keepPreviousData,
      }),
    /** One page: how many tasks there are makes no difference. */
    taskPage: (filter: TaskFilter, cursor: string | undefined) =>
      queryOptions({
        queryKey: queueKeys.page(filter, cursor),
        queryFn: ({ signal }) =>
          queue.listTasks({ query: { ...filter, ...cursorOf(cursor), limit: queuePage } }, { signal }),
        staleTime: 0,
        placeholderData: keepPreviousData,
      }),
    task: (id: string) =>
      queryOptions({
        queryKey: queueKeys.task(id),
        queryFn: async ({ signal }) => (await queue.getTask({ params: { id } }, { signal })).task,
        staleTime: 0,
      }),
    workLinks: (kind: LinkKind, cursor: string | undefined) =>
      queryOptions<WorkLinks>({
        queryKey: queueKeys.links(kind, cursor),
        queryFn: ({ signal }) => readLinks(kind, { ...cursorOf(cursor), limit: queuePage }, signal),
        staleTime: 0,
      }),
    workLinkNames: (kind: LinkKind) =>
      queryOptions({
        queryKey: queueKeys.names(kind),
        queryFn: async ({ signal }) => {
          const { links } = await readLinks(kind, { limit: maxNames }, signal);
          return Object.fromEntries(links.map(({ id, name }) => [id, name ?? '']));
        },
        staleTime: 60_000,
      }),
    workLink: (kind: LinkKind, id: string) =>
      queryOptions<WorkLink>({
        queryKey: queueKeys.link(kind, id),
        queryFn: async ({ signal }) => {
          if (kind === 'deployments') return (await queue.getDeployment({ params: { id } }, { signal })).deployment;
          const { title, ...one } = (await queue.getWorkSession({ params: { id } }, { signal })).session;
          return { ...one, name: title };
        },
      }),
  };
}
