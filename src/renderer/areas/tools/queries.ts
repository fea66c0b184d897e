/**
 * Reads of a computer's tools: the attached servers with their health, and every tool that may be called. No event reports either, so the pages that
 * show them poll. Must not know how they are shown.
 */
import { queryOptions } from '@tanstack/react-query';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import type { ToolInfo } from '../../../contracts/tool-server/tools.ts';
import type { Keys } from '../../base/data/keys.ts';
import type { ToolApi } from './api.ts';

/** While the page is in front, ms; a hidden one reads when it comes back. One small answer from memory. */
const serversEvery = 4_000;
/** While a server is being reached, whose end somebody waits for, ms. */
const connectingEvery = 1_000;

export const toolKeysOf = ({ on }: Pick<Keys, 'on'>) => ({ toolServers: on('tool-servers'), tools: on('tools') });

export function toolQueriesOf(tools: ToolApi, page: Pick<Keys, 'on'>) {
  const keys = toolKeysOf(page);
  return {
    toolServers: queryOptions({
      queryKey: keys.toolServers,
      queryFn: async ({ signal }) => (await tools.listAttachedServers({}, { signal })).servers,
      staleTime: 0,
      refetchOnWindowFocus: true,
      refetchInterval: ({ state: { data, error } }) => {
        // The list counts down its own next try.
        if (error !== null) return false;
        return data?.some((one) => one.status === 'connecting') === true ? connectingEvery : serversEvery;
      },
    }),
    tools: queryOptions({
      queryKey: keys.tools,
      queryFn: async ({ signal }) => (await tools.listTools({}, { signal })).tools,
      staleTime: 0,
    }),
  };
}

/** Changes whenever the tools of any server may have: then, and only then, the long list is read again. */
export function toolsMark(servers: readonly AttachedServer[]): string {
  return servers.map((one) => [one.id, one.name, one.enabled, one.toolCount, one.lastListedAt].join(' ')).join('\n');
}

/** Gantry's own tools in two groups, as the address names them: with a sign that no attached server's name can have. */
export const ownGroup = 'gantry.';
export const documentGroup = 'documents.';

/** The server of a tool: its name, or the group of Gantry's own. */
export function groupOf(tool: ToolInfo): string {
  return tool.server ?? (tool.name.startsWith('document.') ? documentGroup : ownGroup);
}

/** The name that every client accepts: only letters, digits, `_` and `-` (`?names=safe`). */
export const safeName = (name: string): string => name.replaceAll('.', '_');
