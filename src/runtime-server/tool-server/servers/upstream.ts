/**
 * One connection to one server, by the official SDK's client: both eras, over a child's streams or HTTP. Owns the SDK's settings and limits; must
 * not know names that Gantry gives, nor when to reconnect. The SDK is loaded with the first connection.
 */
import type { Client, JSONRPCMessage, Transport as SdkTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { mcpMeta, tasksVersion } from '../../../contracts/tool-server/mcp.ts';
import { type ServedProcess, startServedProcess } from '../../../kit/process/served-process.ts';
import type { FilledPrompt } from '../foreign-tools.ts';
import { type Challenge, faultOf, UpstreamFault } from './fault.ts';
import { type HttpConnection, openHttp } from './http-connection.ts';
import type { ListedTool } from './listing.ts';
import { readableBlock, readFilledPrompt } from './results.ts';
import { isObject } from './schemas.ts';
import { createStdioTransport, type StdioTransport } from './stdio-transport.ts';
import type { Sdk, UpstreamDeps, UpstreamServer } from './upstream-deps.ts';
import {
  askedTtlMs,
  capabilitiesOf,
  createUpstreamTasks,
  readableTask,
  takenTaskOf,
  type UpstreamTasks,
} from './upstream-tasks.ts';

export interface UpstreamList {
  readonly tools: readonly unknown[];
  /** Null: it has prompts, and did not list them this time. */
  readonly prompts: readonly unknown[] | null;
}

export interface Upstream {
  readonly pid: number | null;
  /** Its whole list, unchanged. Throws {@link UpstreamFault}. */
  list(signal: AbortSignal): Promise<UpstreamList>;
  /** Throws {@link UpstreamFault}; where `signal` aborts, the server is notified. */
  call(tool: CalledTool, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<CallAnswer>;
  readonly tasks: UpstreamTasks;
  /** A prompt with these arguments, unchanged. Throws {@link UpstreamFault}. */
  prompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<FilledPrompt>;
  /** One request of an extension, and its unchanged answer. Throws {@link UpstreamFault}; its cause has the server's message, see `saidBy`. */
  ask(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<Readonly<Record<string, unknown>>>;
  /** The server's capabilities, with members that the SDK does not know. Throws {@link UpstreamFault}. */
  capabilities(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  /** Resolves with a sentence when the connection is gone without having been closed. */
  readonly gone: Promise<string>;
  close(): Promise<void>;
}

interface CalledTool extends Pick<ListedTool, 'taskSupport'> {
  readonly name: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** What the server may do beside answering: make a task of it, ask the person. */
  readonly may: { readonly task: boolean; readonly ask: boolean };
  /** The same call again, with what the server asked for. */
  readonly again?: { readonly inputResponses: Readonly<Record<string, unknown>>; readonly requestState?: string };
}

/** `result`: the server's, unchanged. */
export type CallAnswer =
  | { readonly is: 'result'; readonly result: unknown }
  | { readonly is: 'task'; readonly taskId: string }
  | { readonly is: 'input'; readonly requests: unknown; readonly requestState?: string };

const maxPages = 100;
const AnyAnswer = z.looseObject({});
/** One bad tool must not cost the whole list: each is checked separately. */
const Page = z.looseObject({ nextCursor: z.string().optional() });

/** Throws {@link UpstreamFault}; nothing is left behind then. */
export async function openUpstream(
  server: UpstreamServer,
  deps: UpstreamDeps,
  { onListChanged, signal }: { readonly onListChanged: () => void; readonly signal: AbortSignal },
): Promise<Upstream> {
  const sdk = await import('@modelcontextprotocol/client');
  const late = new AbortController();
  const disarm = deps.timers.after(deps.limits.connectMs, () => late.abort());
  const stop = AbortSignal.any([late.signal, signal]);
  try {
    return await connect(sdk, server, deps, onListChanged, stop, 'auto');
  } catch (error) {
    if (late.signal.aborted) {
      throw new UpstreamFault('timeout', `The server did not answer within ${deps.limits.connectMs / 1000} s.`, error);
    }
    throw error;
  } finally {
    disarm();
  }
}

async function connect(
  sdk: Sdk,
  server: UpstreamServer,
  deps: UpstreamDeps,
  onListChanged: () => void,
  stop: AbortSignal,
  mode: 'auto' | 'legacy',
): Promise<Upstream> {
  const way = await openWay(sdk, server, deps);
  const client = new sdk.Client(
    { name: 'gantry', title: 'Gantry', version: deps.version },
    {
      capabilities: {},
      versionNegotiation: { mode, probe: { timeoutMs: deps.limits.probeMs } },
      // A call declares what it can, and its caller asks the person.
      inputRequired: { autoFulfill: false },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 200, onChanged: onListChanged },
        prompts: { autoRefresh: false, debounceMs: 200, onChanged: onListChanged },
      },
      // Schemas of others are never compiled here: see arguments.ts.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
    },
  );
  // The result of a request reports errors; a message that no request waits for is ignored.
  client.onerror = () => {};
  const unread = readUnread(way.transport, sdk);
  const context = () => ({ session: way.transport.sessionId !== undefined, challenge: way.challenge() });
  try {
    await untilStopped(client.connect(way.transport, { timeout: deps.limits.connectMs, signal: stop }), stop);
  } catch (error) {
    const why = way.lastWords();
    await way.close();
    // Some older servers end at a question that they do not know.
    if (mode === 'auto' && way.endedByItself() && !stop.aborted) {
      return connect(sdk, server, deps, onListChanged, stop, 'legacy');
    }
    const fault = faultOf(error, context());
    throw fault.kind === 'unauthorized' || why === null ? fault : new UpstreamFault('connection', why, error);
  }

  let closing = false;
  const gone = new Promise<string>((resolve) => {
    client.onclose = () => {
      if (!closing) resolve(way.lastWords() ?? 'The server closed the connection.');
    };
  });
  return {
    pid: way.pid,
    gone,
    async list(signal) {
      const late = AbortSignal.timeout(deps.limits.listMs);
      try {
        return await listBoth(client, AbortSignal.any([late, signal]), deps.limits.listMs);
      } catch (error) {
        if (late.aborted)
          throw new UpstreamFault(
            'timeout',
            `The server did not list its tools within ${deps.limits.listMs / 1000} s.`,
          );
        throw faultOf(error, { ...context(), listing: true });
      }
    },
    async call({ name, inputSchema, taskSupport }, args, { signal, timeoutMs, may, again }) {
      const toolDefinition = { name, inputSchema: { ...inputSchema, type: 'object' as const } };
      const params = { name, arguments: { ...args }, ...declared(client, may, taskSupport), ...again };
      try {
        const options = { signal, timeout: timeoutMs, toolDefinition, allowInputRequired: true };
        return answerOf(await client.callTool(params as Parameters<Client['callTool']>[0], options));
      } catch (error) {
        throw faultOf(error, context());
      }
    },
    tasks: createUpstreamTasks({
      modern: () => client.getProtocolEra() === 'modern',
      async request(method, params, { signal, timeoutMs }) {
        try {
          return await client.request({ method, params }, AnyAnswer, { signal, timeout: timeoutMs });
        } catch (error) {
          throw faultOf(error, context());
        }
      },
    }),
    async prompt(name, args, { signal, timeoutMs }) {
      try {
        const params = { name, arguments: { ...args } };
        const sent = await client.request({ method: 'prompts/get', params }, AnyAnswer, { signal, timeout: timeoutMs });
        return readFilledPrompt(sent, sdk.isSpecType.ContentBlock);
      } catch (error) {
        throw faultOf(error, context());
      }
    },
    async ask(method, params, { signal, timeoutMs }) {
      const done = unread.asking();
      try {
        return await client.request({ method, params: { ...params } }, AnyAnswer, { signal, timeout: timeoutMs });
      } catch (error) {
        throw faultOf(error, context());
      } finally {
        done();
      }
    },
    async capabilities(signal) {
      // The handshake of the newer era was over before anything could be read beside the SDK.
      if (unread.capabilities() === null) {
        const options = { signal, timeout: deps.limits.listMs };
        await client.request({ method: 'server/discover', params: {} }, AnyAnswer, options).catch((error) => {
          throw faultOf(error, context());
        });
      }
      return { ...client.getServerCapabilities(), ...unread.capabilities() };
    },
    async close() {
      closing = true;
      await way.close();
    },
  };
}

/**
 * Reads messages before the SDK does, because it drops or refuses some: unknown capabilities, answers of extensions whose guides show them without
 * `resultType`, and content blocks for each of which it would refuse the whole answer.
 */
function readUnread(transport: SdkTransport, { isSpecType }: Sdk) {
  let capabilities: Record<string, unknown> | null = null;
  let asked = 0;
  // The SDK calls an existing handler first. It must be set before it connects.
  transport.onmessage = (message) => {
    const result = 'result' in message ? (message.result as Record<string, unknown>) : null;
    if (result === null) return;
    const shaken = result.protocolVersion !== undefined || result.supportedVersions !== undefined;
    if (shaken && isObject(result.capabilities)) capabilities = result.capabilities;
    if (asked > 0 && result.resultType === undefined) result.resultType = 'complete';
    readableTask(result);
    // The result of a task lies inside.
    for (const holder of isObject(result.result) ? [result, result.result as Record<string, unknown>] : [result]) {
      if (!Array.isArray(holder.content)) continue;
      holder.content = holder.content.map((block) => readableBlock(block, isSpecType.ContentBlock));
    }
  };
  return {
    capabilities: () => capabilities,
    /** Until the answer is called, an extension's answer is waited for. */
    asking() {
      asked += 1;
      return () => {
        asked -= 1;
      };
    },
  };
}

/** What this call may become, as the server's revision has it said. */
function declared(
  client: Client,
  may: CallOptions['may'],
  taskSupport: ListedTool['taskSupport'],
): Readonly<Record<string, unknown>> {
  if (client.getProtocolEra() === 'modern') return { _meta: { [mcpMeta.clientCapabilities]: capabilitiesOf(may) } };
  const asks = taskSupport === 'required' || (taskSupport === 'optional' && may.task);
  const { tasks } = client.getServerCapabilities() ?? {};
  const takes = client.getNegotiatedProtocolVersion() === tasksVersion && tasks?.requests?.tools?.call !== undefined;
  return asks && takes ? { task: { ttl: askedTtlMs } } : {};
}

function answerOf(sent: Readonly<Record<string, unknown>>): CallAnswer {
  const taskId = takenTaskOf(sent);
  if (taskId !== null) return { is: 'task', taskId };
  if (sent.resultType !== 'input_required') return { is: 'result', result: sent };
  const { inputRequests: requests, requestState } = sent;
  return { is: 'input', requests, ...(typeof requestState === 'string' ? { requestState } : {}) };
}

async function listBoth(client: Client, signal: AbortSignal, timeout: number): Promise<UpstreamList> {
  const has = client.getServerCapabilities();
  const tools = has?.tools === undefined ? [] : await listAll(client, 'tools', signal, timeout);
  if (has?.prompts === undefined) return { tools, prompts: [] };
  // A server that declares prompts and has none to list does not lose its tools for it.
  const prompts = await listAll(client, 'prompts', signal, timeout).catch((error) => {
    if (signal.aborted || typeof (error as { code?: unknown }).code !== 'number') throw error;
    return null;
  });
  return { tools, prompts };
}

async function listAll(
  client: Client,
  what: 'tools' | 'prompts',
  signal: AbortSignal,
  timeout: number,
): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: `${what}/list`, params }, Page, { signal, timeout });
    const listed = page[what];
    if (!Array.isArray(listed))
      throw new UpstreamFault('answer', `The server’s answer to ${what}/list has no list of ${what}.`);
    items.push(...listed);
    if (page.nextCursor === undefined || page.nextCursor === cursor) return items;
    cursor = page.nextCursor;
  }
  throw new UpstreamFault('answer', `The server lists its ${what} on more than ${maxPages} pages.`);
}

/** A transport with the layer below it. */
interface Way {
  readonly transport: SdkTransport;
  readonly pid: number | null;
  /** Why it is gone, where that can be known. */
  lastWords(): string | null;
  /** It was not we who ended it. */
  endedByItself(): boolean;
  challenge(): Challenge | null;
  close(): Promise<void>;
}

async function openWay(sdk: Sdk, server: UpstreamServer, deps: UpstreamDeps): Promise<Way> {
  const { transport } = server;
  if (transport.type === 'http') return httpWay(openHttp(sdk, server, transport, deps));
  let child: ServedProcess;
  try {
    child = await startServedProcess({
      command: [transport.command, ...(transport.args ?? [])],
      cwd: transport.cwd,
      env: transport.env ?? {},
    });
  } catch (error) {
    throw faultOf(error, { session: false, challenge: null });
  }
  const { clock, timers, limits } = deps;
  const parse = (value: unknown): JSONRPCMessage => sdk.parseJSONRPCMessage(value);
  const stdio = createStdioTransport({ child, largestMessage: limits.largestMessage, parse, clock, timers });
  return stdioWay(child, stdio, transport.command);
}

function httpWay(http: HttpConnection): Way {
  return { ...http, pid: null, lastWords: () => null, endedByItself: () => false };
}

/** The shell that becomes the program may print an error here: the exit code is clearer. */
const ofOurShell = /^gantry: (?:line )?\d+: /;

function stdioWay(child: ServedProcess, transport: StdioTransport, command: string): Way {
  let ended: string | null = null;
  let ours = false;
  void child.exited.then(({ code, signal }) => {
    ended = code === null ? `The server was ended by ${signal}.` : `The server ended with code ${code}.`;
    if (code === 127)
      ended = `${command} could not be started: there is no such program in PATH. Install it, or give its full path.`;
    if (code === 126)
      ended = `${command} could not be started: it is not executable. Make it executable, or name the program that runs it first.`;
  });
  return {
    transport,
    pid: child.pid,
    endedByItself: () => ended !== null && !ours,
    challenge: () => null,
    lastWords() {
      const lines = child.complaint().trim().split('\n');
      const said = lines
        .filter((line) => !ofOurShell.test(line))
        .slice(-5)
        .join('\n')
        .slice(-600);
      const garbage = transport.garbage();
      if (ended === null)
        return garbage === null ? null : `The server wrote ${JSON.stringify(garbage)} where JSON-RPC belongs.`;
      return said === '' ? ended : `${ended} Its last output: ${said}`;
    },
    async close() {
      ours ||= ended === null;
      await transport.close();
    },
  };
}

/** The work may ignore its signal. */
async function untilStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  let abort = () => {};
  const stopped = new Promise<never>((_, reject) => {
    abort = () => reject(new UpstreamFault('connection', 'The server was stopped.'));
    if (stop.aborted) abort();
    stop.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    stop.removeEventListener('abort', abort);
    work.catch(() => {});
  }
}
