/**
 * The JSON-RPC endpoint of MCP, in every protocol version, as the handler of a raw route: one request a POST, plain
 * JSON back, no state between requests. The dispatcher in front has checked Host, Origin, credential and scope, and
 * answers other methods. Must not know what a service lists or calls.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import {
  fallbackVersion,
  legacyVersions,
  mcpMeta,
  mcpVersions,
  modernVersion,
  rpcCodes,
} from '../../contracts/tool-server/mcp.ts';
import { callBodyLimit, type NameStyle } from '../../contracts/tool-server/tools.ts';
import { headOf } from '../http/base-headers.ts';
import { readRaw } from '../http/body.ts';
import { endAtOnce } from '../http/end-at-once.ts';
import type { Context } from '../http/types.ts';
import { readEra, type Spoken } from './era.ts';
import { isObject, type Message, type Refusal, readMessage } from './message.ts';
import { cached } from './results.ts';
import type { Era, JsonObject, McpRequest, McpService, RpcAnswer, RpcError, RpcId } from './service.ts';

export interface McpEndpointOptions {
  readonly service: McpService;
  /** Requests of 2026-07-28 must carry `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`; else they are checked when present. */
  readonly strictHeaders?: boolean;
  /** Bytes. */
  readonly bodyLimit?: number;
  readonly log: { error(message: string, fields?: Record<string, unknown>): void };
}

type McpHandler = (context: Context<Route>) => Promise<void>;

const ok = 200;
const accepted = 202;
const notFound = 404;
const jsonType = /^application\/json\s*(?:;|$)/i;

export function createMcpEndpoint({
  service,
  strictHeaders = false,
  bodyLimit = callBodyLimit,
  log,
}: McpEndpointOptions): McpHandler {
  const stamps: Stamps = {
    modern: { [mcpMeta.serverInfo]: service.info },
    complete: `"resultType":"complete","_meta":${JSON.stringify({ [mcpMeta.serverInfo]: service.info })}`,
  };

  return async (context) => {
    const { request, response, requestId } = context;
    const type = request.headers['content-type'];
    const encoding = request.headers['content-encoding'];
    if (type === undefined || !jsonType.test(type) || (encoding !== undefined && encoding !== 'identity')) {
      throw new AppError('usage', 'Only an application/json body is accepted here.', 'Send JSON, not compressed.', {
        wireCode: 'unsupported_media_type',
      });
    }
    const raw = await readRaw(request, bodyLimit);
    const message = readMessage(raw);
    if ('error' in message) return refuse(context, message);
    const spoken = readEra(message, request.headers, strictHeaders);
    if ('error' in spoken) return refuse(context, spoken);
    if (message.id === undefined) {
      response.writeHead(accepted, headOf(requestId, 0)).end();
      return;
    }
    const { id } = message;
    const asked = new Asked(message, id, spoken, raw, context);
    let answer: RpcAnswer;
    try {
      answer = local(service, asked) ?? (await service.handle(asked)) ?? unknownMethod(message.method);
    } catch (thrown) {
      answer = { error: faultOf(thrown) };
      if (answer.error.code === rpcCodes.internal && !(thrown instanceof AppError && thrown.code !== 'internal')) {
        const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
        const error = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
        log.error('request failed', { requestId, method: message.method, error });
      }
    }
    // Nobody reads an answer whose caller has left.
    if (response.destroyed) return;
    write(context, bodyOf(id, answer, spoken.era, stamps), statusOf(answer));
  };
}

/** A class for its shape, and so that the signal is created only for those who use it. */
class Asked implements McpRequest {
  readonly era: Era;
  readonly version: string;
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
  readonly client: McpRequest['client'];
  readonly can: JsonObject;
  readonly raw: Buffer;
  readonly #context: Context<Route>;

  constructor(message: Message, id: RpcId, spoken: Spoken, raw: Buffer, context: Context<Route>) {
    this.era = spoken.era;
    this.version = spoken.version;
    this.id = id;
    this.method = message.method;
    this.params = message.params;
    this.client = spoken.client;
    this.can = spoken.can;
    this.raw = raw;
    this.#context = context;
  }

  get names(): NameStyle {
    return this.query.names === 'safe' ? 'safe' : 'dotted';
  }
  get principal() {
    return this.#context.principal;
  }
  get signal() {
    return this.#context.signal;
  }
  get query() {
    return this.#context.query as JsonObject;
  }
  get place() {
    return (this.#context.params ?? {}) as JsonObject;
  }
  get request() {
    return this.#context.request;
  }
  get response() {
    return this.#context.response;
  }
}

/** The layer's own answers; null for every other method. */
function local(service: McpService, asked: Asked): RpcAnswer | null {
  const { method, era } = asked;
  if (era === 'modern') {
    if (method === 'server/discover') return { result: discovered(service) };
    // The handshake and its notifications belong to the earlier versions.
    return method === 'initialize' || method === 'ping' ? unknownMethod(method) : null;
  }
  if (method === 'ping') return { result: {} };
  return method === 'initialize' ? initialized(service, asked.params) : null;
}

function discovered(service: McpService): JsonObject {
  const { instructions } = service;
  return {
    supportedVersions: mcpVersions,
    capabilities: service.capabilities('modern', modernVersion),
    ...(instructions === undefined ? {} : { instructions }),
    ...cached,
  };
}

function initialized(service: McpService, params: JsonObject): RpcAnswer {
  const asked = params.protocolVersion;
  if (typeof asked !== 'string') {
    return { error: { code: rpcCodes.invalidParams, message: 'Invalid params: protocolVersion must be a string.' } };
  }
  const version = legacyVersions.find((known) => known === asked) ?? fallbackVersion;
  const { info, instructions } = service;
  return {
    result: {
      protocolVersion: version,
      capabilities: service.capabilities('legacy', version),
      serverInfo: info,
      ...(instructions === undefined ? {} : { instructions }),
    },
  };
}

function unknownMethod(method: string): RpcAnswer {
  const shown = method.length > 200 ? `${method.slice(0, 200)}…` : method;
  return { error: { code: rpcCodes.methodNotFound, message: `Method not found: ${shown}`, status: notFound } };
}

/** The wire code of a failure. Codes of our own would fall into a range that the protocol reserves. */
function faultOf(thrown: unknown): RpcError {
  if (!(thrown instanceof AppError) || thrown.code === 'internal') {
    return { code: rpcCodes.internal, message: 'Internal error: something went wrong inside Gantry.' };
  }
  const { code, fact, action, options } = thrown;
  const mendable = code === 'usage' || code === 'not_found';
  return {
    code: mendable ? rpcCodes.invalidParams : rpcCodes.internal,
    message: `${fact} ${action}`.trim(),
    data: { code: options.wireCode ?? code, ...options.extra },
  };
}

interface Stamps {
  readonly modern: JsonObject;
  /** Of most results of the modern era, serialised. */
  readonly complete: string;
}

function bodyOf(id: RpcId, answer: RpcAnswer, era: Era, stamps: Stamps): string | Buffer {
  if ('text' in answer) return answer.text;
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  if ('json' in answer) return `${start}"result":${answer.json}}`;
  if ('error' in answer) {
    const { code, message, data } = answer.error;
    return `${start}"error":${JSON.stringify({ code, message, data })}}`;
  }
  const { result } = answer;
  if (era === 'legacy') return `${start}"result":${JSON.stringify(result)}}`;
  if (result.resultType === undefined && result._meta === undefined) {
    const text = JSON.stringify(result);
    return `${start}"result":{${stamps.complete}${text === '{}' ? '' : ','}${text.slice(1)}}`;
  }
  const meta = isObject(result._meta) ? result._meta : {};
  const whole = { resultType: 'complete', ...result, _meta: { ...meta, ...stamps.modern } };
  return `${start}"result":${JSON.stringify(whole)}}`;
}

function statusOf(answer: RpcAnswer): number {
  if ('text' in answer) return answer.status;
  return 'error' in answer ? (answer.error.status ?? ok) : ok;
}

function refuse(context: Context<Route>, { id, error }: Refusal): void {
  const { status, ...said } = error;
  write(context, JSON.stringify({ jsonrpc: '2.0', id, error: said }), status);
}

function write({ response, requestId }: Context<Route>, body: string | Buffer, status: number): void {
  response.writeHead(status, headOf(requestId, Buffer.byteLength(body), 'application/json'));
  endAtOnce(response, body);
}
