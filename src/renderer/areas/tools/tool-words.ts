/** Tools and their servers in a person's words. Pure. */
import { byName } from '../../../contracts/common/by-name.ts';
import type { AttachedServer, Transport } from '../../../contracts/tool-server/servers.ts';
import type { ToolInfo } from '../../../contracts/tool-server/tools.ts';
import { formatElapsed } from '../../ui/now.tsx';
import { documentGroup, groupOf, ownGroup } from './queries.ts';

/** A server as the list shows it: an attached one, or a group of Gantry's own tools. */
export interface ToolGroup {
  /** In the address. */
  readonly key: string;
  readonly name: string;
  readonly about: string;
  /** Null: Gantry's own. */
  readonly server: AttachedServer | null;
}

const own: readonly ToolGroup[] = [
  {
    key: ownGroup,
    name: 'Gantry',
    about: 'Commands, files, requests and time on this computer. Built into Gantry.',
    server: null,
  },
  {
    key: documentGroup,
    name: 'Documents',
    about: 'Converts common document formats to Markdown. Built into Gantry.',
    server: null,
  },
];

/** Gantry's own first, then by name. */
export function groupsOf(servers: readonly AttachedServer[]): readonly ToolGroup[] {
  const attached = servers.map(
    (server): ToolGroup => ({ key: server.name, name: server.name, about: whereOf(server.transport), server }),
  );
  return [...own, ...attached.sort((a, b) => byName(a.name, b.name))];
}

/** The command line, or the address. */
export function whereOf(transport: Transport): string {
  if (transport.type === 'http') return transport.url;
  return [transport.command, ...(transport.args ?? [])]
    .map((word) => (/\s|^$/.test(word) ? `"${word}"` : word))
    .join(' ');
}

/** Why a server has no tools. */
export function noneWords(group: ToolGroup | null): string {
  switch (group?.server?.status) {
    case 'disabled':
      return 'This server is disabled: its tools are not offered.';
    case 'connected':
      return 'This server has no tools.';
    case 'error':
      return 'No tools: this server could not be started or reached, for the reason above. Press Change to fix its command, address, variables or headers, or Reconnect to try again.';
    case 'needs_reauth':
      return 'Its tools appear here once you have signed in.';
    default:
      return 'Its tools appear here once it has listed them.';
  }
}

interface ToolFilter {
  /** Key of a group; null: of all. */
  readonly group: string | null;
  readonly text: string;
}

/** Every word must be in the name, the title or the description; those with all of them in the name come first. */
export function filterTools(tools: readonly ToolInfo[], { group, text }: ToolFilter): readonly ToolInfo[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const found = tools
    .filter((tool) => {
      if (group !== null && groupOf(tool) !== group) return false;
      return has(`${tool.name} ${titleOf(tool) ?? ''} ${tool.description ?? ''}`);
    })
    .sort((a, b) => byName(a.name, b.name));
  return [...found.filter(({ name }) => has(name)), ...found.filter(({ name }) => !has(name))];
}

export const titleOf = (tool: ToolInfo): string | undefined => tool.title ?? tool.annotations?.title;

/** What a tool says of itself; what it does not say is not shown. */
export function hintsOf({ annotations }: ToolInfo): readonly { readonly word: string; readonly says: string }[] {
  const hints = [];
  if (annotations?.readOnlyHint === true) hints.push({ word: 'read-only', says: 'readOnlyHint: it changes nothing' });
  else if (annotations?.destructiveHint === true) {
    hints.push({ word: 'destructive', says: 'destructiveHint: it may delete or overwrite data' });
  }
  if (annotations?.idempotentHint === true && annotations.readOnlyHint !== true) {
    hints.push({ word: 'repeatable', says: 'idempotentHint: repeating the call changes nothing more' });
  }
  if (annotations?.openWorldHint === true) {
    hints.push({ word: 'external', says: 'openWorldHint: it reaches beyond this computer' });
  }
  return hints;
}

/** `230 ms`, `1.2 s`, `1:04`. */
export function tookWords(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : formatElapsed(milliseconds);
}

/** `12 kB` */
export function sizeWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Bytes behind base64. */
export const sizeOfBase64 = (data: string): number => Math.floor((data.replace(/=+$/, '').length * 3) / 4);
