/**
 * Reads of runs on a computer and of hosted computers. The page's own stream reports neither, so the pages that show them poll. Must not know how
 * they are shown.
 */
import { queryOptions } from '@tanstack/react-query';
import { hasEnded } from '../../../client/computer-use.ts';
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { Keys } from '../../base/data/keys.ts';
import type { HandsApi } from './api.ts';

/** While the page is in front, ms: with something that runs, and without. */
const liveEvery = 1_500;
const quietEvery = 5_000;
/** A list counts down its own next try after a failure. */
const every = (ms: number, error: unknown) => (error === null ? ms : false);

export const computerUseKeysOf = ({ on }: Pick<Keys, 'on'>) => ({
  runs: on('runs'),
  run: (id: string) => on('run', id),
  browserSessions: on('browser-sessions'),
  toolset: (toolset: string) => on('toolset', toolset),
  // Hosted computers are the person's, whichever computer is looked at.
  hostedSettings: ['hosted-settings'],
  hostedList: ['hosted', 'list'],
  hostedPool: ['hosted', 'pool'],
  /** Begins the keys of one hosted computer. */
  hosted: (id: string, part?: string) => (part === undefined ? ['hosted', 'one', id] : ['hosted', 'one', id, part]),
});

export function computerUseQueriesOf({ computerUse, device, hosted }: HandsApi, page: Pick<Keys, 'on'>) {
  const keys = computerUseKeysOf(page);
  return {
    runs: queryOptions({
      queryKey: keys.runs,
      queryFn: async () => (await computerUse.listRuns()).runs,
      staleTime: 0,
      refetchInterval: ({ state: { data, error } }) =>
        every(data?.some((one) => !hasEnded(one)) === true ? liveEvery : quietEvery, error),
    }),
    /** The events of a run that is followed say when to read it again. */
    run: (id: string) => queryOptions({ queryKey: keys.run(id), queryFn: () => computerUse.getRun(id), staleTime: 0 }),
    browserSessions: queryOptions({
      queryKey: keys.browserSessions,
      queryFn: async () => (await computerUse.listSessions()).sessions,
      staleTime: 0,
    }),
    toolset: (toolset: Toolset) =>
      queryOptions({
        queryKey: keys.toolset(toolset),
        queryFn: async ({ signal }) => {
          const asked = { params: { id: 'this-device' }, query: { toolset } };
          return { toolset, members: (await device.readToolsetSchema(asked, { signal })).members };
        },
      }),
    hostedSettings: queryOptions({
      queryKey: keys.hostedSettings,
      queryFn: ({ signal }) => hosted.getComputerSettings({}, { signal }),
      staleTime: 0,
    }),
    hostedList: queryOptions({
      queryKey: keys.hostedList,
      queryFn: async ({ signal }) => (await hosted.listHostedComputers({}, { signal })).computers,
      staleTime: 0,
      refetchInterval: ({ state: { error } }) => every(quietEvery, error),
    }),
    hostedPool: queryOptions({
      queryKey: keys.hostedPool,
      queryFn: ({ signal }) => hosted.getComputerPool({}, { signal }),
      staleTime: 0,
      refetchInterval: ({ state: { error } }) => every(quietEvery, error),
    }),
    hosted: (id: string) =>
      queryOptions({
        queryKey: keys.hosted(id),
        queryFn: ({ signal }) => hosted.getHostedComputer({ params: { id } }, { signal }),
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(liveEvery, error),
      }),
    hostedEvents: (id: string) =>
      queryOptions({
        queryKey: keys.hosted(id, 'events'),
        queryFn: async ({ signal }) =>
          (await hosted.listHostedEvents({ params: { id }, query: { limit: 200 } }, { signal })).events,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(liveEvery, error),
      }),
    hostedMeters: (id: string) =>
      queryOptions({
        queryKey: keys.hosted(id, 'meters'),
        queryFn: async ({ signal }) => (await hosted.listHostedMeters({ params: { id } }, { signal })).lines,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(quietEvery, error),
      }),
    hostedApprovals: (id: string) =>
      queryOptions({
        queryKey: keys.hosted(id, 'approvals'),
        queryFn: async ({ signal }) => (await hosted.listHostedApprovals({ params: { id } }, { signal })).approvals,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(liveEvery, error),
      }),
  };
}
