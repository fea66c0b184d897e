/**
 * Converts results to the version that is spoken: older clients refuse fields that their schema lacks. Pure. Must not know who asks or what is
 * called.
 */
import { legacyVersions } from '../../contracts/tool-server/mcp.ts';
import type { ContentBlock, ToolResult } from '../../contracts/tool-server/tools.ts';
import { isObject } from './message.ts';
import type { Era, JsonObject } from './service.ts';

/** The caching fields of results in the modern era: each client keeps its own copy, and asks again each time. */
export const cached = { ttlMs: 0, cacheScope: 'private' } as const;

type Version = (typeof legacyVersions)[number];
const since = (version: Version) => legacyVersions.indexOf(version);
/** Blocks that the first version lacked, and the version that added each. */
const broughtBy: Readonly<Record<string, Version>> = { audio: '2025-03-26', resource_link: '2025-06-18' };

/** The result of a call for this version. */
export function callResult(result: ToolResult, era: Era, version: string): JsonObject {
  if (era === 'modern') return result;
  const { structuredContent, ...rest } = result;
  const content = rest.content.some((block) => isNewer(block, version))
    ? rest.content.map((block) => (isNewer(block, version) ? asText(block) : block))
    : rest.content;
  // Only objects before 2026-07-28; a text block says the same.
  return isObject(structuredContent) ? { ...rest, content, structuredContent } : { ...rest, content };
}

/** A listed tool for this era: earlier versions could describe only an object as output. `tasks`: the version lists which tools take tasks. */
export function listedTool({ execution, ...tool }: JsonObject, era: Era, tasks: boolean): JsonObject {
  const shown = tasks && execution !== undefined ? { ...tool, execution } : tool;
  const { outputSchema, ...rest } = shown;
  if (era === 'modern' || !isObject(outputSchema) || outputSchema.type === 'object') return shown;
  return rest;
}

function isNewer(block: ContentBlock, version: string): boolean {
  const brought = broughtBy[block.type];
  return brought !== undefined && since(version as Version) > since(brought);
}

function asText(block: ContentBlock): ContentBlock {
  const { uri, name, mimeType } = block;
  const what = block.type === 'resource_link' ? `${name ?? 'resource'}: ${uri}` : `[${block.type} ${mimeType ?? ''}]`;
  return { type: 'text', text: what };
}
