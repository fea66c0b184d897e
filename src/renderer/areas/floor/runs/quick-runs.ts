/** Reads of runs that were started from a prompt. Must not know how they are shown. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { z } from 'zod';
import type {
  listQuickRuns,
  QuickBot,
  QuickOutcome,
  QuickRun,
} from '../../../../contracts/factory/quick-run-routes.ts';
import { useServices } from '../../../base/services.tsx';

/** How much a bot changed and what it said last have no event: read this often while Home is in front, ms. */
const readEvery = 10_000;
/** The newest runs; older ones are under Work. */
const newest = 30;

export function useQuickRuns(enabled = true) {
  const { api, keys } = useServices();
  return useQuery({
    queryKey: keys.quickRuns,
    enabled,
    queryFn: ({ signal }) => api.factory.listQuickRuns({ query: { limit: newest } }, { signal }),
    refetchInterval: ({ state: { error } }) => (error === null ? readEvery : false),
  });
}

type RunsAnswer = z.output<(typeof listQuickRuns)['answers'][200]>;

/** Lists a run that has just started from the answer to its start: git may take long to read the others again. */
export function useListStarted(): (run: QuickRun) => void {
  const { keys } = useServices();
  const client = useQueryClient();
  return (run) => {
    client.setQueryData<RunsAnswer>(
      keys.quickRuns,
      (old) => old && { ...old, runs: [run, ...old.runs.filter(({ id }) => id !== run.id)] },
    );
    // A list that was being read meanwhile may lack it: it is given up.
    void client.invalidateQueries({ queryKey: keys.quickRuns });
  };
}

/** Answers the bot as it is then. */
type EndOne = (run: string, bot: string, outcome: QuickOutcome) => Promise<QuickBot | undefined>;

/**
 * Ends the work of bots, and when all is done shows what the server answered. What else it changes is read again, but not waited for: for many worktrees
 * git takes long.
 */
export function useEndQuickRuns(): <T>(act: (end: EndOne) => Promise<T>) => Promise<T> {
  const { api, keys } = useServices();
  const client = useQueryClient();
  return async (act) => {
    const ended = new Map<string, QuickRun>();
    try {
      return await act(async (id, bot, outcome) => {
        const answer = await api.factory.endQuickRun({ params: { id }, body: { bot, outcome } });
        if (!('run' in answer)) return undefined;
        ended.set(id, answer.run);
        return answer.run.bots.find(({ name }) => name === bot);
      });
    } finally {
      client.setQueryData<RunsAnswer>(
        keys.quickRuns,
        (old) => old && { ...old, runs: old.runs.map((run) => ended.get(run.id) ?? run) },
      );
      // A list that was being read meanwhile is older than the answers: it is given up.
      for (const queryKey of [keys.agents, keys.teams, keys.diffs, keys.quickRuns]) {
        void client.invalidateQueries({ queryKey });
      }
    }
  };
}

export function useQuickDiff(id: string, bot: string) {
  const { api, keys } = useServices();
  return useQuery({
    queryKey: [...keys.quickRuns, id, bot],
    queryFn: ({ signal }) => api.factory.quickRunDiff({ params: { id }, query: { bot } }, { signal }),
    // A bot changes files between two events: read whenever it is looked at.
    staleTime: 0,
  });
}

export function useQuickChoices() {
  const { api, keys } = useServices();
  return useQuery({
    queryKey: keys.on('quick-choices'),
    queryFn: ({ signal }) => api.factory.quickRunChoices({}, { signal }),
  });
}
