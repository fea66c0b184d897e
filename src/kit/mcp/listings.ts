/**
 * Lists in their wire form: in byte order, with members in one order, serialised once for each revision, era and spelling of names, and the same
 * bytes after each start. A changing order would break model providers' prompt caches. Must not know where items come from.
 */
import { mcpMeta } from '../../contracts/tool-server/mcp.ts';
import type { NameStyle } from '../../contracts/tool-server/tools.ts';
import { canonicalJson } from '../ledger/canonical.ts';
import { byBytes, safeNames } from './names.ts';
import { cached, listedTool } from './results.ts';
import type { Era, JsonObject, ListedTool, Listing, ServerInfo } from './service.ts';

/** Callers see few different lists; beyond this number they are serialised again. */
const maxLists = 64;

/** Caches the lists of a revision; the least recently used goes first. */
export function createCache<T>(): (key: string, make: () => T) => T {
  const kept = new Map<string, T>();
  return (key, make) => {
    const found = kept.get(key);
    if (found !== undefined) {
      kept.delete(key);
      kept.set(key, found);
      return found;
    }
    const made = make();
    kept.set(key, made);
    if (kept.size > maxLists) kept.delete(kept.keys().next().value as string);
    return made;
  };
}

/** The serialised result of a list method: `{"tools":[…],…}` with the era's fields. */
export function listResult(
  member: string,
  items: readonly JsonObject[],
  by: string,
  era: Era,
  info: ServerInfo,
): string {
  const sorted = items.toSorted((a, b) => byBytes(String(a[by]), String(b[by])));
  const modern =
    era === 'modern' ? { resultType: 'complete', ...cached, _meta: { [mcpMeta.serverInfo]: info } } : undefined;
  return canonicalJson({ ...modern, [member]: sorted });
}

/** Finds tools by either spelling, and lists them in one. */
export interface ToolIndex {
  /** The dotted name for a caller's name; undefined if there is no such tool. */
  resolve(written: string): string | undefined;
  /** `tasks`: with which tools take tasks. */
  json(era: Era, names: NameStyle, tasks: boolean): string;
  takesTasks(name: string): boolean;
}

export function createToolIndex({ items }: Listing<ListedTool>, info: ServerInfo): ToolIndex {
  const dotted = new Set(items.map(({ name }) => name));
  const safe = safeNames([...dotted]);
  const behind = new Map([...safe].map(([name, spelled]) => [spelled, name]));
  const tasked = new Set(items.filter(({ execution }) => execution !== undefined).map(({ name }) => name));
  const kept = createCache<string>();
  return {
    resolve: (written) => (dotted.has(written) ? written : behind.get(written)),
    takesTasks: (name) => tasked.has(name),
    json: (era, names, tasks) =>
      kept(`${era} ${names} ${tasks}`, () => {
        const shown = items.map((tool) => {
          const listed = listedTool({ ...tool }, era, tasks);
          return names === 'safe' ? { ...listed, name: safe.get(tool.name) } : listed;
        });
        return listResult('tools', shown, 'name', era, info);
      }),
  };
}
