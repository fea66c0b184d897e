/** Reads of runs that were started from a prompt. Must not know how they are shown. */
import { useQuery } from '@tanstack/react-query';
import { useServices } from '../../base/services.tsx';

/** How much a bot changed and what it said last have no event: read this often while Home is in front, ms. */
const readEvery = 10_000;
/** The newest runs; older ones are under Work. */
const newest = 30;

/** Keyed under the diffs: what a bot or a step of a run does may have changed files, and changes these, too. */
export function useQuickRunKey(): readonly unknown[] {
  const { keys } = useServices();
  return [...keys.diffs, 'quick-runs'];
}

export function useQuickRuns() {
  const { api } = useServices();
  return useQuery({
    queryKey: useQuickRunKey(),
    queryFn: ({ signal }) => api.factory.listQuickRuns({ query: { limit: newest } }, { signal }),
    refetchInterval: ({ state: { error } }) => (error === null ? readEvery : false),
  });
}

export function useQuickDiff(id: string, bot: string) {
  const { api } = useServices();
  return useQuery({
    queryKey: [...useQuickRunKey(), id, bot],
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
