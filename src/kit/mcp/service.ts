/**
 * The interface of an MCP server to the JSON-RPC layer, and of a server with its own lists and calls to its builder. Only types. First user: the
 * runtime's tool server; second: the cloud's, which passes most of it on. Must not know what is listed or called.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NameStyle, ToolResult } from '../../contracts/tool-server/tools.ts';
import type { Principal } from '../http/types.ts';

/** `modern` is 2026-07-28: no handshake, each request names its version. `legacy` is every version before. */
export type Era = 'modern' | 'legacy';
export type RpcId = string | number;
export type JsonObject = Readonly<Record<string, unknown>>;

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** One request whose envelope, headers and era have been checked. `params` is `{}` if the request has none. */
export interface McpRequest {
  readonly era: Era;
  /** The version of the request; a legacy request without the header uses 2025-03-26. */
  readonly version: string;
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
  /** How the caller wants tools named: `?names=safe`. */
  readonly names: NameStyle;
  /** The client's name for itself, only in modern requests. Never a reason to allow anything. */
  readonly client: { readonly name: string; readonly version: string } | null;
  /** What the client declares that it can, only in modern requests; else empty. */
  readonly can: JsonObject;
  /** The raw body, for passing it on. */
  readonly raw: Buffer;
  readonly principal: Principal;
  /** Aborted when the client leaves, the server closes, or the answer is written. Created on first use. */
  readonly signal: AbortSignal;
  /** The query, parsed by the route's schema. */
  readonly query: JsonObject;
  /** The path parameters, parsed by the route's schema; a bot's own server finds its bot here. */
  readonly place: JsonObject;
  /** For headers that the route knows and this layer does not. */
  readonly request: IncomingMessage;
  /** For passing the request on while watching for the client's end: cheaper than the signal. Only the layer writes to it. */
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
 * A service's answer. `result`: the layer adds the era's fields (`resultType`, `_meta` server info). `json`: a serialised result with all of the
 * era's fields. `error`: a JSON-RPC error. `text`: a whole body, such as another server's answer.
 */
export type RpcAnswer =
  | { readonly result: JsonObject }
  | { readonly json: string }
  | { readonly error: RpcError }
  | { readonly text: string | Buffer; readonly status: number };

/** `extensions` goes into both eras; other keys are an extension's own additions. */
export interface Capabilities {
  readonly tools?: JsonObject;
  readonly prompts?: JsonObject;
  readonly resources?: JsonObject;
  readonly completions?: JsonObject;
  readonly extensions?: Readonly<Record<string, JsonObject>>;
  readonly [name: string]: unknown;
}

/**
 * The layer itself answers `initialize`, `server/discover`, `ping` and notifications, and calls this for everything else. `null`: no such method. A
 * thrown AppError becomes a JSON-RPC error with its fact and action; anything else thrown is -32603 and a line in the log.
 */
export interface McpService {
  readonly info: ServerInfo;
  readonly instructions?: string;
  capabilities(era: Era, version: string): Capabilities;
  handle(request: McpRequest): Promise<RpcAnswer | null> | RpcAnswer | null;
}

// ---- A server with its own lists and calls: the input of `createMcpService`.

/** As listed; keys beyond these pass through. Names are the dotted ones. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** JSON Schema 2020-12 without `$schema`, `type: 'object'`. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  /** Whether a call may become a task; shown only in 2025-11-25, the one version that lists it. */
  readonly execution?: { readonly taskSupport: 'optional' };
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
 * Items in any order: the layer sorts and serialises them once. Two lists of one provider with the same revision must be equal: if callers see
 * different lists, the revision must differ as well.
 */
export interface Listing<T> {
  readonly items: readonly T[];
  readonly revision: string | number;
}

type Maybe<T> = T | Promise<T>;

export interface ToolProvider {
  list(request: McpRequest): Maybe<Listing<ListedTool>>;
  /**
   * Called only with dotted names that `list` has for this caller. Bad arguments, and other errors that a model could mend, are a result with
   * `isError`; a thrown AppError becomes one, with its wire code in `structuredContent.error`. Other throws are internal faults.
   */
  call(
    name: string,
    args: JsonObject,
    request: McpRequest,
    wish: TaskWish | null,
  ): Maybe<ToolResult | { readonly task: Task } | PassedOn>;
}

/** The whole answer of the server to which a call was passed on. */
export interface PassedOn {
  readonly passedOn: RpcAnswer;
}

/** How a call may become a task; a call without a wish is always answered with its result. */
export interface TaskWish {
  /** The client asked for a task (2025-11-25); else the server decides (2026-07-28). */
  readonly always: boolean;
  /** How long the client wants it kept, milliseconds; null: it does not say. */
  readonly ttlMs: number | null;
}

/** One task as its own client may see it. Times in milliseconds since the epoch. */
export interface Task {
  readonly id: string;
  readonly status: 'working' | 'completed' | 'failed' | 'cancelled';
  readonly message: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Kept for this long after its creation. */
  readonly ttlMs: number;
  readonly pollMs: number;
  /** Of a completed one, also if the tool reports an error. */
  readonly result: ToolResult | null;
  /** Of a failed one: an error of the protocol. */
  readonly error: RpcError | null;
  /** What a client that can may do for it while it works, by key; shown in 2026-07-28. */
  readonly input: Readonly<Record<string, { readonly method: string; readonly params: JsonObject }>>;
}

/** Tasks of this caller; null: unknown, which a task of another client or user is as well. */
export interface TaskProvider {
  get(id: string, request: McpRequest): Maybe<Task | null>;
  /** Until it has ended, at most so long. */
  wait(id: string, request: McpRequest, maxMs: number): Maybe<Task | null>;
  /** Newest first. */
  list(request: McpRequest): Maybe<readonly Task[]>;
  /** Changes nothing if it has ended. */
  cancel(id: string, request: McpRequest): Maybe<Task | null>;
  /** The client's answers, by key of `input`; unknown keys are ignored. */
  update(id: string, answers: JsonObject, request: McpRequest): Maybe<Task | null>;
}

/** Tasks that another server keeps: their methods go there whole, and it says what each revision wants. */
export interface TasksElsewhere {
  pass(request: McpRequest): Maybe<RpcAnswer>;
}

export interface PromptProvider {
  list(request: McpRequest): Maybe<Listing<ListedPrompt>>;
  /** Required arguments are present. A thrown AppError `usage` is -32602. */
  get(
    name: string,
    args: Readonly<Record<string, string>>,
    request: McpRequest,
  ): Maybe<{ readonly description?: string; readonly messages: readonly JsonObject[] }>;
}

export interface ResourceProvider {
  list(request: McpRequest): Maybe<Listing<ListedResource>>;
  templates(request: McpRequest): Maybe<Listing<ListedTemplate>>;
  /** `null`: this caller has none. */
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
  /** With them a call may become a task. */
  readonly tasks?: TaskProvider | TasksElsewhere;
  /** Capabilities that extensions advertise besides the methods above; merged into those of either era. */
  readonly extensions?: (era: Era) => Capabilities;
  /** Methods of extensions. */
  readonly methods?: Readonly<Record<string, (request: McpRequest) => Maybe<RpcAnswer>>>;
}
