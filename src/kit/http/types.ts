/**
 * The types that handlers and authenticators use. First user: the runtime; second: the cloud API. Must not know Express, sockets or any area.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  PrincipalKind,
  Route,
  RouteAnswer,
  RouteBody,
  RouteParams,
  RouteQuery,
  Scope,
} from '../../contracts/common/route.ts';
import type { KeyTools } from '../../contracts/identity/keys.ts';
import type { Tx } from '../store/store.ts';

/** A report that is being taken from a bot's spool: see `runtime-server/reports`. */
export interface ReportTaken {
  readonly id: string;
  /** The attempt of the step that the bot had been given when it wrote the report; null for any other step. */
  attemptOf(dagId: string, nodeId: string): number | null;
  /** Marks it as taken, in the operation that records what it says. Throws if it was taken before. */
  take(tx: Tx): void;
}

/** The caller. Every principal belongs to one user id; scopes come only from our own records, never from the caller. */
export interface Principal {
  readonly kind: PrincipalKind;
  readonly userId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The kind of proof, for audit: `file-token`, `cookie`, `bot-token`, `oidc`, `home:cli`, `link:browser`, `link:cli`, … See `surfaceOf`. */
  readonly via: string;
  /**
   * The program that acts for the person, if the credential names it: `oidc:<client id>`; behind the link, the client that it passes on. See
   * `clientOf`.
   */
  readonly client?: string;
  /** For `bot`: its agent. */
  readonly agentId?: string;
  /** For cookies and the credentials of paired computers: the sign-in. */
  readonly sessionId?: string;
  /** For `key`: its id. */
  readonly keyId?: string;
  /** For `key`: the only tools of the tool server that it has; absent: all of them. */
  readonly tools?: KeyTools;
  /** For `device`: the computer that signed. */
  readonly computerId?: string;
  /** When a credential that is checked only once ends, milliseconds since the epoch: open streams must end with it. */
  readonly expiresAt?: number;
  /** What the bot reported and is taken now; absent for a request. */
  readonly report?: ReportTaken;
}

/**
 * Reads one kind of credential from a request. `null`: not this kind of credential (the next one is tried). Throwing `AppError('refused', …, {status:
 * 401})`: this kind, but invalid.
 */
export interface Authenticator {
  readonly name: string;
  authenticate(request: IncomingMessage): Promise<Principal | null> | Principal | null;
}

export interface Context<R extends Route> {
  readonly principal: Principal;
  readonly params: RouteParams<R>;
  readonly query: RouteQuery<R>;
  readonly body: RouteBody<R>;
  readonly requestId: string;
  /** On a route that is idempotent by id: the id to create under, so that it is created once. Null: any id will do. */
  readonly seed: string | null;
  /** Aborted when the client goes away or the server closes. */
  readonly signal: AbortSignal;
  /** Raw request and response, for `kind: 'raw'` and for headers such as Last-Event-ID. */
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A success answer. Status defaults to 201 if the route declares it, otherwise to its lowest one. */
export interface Answer<R extends Route> {
  readonly status?: keyof R['answers'] & number;
  readonly body: RouteAnswer<R>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `event` absent: an unnamed `data:` event. `id` absent: no id line (never an empty one). */
export interface SseEvent {
  readonly event?: string;
  readonly id?: string;
  readonly data: unknown;
}

/**
 * Sink of a `kind: 'sse'` route. The stream begins (headers flushed) at {@link SseSink.open}, at the first `send`, or when the handler's promise
 * resolves, whichever is first; an error that the handler throws before that becomes an ordinary error response. It then stays open until the client
 * leaves, {@link SseSink.close} is called or the server closes. When the server closes, every reader gets a last `closing {reason}` event.
 */
export interface SseSink {
  /** Begins the stream now. Idempotent. Call it once every possible refusal has been checked. */
  open(): void;
  /** Sends one event. Returns false if the client reads too slowly; {@link SseSink.drained} says when it has caught up. */
  send(event: SseEvent): boolean;
  /** Sends serialised events (`eventText`), for the same events on many streams. Returns the same as {@link SseSink.send}. */
  sendText(text: string): boolean;
  /** Resolves when everything sent has left the socket's buffer. */
  drained(): Promise<void>;
  /** Ends the stream. Idempotent. */
  close(): void;
  /** Cuts the stream off for a fault of ours, which is logged: the reader reconnects with its last id. Idempotent. */
  fail(error: unknown): void;
  /** Whether it is over, whichever side ended it. */
  readonly ended: boolean;
  /** Runs once when the stream is over; at once if it already is. */
  onEnd(listener: () => void): void;
  /** For functions that take a signal; created on first use. */
  readonly signal: AbortSignal;
}

export type JsonHandler<R extends Route> = (context: Context<R>) => Promise<Answer<R>> | Answer<R>;
export type SseHandler<R extends Route> = (context: Context<R>, sink: SseSink) => Promise<void> | void;
export type RawHandler<R extends Route> = (context: Context<R>) => Promise<void> | void;

/** A declared route with its handler, ready to be mounted. */
export interface BoundRoute {
  readonly route: Route;
  readonly handler: (context: Context<Route>, sink?: SseSink) => unknown;
  /**
   * The handler passes the request on unread: guard, authentication and scope are checked here; the server behind checks body, parameters, owner and
   * idempotency, and shapes the answer.
   */
  readonly passThrough?: true;
  /** The handler writes the whole head of each of its answers with `headOf`; the dispatcher writes the answers to errors it throws. */
  readonly writesHead?: true;
  readonly before?: Before;
}

/**
 * A check of the area after authentication and kind, before the scope: it throws the caller's error. `params` are the raw path parameters, unchecked.
 * First user: hosted computers, where a project without them gets only that error.
 */
export type Before = (
  principal: Principal,
  asked: { readonly request: IncomingMessage; readonly params: Readonly<Record<string, string | undefined>> },
) => Promise<void> | void;

/** Binds a declared route of another server: see {@link BoundRoute.passThrough}. */
export function bindPassThrough(route: Route, handler: RawHandler<Route>): BoundRoute {
  return { route, handler, passThrough: true };
}

/** Binds a raw route whose handler writes whole heads: setting headers one by one costs a twentieth of a tool call. */
export function bindWithHead<R extends Route & { kind: 'raw' }>(route: R, handler: RawHandler<R>): BoundRoute {
  return { ...bind(route, handler), writesHead: true };
}

export function bind<R extends Route & { kind?: 'json' }>(route: R, handler: JsonHandler<R>): BoundRoute;
export function bind<R extends Route & { kind: 'sse' }>(route: R, handler: SseHandler<R>): BoundRoute;
export function bind<R extends Route & { kind: 'raw' }>(route: R, handler: RawHandler<R>): BoundRoute;
export function bind(route: Route, handler: unknown): BoundRoute {
  return { route, handler: handler as BoundRoute['handler'] };
}

/** Whether `principal` may see the thing of this noun with this id. Unknown and foreign ids are the same `false`. */
export type OwnerLookup = (principal: Principal, id: string) => boolean | Promise<boolean>;
export type OwnerLookups = Readonly<Record<string, OwnerLookup>>;
