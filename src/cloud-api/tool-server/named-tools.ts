/**
 * The tool server as a key sees it that names its tools: only those, and where it asks for that, one tool that finds them in place of their list. Owns
 * that no other tool is called, by either spelling. Must not know how a computer is reached.
 */
import { z } from 'zod';
import type { KeyTools } from '../../contracts/identity/keys.ts';
import { rpcCodes } from '../../contracts/tool-server/mcp.ts';
import type { ToolInfo } from '../../contracts/tool-server/tools.ts';
import { byBytes, safeNames, safeSpelling } from '../../kit/mcp/names.ts';
import { cached } from '../../kit/mcp/results.ts';
import type { JsonObject, McpRequest, McpService, RpcAnswer } from '../../kit/mcp/service.ts';

/** Whether the set has the tool of this dotted name. */
export function hasTool({ names }: KeyTools, name: string): boolean {
  return names.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
}

/** Tools by their dotted names; `fresh`: as the computer lists them now, else perhaps as it did before. */
type ToolsOf = (request: McpRequest, fresh: boolean) => Promise<readonly ToolInfo[]>;

/** The dotted name of a tool of the set, by either spelling; null: the set has no such tool. */
export async function findTool(
  set: KeyTools,
  written: string,
  toolsOf: (fresh: boolean) => Promise<readonly ToolInfo[]>,
): Promise<string | null> {
  // A spelling without dots may stand for another name, which is the one that counts.
  if (written !== safeSpelling(written)) return hasTool(set, written) ? written : null;
  for (const fresh of [false, true]) {
    const names = (await toolsOf(fresh)).map(({ name }) => name);
    const found = [...safeNames(names)].find(([, safe]) => safe === written)?.[0];
    if (found !== undefined) return hasTool(set, found) ? found : null;
  }
  return null;
}

const searchName = 'tools.search';
const maxFound = 50;
const SearchInput = z.strictObject({
  query: z.string().max(500).describe('Words of what the tool should do; empty: the first tools by name.'),
  limit: z.number().int().min(1).max(maxFound).optional().describe('At most so many; default 10.'),
});
const { $schema: _, ...searchSchema } = z.toJSONSchema(SearchInput, { io: 'input' });

const lists: Readonly<Record<string, string>> = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

export function withNamedTools(service: McpService, toolsOf: ToolsOf): McpService {
  return {
    ...service,
    handle(request) {
      const { tools } = request.principal;
      return tools === undefined ? service.handle(request) : answer(request, tools);
    },
  };

  async function answer(request: McpRequest, set: KeyTools): Promise<RpcAnswer | null> {
    const { method, era } = request;
    const listed = lists[method];
    if (listed !== undefined) return { result: { ...(era === 'modern' ? cached : {}), [listed]: [] } };
    if (/^(?:prompts|resources|completion)\//.test(method)) {
      return invalid('This API key names its tools: it has no prompts and no resources.');
    }
    if (method === 'tools/list') return set.search === true ? searchListed(request) : narrowed(request, set);
    return method === 'tools/call' ? call(request, set) : service.handle(request);
  }

  async function narrowed(request: McpRequest, set: KeyTools): Promise<RpcAnswer | null> {
    const seen =
      request.names === 'safe'
        ? safeOf(set, await toolsOf(request, true))
        : { has: (name: string) => hasTool(set, name) };
    const only = (result: unknown) => {
      const { tools = [], ...rest } = result as { readonly tools?: readonly { readonly name: string }[] };
      return { ...rest, tools: tools.filter(({ name }) => seen.has(name)) };
    };
    const whole = await service.handle(request);
    if (whole === null) return null;
    if ('json' in whole) return { json: JSON.stringify(only(JSON.parse(whole.json))) };
    if (!('text' in whole) || whole.status !== 200) return whole;
    const body = JSON.parse(whole.text.toString()) as JsonObject;
    if (body.result === undefined) return whole;
    return { text: JSON.stringify({ ...body, result: only(body.result) }), status: whole.status };
  }

  async function call(request: McpRequest, set: KeyTools): Promise<RpcAnswer | null> {
    const { name: written } = request.params;
    if (typeof written !== 'string') return service.handle(request);
    if (set.search === true && (written === searchName || written === safeSpelling(searchName))) {
      return search(request, set);
    }
    const found = await findTool(set, written, (fresh) => toolsOf(request, fresh));
    if (found === null) {
      return invalid(`Unknown tool: ${written.length > 200 ? `${written.slice(0, 200)}…` : written}`);
    }
    // Called by the name that was looked up, whatever the other spelling stands for by now.
    return service.handle(found === written ? request : named(request, found));
  }

  async function search(request: McpRequest, set: KeyTools): Promise<RpcAnswer> {
    const { data, error } = SearchInput.safeParse(request.params.arguments ?? {});
    if (error !== undefined) {
      const said = error.issues.map(({ path, message }) => [...path.map(String), message].join(': ')).join('; ');
      return {
        result: { content: [{ type: 'text', text: `${searchName} does not take this: ${said}` }], isError: true },
      };
    }
    const all = await toolsOf(request, true);
    const safe = request.names === 'safe' ? safeNames(all.map(({ name }) => name)) : null;
    const found = ranked(
      all.filter(({ name }) => hasTool(set, name)),
      data.query,
    )
      .slice(0, data.limit ?? 10)
      .map(({ name, title, description, inputSchema }) => ({
        name: safe?.get(name) ?? name,
        title,
        description,
        inputSchema,
      }));
    const structured = { tools: found };
    const content = [{ type: 'text', text: JSON.stringify(structured) }];
    return { result: { content, structuredContent: structured, isError: false } };
  }
}

/** The safe spellings of the set's tools. */
function safeOf(set: KeyTools, tools: readonly ToolInfo[]): ReadonlySet<string> {
  const safe = safeNames(tools.map(({ name }) => name));
  return new Set([...safe].flatMap(([name, spelled]) => (hasTool(set, name) ? [spelled] : [])));
}

function searchListed({ era, names }: McpRequest): RpcAnswer {
  const tool = {
    name: names === 'safe' ? safeSpelling(searchName) : searchName,
    title: 'Find a tool',
    description:
      'Finds the tools that you may call, by what they do. Returns their names and input schemas: call one by its name.',
    inputSchema: searchSchema,
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
  return { result: { ...(era === 'modern' ? cached : {}), tools: [tool] } };
}

/** By how many words of the query a tool's name, title and description have; all of them, by name, for an empty query. */
function ranked(tools: readonly ToolInfo[], query: string): ToolInfo[] {
  const words = [...new Set(wordsOf(query))];
  const scored = tools.map((tool) => ({ tool, score: scoreOf(tool, words) }));
  return scored
    .filter(({ score }) => words.length === 0 || score > 0)
    .sort((a, b) => b.score - a.score || byBytes(a.tool.name, b.tool.name))
    .map(({ tool }) => tool);
}

function scoreOf({ name, title = '', description = '' }: ToolInfo, words: readonly string[]): number {
  const parts = new Set(wordsOf(name));
  const about = new Set([...wordsOf(title), ...wordsOf(description)]);
  let score = 0;
  for (const word of words) {
    if (parts.has(word)) score += 5;
    else if (name.toLowerCase().includes(word)) score += 3;
    if (about.has(word)) score += 2;
  }
  return score;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** The same request for a tool under this name. */
function named(asked: McpRequest, name: string): McpRequest {
  const { era, version, id, method, names, client, can, principal, query, place, request, response } = asked;
  const params = { ...asked.params, name };
  const raw = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  return {
    ...{ era, version, id, method, params, names, client, can, raw, principal, query, place, request, response },
    get signal() {
      return asked.signal;
    },
  };
}

const invalid = (message: string): RpcAnswer => ({ error: { code: rpcCodes.invalidParams, message } });
