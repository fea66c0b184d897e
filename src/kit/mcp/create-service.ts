/**
 * An MCP server for lists and calls, made of providers: maps methods to providers and validates parameters. Must not know headers, versions'
 * handshakes or what is behind a provider.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { rpcCodes, tasksVersion } from '../../contracts/tool-server/mcp.ts';
import type { ToolResult } from '../../contracts/tool-server/tools.ts';
import { createCache, createToolIndex, listResult, type ToolIndex } from './listings.ts';
import { isObject } from './message.ts';
import { cached, callResult } from './results.ts';
import type {
  Capabilities,
  CompletionProvider,
  JsonObject,
  Listing,
  McpRequest,
  McpService,
  McpServiceOptions,
  PassedOn,
  PromptProvider,
  ResourceProvider,
  RpcAnswer,
  ServerInfo,
  Task,
  TaskWish,
  ToolProvider,
} from './service.ts';
import { createdTask, taskCapabilities, taskMethods, wishOf } from './tasks.ts';

type Method = (request: McpRequest) => Promise<RpcAnswer> | RpcAnswer;

export function createMcpService(options: McpServiceOptions): McpService {
  const { info, instructions, tools, prompts, resources, completions, tasks } = options;
  const methods = new Map<string, Method>([
    ...(tools === undefined ? [] : toolMethods(tools, info, tasks !== undefined)),
    ...(prompts === undefined ? [] : promptMethods(prompts, info)),
    ...(resources === undefined ? [] : resourceMethods(resources, info)),
    ...(completions === undefined ? [] : completionMethods(completions)),
    ...(tasks === undefined ? [] : taskMethods(tasks)),
    ...Object.entries(options.methods ?? {}),
  ]);
  const own: Capabilities = {
    ...(tools === undefined ? {} : { tools: {} }),
    ...(prompts === undefined ? {} : { prompts: {} }),
    ...(resources === undefined ? {} : { resources: {} }),
    ...(completions === undefined ? {} : { completions: {} }),
  };
  return {
    info,
    ...(instructions === undefined ? {} : { instructions }),
    capabilities(era, version) {
      const ofTasks: Capabilities = tasks === undefined ? {} : taskCapabilities(version);
      const more: Capabilities = options.extensions?.(era) ?? {};
      const extensions = { ...ofTasks.extensions, ...more.extensions };
      return { ...own, ...ofTasks, ...more, ...(Object.keys(extensions).length === 0 ? {} : { extensions }) };
    },
    handle: (request) => methods.get(request.method)?.(request) ?? null,
  };
}

function toolMethods(tools: ToolProvider, info: ServerInfo, withTasks: boolean): [string, Method][] {
  const kept = createCache<ToolIndex>();
  // Usually the same listing: found without building a key.
  let last: { readonly revision: string | number; readonly index: ToolIndex } | undefined;
  const indexOf = (listing: Awaited<ReturnType<ToolProvider['list']>>) => {
    const { revision } = listing;
    if (last?.revision === revision) return last.index;
    const index = kept(`${typeof revision} ${revision}`, () => createToolIndex(listing, info));
    last = { revision, index };
    return index;
  };
  return [
    [
      'tools/list',
      async (request) => {
        const refused = cursorProblem(request);
        if (refused !== null) return refused;
        return {
          json: indexOf(await tools.list(request)).json(
            request.era,
            request.names,
            withTasks && request.version === tasksVersion,
          ),
        };
      },
    ],
    [
      'tools/call',
      async (request) => {
        const { name: written } = request.params;
        const given = request.params.arguments ?? {};
        if (typeof written !== 'string') return invalid('name must be a string');
        if (!isObject(given)) return invalid('arguments must be an object');
        const listing = tools.list(request);
        const index = indexOf(listing instanceof Promise ? await listing : listing);
        const name = index.resolve(written);
        if (name === undefined) return invalid(`Unknown tool: ${short(written)}`, null);
        const wish = withTasks ? wishOf(request) : null;
        if (wish?.always === true && !index.takesTasks(name)) {
          const message = `The tool ${short(written)} takes no tasks. Call it without task.`;
          return { error: { code: rpcCodes.methodNotFound, message } };
        }
        const result = await called(tools, name, given, request, wish);
        if ('task' in result) return createdTask(result.task, request);
        if ('passedOn' in result) return result.passedOn;
        return { result: callResult(result, request.era, request.version) };
      },
    ],
  ];
}

/** Errors that a model could mend become a result that it reads; internal faults are thrown on. */
async function called(
  tools: ToolProvider,
  name: string,
  args: JsonObject,
  request: McpRequest,
  wish: TaskWish | null,
): Promise<ToolResult | { readonly task: Task } | PassedOn> {
  try {
    return await tools.call(name, args, request, wish);
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code === 'internal') throw thrown;
    const text = `${thrown.fact} ${thrown.action}`.trim();
    const error = thrown.options.wireCode ?? thrown.code;
    return {
      content: [{ type: 'text', text }],
      structuredContent: { error, message: text, ...thrown.options.extra },
      isError: true,
    };
  }
}

function promptMethods(prompts: PromptProvider, info: ServerInfo): [string, Method][] {
  return [
    ['prompts/list', lister('prompts', 'name', (request) => prompts.list(request), info)],
    [
      'prompts/get',
      async (request) => {
        const { name } = request.params;
        const given = request.params.arguments ?? {};
        if (typeof name !== 'string') return invalid('name must be a string');
        if (!isStrings(given)) return invalid('arguments must be an object of strings');
        const prompt = (await prompts.list(request)).items.find((listed) => listed.name === name);
        if (prompt === undefined) return invalid(`Unknown prompt: ${short(name)}`, null);
        const lacking = prompt.arguments?.find((each) => each.required === true && !Object.hasOwn(given, each.name));
        if (lacking !== undefined) return invalid(`the prompt ${name} needs the argument ${lacking.name}`);
        return { result: { ...(await prompts.get(name, given, request)) } };
      },
    ],
  ];
}

function resourceMethods(resources: ResourceProvider, info: ServerInfo): [string, Method][] {
  return [
    ['resources/list', lister('resources', 'uri', (request) => resources.list(request), info)],
    [
      'resources/templates/list',
      lister('resourceTemplates', 'uriTemplate', (request) => resources.templates(request), info),
    ],
    [
      'resources/read',
      async (request) => {
        const { uri } = request.params;
        if (typeof uri !== 'string') return invalid('uri must be a string');
        const contents = await resources.read(uri, request);
        if (contents === null || contents.length === 0) return unknownResource(uri, request);
        return { result: { contents, ...(request.era === 'modern' ? cached : {}) } };
      },
    ],
  ];
}

function unknownResource(uri: string, { era }: McpRequest): RpcAnswer {
  const code = era === 'modern' ? rpcCodes.invalidParams : rpcCodes.resourceNotFound;
  return { error: { code, message: `Resource not found: ${short(uri)}`, data: { uri } } };
}

function completionMethods(completions: CompletionProvider): [string, Method][] {
  return [
    [
      'completion/complete',
      async (request) => {
        const { ref, argument } = request.params;
        if (!isObject(ref)) return invalid('ref must be an object');
        if (!isObject(argument)) return invalid('argument must be an object');
        const { name, value } = argument;
        if (typeof name !== 'string' || typeof value !== 'string') return invalid('argument must have name and value');
        return { result: { completion: await completions.complete(ref, { name, value }, request) } };
      },
    ],
  ];
}

/** The whole list, so there is never a cursor. */
function lister<T extends object>(
  member: string,
  by: string,
  list: (request: McpRequest) => Promise<Listing<T>> | Listing<T>,
  info: ServerInfo,
): Method {
  const kept = createCache<string>();
  return async (request) => {
    const refused = cursorProblem(request);
    if (refused !== null) return refused;
    const { items, revision } = await list(request);
    const { era } = request;
    return {
      json: kept(`${era} ${typeof revision} ${revision}`, () =>
        listResult(member, items as readonly JsonObject[], by, era, info),
      ),
    };
  };
}

function cursorProblem({ params }: McpRequest): RpcAnswer | null {
  // Clients send null for missing fields.
  if (params.cursor === undefined || params.cursor === null) return null;
  return invalid('cursor is not one that was given here; lists are not paged');
}

/** `label` precedes the error in the parameters; for an unknown thing only its name is given. */
function invalid(what: string, label: 'Invalid params' | null = 'Invalid params'): RpcAnswer {
  const message = label === null ? what : `${label}: ${what}.`;
  return { error: { code: rpcCodes.invalidParams, message } };
}

function short(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function isStrings(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((each) => typeof each === 'string');
}
