/** Paths that a bot printed: whether there is such a file, and opening it where it changed, or else as a whole. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useServices } from '../../../base/services.tsx';
import { diffRows } from '../../../ui/diff/diff-rows.ts';
import { rowAt } from './row-at.ts';

/** For this long a path is not asked for again, in ms. */
const knownFor = 20_000;

interface OpenPath {
  /** Relative to the root of the bot's files; null if there is no such file. */
  find(path: string): Promise<string | null>;
  open(path: string, line: number | null): Promise<void>;
}

export function useOpenPath(botId: string): OpenPath {
  const { api, keys, queries } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMemo(() => {
    const place = (path: string) =>
      client
        .fetchQuery({
          queryKey: [...keys.diff(botId), 'place', path],
          queryFn: ({ signal }) => api.factory.agentFilePlace({ params: { id: botId }, query: { path } }, { signal }),
          staleTime: knownFor,
          gcTime: knownFor,
        })
        // A bot whose files cannot be read here has no links.
        .catch(() => null);
    return {
      find: async (path) => (await place(path))?.path ?? null,
      async open(path, line) {
        // Only a worktree has changes to look for.
        const diff =
          (await place(path))?.worktree === true
            ? await client.fetchQuery({ ...queries.diff(botId), staleTime: 0 }).catch(() => null)
            : null;
        const changed = diff !== null && rowAt(diffRows(diff.patch), path, line) !== null;
        await navigate({
          to: '/floor',
          search: (old) => ({
            ...old,
            bot: botId,
            look: changed ? 'changes' : 'files',
            file: path,
            line: line ?? undefined,
          }),
        });
      },
    };
  }, [api, keys, queries, client, navigate, botId]);
}
