/**
 * The tools and prompts of all enabled servers as one list: `<server>.<tool>`, so that two servers cannot shadow each other, and
 * in byte order, because a changing order defeats the prompt caches of model vendors. Each name belongs to one tool in both
 * spellings. Owns the revision; must not know connections or rows.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../kit/ledger/canonical.ts';
import type { ForeignPrompt, ForeignTool } from '../foreign-tools.ts';
import { type ListedPrompt, type ListedTool, quoted } from './listing.ts';

interface CatalogueServer {
  readonly id: string;
  readonly name: string;
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
}

interface Found {
  readonly serverId: string;
  readonly tool: ListedTool;
}

export interface Catalogue {
  readonly tools: readonly ForeignTool[];
  readonly prompts: readonly ForeignPrompt[];
  /** By either spelling of its name. */
  find(name: string): Found | undefined;
  /** By the whole name: its server, and what that calls it. */
  findPrompt(name: string): { readonly serverId: string; readonly prompt: string } | undefined;
  /** Collisions, by the id of the server whose tool gave way. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
}

/** Model vendors refuse longer names (`^[a-zA-Z0-9_-]{1,64}$`). */
const maxNameLength = 64;

/** The spelling that every client accepts; `?names=safe` asks for it. */
const safeName = (name: string) => name.replaceAll('.', '_');

/** `servers`: oldest first. Who was attached first keeps a name that two would have: it never depends on who answers first. */
export function createCatalogue(servers: readonly CatalogueServer[]): Catalogue {
  const found = new Map<string, Found & { readonly name: string }>();
  const problems = new Map<string, string[]>();
  const tools: ForeignTool[] = [];
  for (const server of servers) {
    for (const tool of inByteOrder(server.tools, (listed) => listed.tool)) {
      const name = `${server.name}.${tool.tool}`;
      const problem = problemOf(name, tool, found.get(name) ?? found.get(safeName(name)));
      if (problem !== null) {
        problems.set(server.id, [...(problems.get(server.id) ?? []), problem]);
        continue;
      }
      const entry = { serverId: server.id, tool, name };
      found.set(name, entry);
      found.set(safeName(name), entry);
      tools.push(foreign(name, server.name, tool));
    }
  }
  const places = new Map<string, { readonly serverId: string; readonly prompt: string }>();
  const prompts = servers.flatMap(({ id, name: server, prompts: listed }) =>
    listed.map(({ prompt, ...shown }): ForeignPrompt => {
      const name = `${server}.${prompt}`;
      places.set(name, { serverId: id, prompt });
      return { name, server, ...shown };
    }),
  );
  return {
    tools: inByteOrder(tools, (tool) => tool.name),
    prompts: inByteOrder(prompts, (prompt) => prompt.name),
    find: (name) => found.get(name),
    findPrompt: (name) => places.get(name),
    problems,
  };
}

function problemOf(name: string, { tool }: ListedTool, other: { readonly name: string } | undefined): string | null {
  if (name.length > maxNameLength) {
    return `${quoted(tool)} is left out: with the server’s name it has ${name.length} characters, more than ${maxNameLength}.`;
  }
  return other === undefined
    ? null
    : `${quoted(tool)} is left out: "${safeName(name)}" is another name of "${other.name}".`;
}

function foreign(name: string, server: string, listed: ListedTool): ForeignTool {
  const { tool: _, sentSchema: __, taskSupport: ___, ...shown } = listed;
  return { name, server, ...shown };
}

function inByteOrder<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  return [...items].sort((a, b) => Buffer.compare(Buffer.from(nameOf(a)), Buffer.from(nameOf(b))));
}

/** Whether two lists are equal, in whatever order of tools and of members: the one shown is then kept, byte for byte. */
export function listHash(tools: readonly ListedTool[], prompts: readonly ListedPrompt[] = []): string {
  const sorted = [inByteOrder(tools, (listed) => listed.tool), inByteOrder(prompts, (listed) => listed.prompt)];
  return createHash('sha256').update(canonicalJson(sorted)).digest('hex');
}

/** Which tools are new, gone or changed; few of each. */
export function difference(before: readonly ListedTool[], after: readonly ListedTool[]) {
  const known = new Map(before.map((tool) => [tool.tool, listHash([tool])]));
  const names = new Set(after.map((tool) => tool.tool));
  const few = (tools: readonly string[]) => tools.slice(0, 20);
  return {
    added: few(after.flatMap(({ tool }) => (known.has(tool) ? [] : [tool]))),
    removed: few(before.flatMap(({ tool }) => (names.has(tool) ? [] : [tool]))),
    changed: few(
      after.flatMap((tool) => (known.has(tool.tool) && known.get(tool.tool) !== listHash([tool]) ? [tool.tool] : [])),
    ),
  };
}
