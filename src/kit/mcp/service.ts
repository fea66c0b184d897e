/**
 * What a server of MCP is to the JSON-RPC layer, and what a server that lists and calls by itself is to its builder. Types alone.
 * First user: the engine's tool server; second: the cloud's, which passes most of it on. Must not know what is listed or called.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NameStyle, ToolResult } from '../../contracts/tool-server/tools.ts';
import type { Principal } from '../http/types.ts';

/** `modern` is 2026-07-28: no handshake, each request says its version. `legacy` is every version before. */
export type Era = 'modern' | 'legacy';
export type RpcId = string | number;
export type JsonObject = Readonly<Record<string, unknown>>;

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** One request whose envelope, headers and era have been checked. `params` is `{}` where the request has none. */
export interface McpRequest {
  readonly era: Era;
  /** The version that the request speaks; a legacy request without the header speaks 2025-03-26. */
  readonly version: string;
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
  /** How the caller wants tools named: `?names=safe`. */
  readonly names: NameStyle;
  /** Who the client says it is: modern requests alone say so. Never a ground to allow anything. */
  readonly client: { readonly name: string; readonly version: string } | null;
  /** The body as it came, for whoever passes it on. */
  readonly raw: Buffer;
  readonly principal: Principal;
  /** Aborted when the client goes away, the server closes, or the answer is written. Made when it is first asked for. */
  readonly signal: AbortSignal;
  /** The query as the route's schema read it. */
  readonly query: JsonObject;
  /** What the path names, as the route's schema read it: a server of one bot is told its bot here. */
  readonly place: JsonObject;
  /** For headers that the route knows and this layer does not. */
  readonly request: IncomingMessage;
  /** For whoever passes the request on, and so must see its client leave: cheaper than the signal. The layer alone writes to it. */
  readonly response: Pick<ServerResponse, 'destroyed' | 'once' | 'off'>;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
  /** HTTP status; 200 when absent. */
  readonly status?: number;
}

/**
 * What a service answers. `result`: the layer adds what the era wants (`resultType`, `_meta` server info). `json`: a result that is
 * serialised already, with all the era wants. `error`: a JSON-RPC error. `text`: a whole body, such as another server's answer.
 */
export type RpcAnswer =
  | { readonly result: JsonObject }
  | { readonly json: string }
  | { readonly error: RpcError }
  | { readonly text: string | Buffer; readonly status: number };

/** `extensions` is the map of both eras; further keys are what an extension wants beside it. */
export interface Capabilities {
  readonly tools?: JsonObject;
  readonly prompts?: JsonObject;
  readonly resources?: JsonObject;
  readonly completions?: JsonObject;
  readonly extensions?: Readonly<Record<string, JsonObject>>;
  readonly [name: string]: unknown;
}

/**
 * The layer answers `initialize`, `server/discover`, `ping` and notifications itself and asks for all else. `null`: no such method.
 * A thrown AppError becomes a JSON-RPC error with its fact and action; anything else thrown is -32603 and a line in the log.
 */
export interface McpService {
  readonly info: ServerInfo;
  readonly instructions?: string;
  capabilities(era: Era): Capabilities;
  handle(request: McpRequest): Promise<RpcAnswer | null> | RpcAnswer | null;
}

// ---- A server that lists and calls by itself: what `createMcpService` is given.

/** As it is listed; keys beyond these pass through. Names are the dotted ones. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** JSON Schema 2020-12 without `$schema`, `type: 'object'`. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

export interface ListedPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
}

export interface ListedTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export type ResourceContents =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };

/**
 * Items in any order: the layer sorts and serialises them once. Two lists of one provider with the same revision must be the same
 * list: where callers see different ones, the revision says so too.
 */
export interface Listing<T> {
  readonly items: readonly T[];
  readonly revision: string | number;
}

type Maybe<T> = T | Promise<T>;

export interface ToolProvider {
  list(request: McpRequest): Maybe<Listing<ListedTool>>;
  /**
   * Only names that `list` has for this caller come here, dotted. Bad arguments and whatever a model could mend are a result with
   * `isError`; a thrown AppError becomes one, with its wire code in `structuredContent.error`. Other throws are internal faults.
   */
  call(name: string, args: JsonObject, request: McpRequest): Maybe<ToolResult>;
}

export interface PromptProvider {
  list(request: McpRequest): Maybe<Listing<ListedPrompt>>;
  /** Required arguments are there. A thrown AppError `usage` is -32602. */
  get(
    name: string,
    args: Readonly<Record<string, string>>,
    request: McpRequest,
  ): Maybe<{ readonly description?: string; readonly messages: readonly JsonObject[] }>;
}

export interface ResourceProvider {
  list(request: McpRequest): Maybe<Listing<ListedResource>>;
  templates(request: McpRequest): Maybe<Listing<ListedTemplate>>;
  /** `null`: there is none for this caller. */
  read(uri: string, request: McpRequest): Maybe<readonly ResourceContents[] | null>;
}

export interface CompletionProvider {
  complete(
    ref: JsonObject,
    argument: { readonly name: string; readonly value: string },
    request: McpRequest,
  ): Maybe<{ readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean }>;
}

export interface McpServiceOptions {
  readonly info: ServerInfo;
  readonly instructions?: string;
  readonly tools?: ToolProvider;
  readonly prompts?: PromptProvider;
  readonly resources?: ResourceProvider;
  readonly completions?: CompletionProvider;
  /** What extensions advertise beside the methods above; merged into the capabilities of either era. */
  readonly extensions?: (era: Era) => Capabilities;
  /** Methods of extensions. */
  readonly methods?: Readonly<Record<string, (request: McpRequest) => Maybe<RpcAnswer>>>;
}
