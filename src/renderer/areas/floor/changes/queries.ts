/** Reads of a bot's files. What a bot does makes its diff old, and these with it. */
import { queryOptions } from '@tanstack/react-query';
import type { Services } from '../../../base/services.tsx';

type From = Pick<Services, 'api' | 'keys'>;

export const folderQuery = ({ api, keys }: From, id: string, path: string) =>
  queryOptions({
    queryKey: [...keys.diff(id), 'folder', path],
    queryFn: ({ signal }) => api.factory.agentFiles({ params: { id }, query: { path } }, { signal }),
    staleTime: 0,
  });

export const fileQuery = ({ api, keys }: From, id: string, path: string) =>
  queryOptions({
    queryKey: [...keys.diff(id), 'file', path],
    queryFn: ({ signal }) => api.factory.agentFileText({ params: { id }, query: { path } }, { signal }),
    staleTime: 0,
  });
