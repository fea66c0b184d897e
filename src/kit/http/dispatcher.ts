/**
 * The only way in: guard → rate → authenticate → scope → body → params → query → owner → idempotency → handler →
 * answer. Framework-free; Express mounts it as one middleware, the runtime listens with it directly. First user: the
 * runtime; second: the cloud API. Must not know any area.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { claimedShape } from '../../contracts/common/areas.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { type ErrorShape, type Method, methods, type Route } from '../../contracts/common/route.ts';
import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type AdmissionOptions, createAdmission } from './admission.ts';
import { baseHeaders } from './base-headers.ts';
import { RequestContext } from './context.ts';
import { toAppError } from './faults.ts';
import { createGuard, type Listener } from './guard.ts';
import type { HttpMeter } from './http-meter.ts';
import type { Idempotency } from './idempotency.ts';
import { createJsonAnswer, fail, pathOf } from './json-answer.ts';
import { createLasting } from './lasting.ts';
import { createLimits, type LimitDeps, type LimitSettings } from './limits.ts';
import { type Mounted, mountRoutes } from './mount.ts';
import { parseParams, parseQuery, readBody, unknownOwned } from './request-parts.ts';
import { createSseStreams } from './sse.ts';
import type { BoundRoute, OwnerLookups, Principal } from './types.ts';

export interface HttpLog {
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

export interface DispatcherOptions extends AdmissionOptions, LimitDeps {
  readonly listener: Listener;
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly ids: { next(prefix: string): string };
  readonly log: HttpLog;
  /** Required once a route is `idempotent`. */
  readonly idempotency?: Idempotency;
  readonly limits?: LimitSettings;
  /** Cuts open streams when the credential that opened them ends; absent: routes do that themselves. */
  readonly expiry?: { readonly clock: Clock; readonly timers: Timers };
  /** An answer that breaks its schema: `throw` in tests, `log` in production. */
  readonly answers?: 'throw' | 'log';
  /** Paths that no area claims: `pass` leaves them to the pages behind, `refuse` (default) answers 404. */
  readonly unclaimed?: 'pass' | 'refuse';
  /** Traces requests; absent: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Who may continue a trace, besides the link and the service token. */
  readonly continues?: readonly Principal['kind'][] | undefined;
  /** The span that a bot's requests are part of; null: none. Whatever header the bot sends. */
  readonly traceOf?: ((agentId: string) => string | null) | undefined;
  /** Counts requests for `GET /metrics`. */
  readonly meter?: HttpMeter | undefined;
  /** Error shape of unclaimed paths and of errors before a route is known; default `plain`. */
  readonly shape?: ErrorShape;
}

export interface Dispatcher {
  /** Resolves with false if the path is not the API's: nothing was answered then. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Every route that is served, in order of mounting. */
  readonly routes: readonly Route[];
  /** Open event streams. */
  readonly streams: number;
  /** Cuts off streams and passed-on answers of callers who lost their right to them. */
  cut(match: (principal: Principal) => boolean): void;
  /** Ends streams with a last event and aborts requests under way. */
  close(reason: string): void;
}

/** Servers of ours, which pass their own span on. A header of anybody else decides nothing. */
const continuesTraces = ['link', 'internal'] as const;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { owners, log } = options;
  const guard = createGuard(options.listener);
  const limits = createLimits(options.limits, options);
  const admission = createAdmission({ ...options, limits });
  const streams = createSseStreams((error) => log.error('stream failed', { error: String(stackOf(error)) }));
  const running = new Set<RequestContext>();
  const inSpan = createRequestSpans(options);
  const lasting = createLasting(options.expiry);
  const answer = createJsonAnswer(options);
  const answerStream = createStreamAnswer(streams, limits, log);
  const fallbackShape = options.shape ?? 'plain';
  const nextRequestId = createRequestIds(options.ids);
  const { router, served } = mountRoutes({ ...options, keepsAnswers: options.idempotency !== undefined });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const target = request.url ?? '/';
    const refused = guard(request);
    if (refused !== null) {
      fail(response, refused, claimedShape(pathOf(target)) ?? fallbackShape, nextRequestId());
      return true;
    }
    const found = router.find(request.method as Method, target);
    const mounted = (found?.store ?? undefined) as Mounted | undefined;
    if (mounted === undefined) return unmatched(request, response, target, found !== null);
    const requestId = nextRequestId();
    const answered = options.meter?.began(mounted.route);
    try {
      const search = found!.searchParams as unknown as string;
      await serve(mounted, request, response, found!.params, search, requestId);
    } catch (thrown) {
      const known = toAppError(thrown, requestId);
      const forged = mounted.route.signed === true && known.status === 401;
      const error = forged ? await limits.failed(request, known) : known;
      if (error.code === 'internal') {
        log.error('request failed', { requestId, op: mounted.route.op, error: String(stackOf(error.cause ?? error)) });
      }
      if (response.headersSent) response.destroy();
      else {
        const challenge = admission.challenge(error, mounted.route, pathOf(target), request);
        fail(response, error, mounted.route.errors, requestId, challenge);
      }
    } finally {
      answered?.(response.statusCode);
    }
    return true;
  }

  /** No route has that method here: the area says so, or the pages behind are asked. */
  function unmatched(request: IncomingMessage, response: ServerResponse, target: string, malformed: boolean): boolean {
    const path = pathOf(target);
    const claimed = claimedShape(path);
    if (claimed === null && !malformed && options.unclaimed === 'pass') return false;
    const others = malformed ? [] : methods.filter((method) => router.find(method, target) !== null);
    if (others.length > 0) response.setHeader('allow', others.join(', '));
    const error = malformed ? badlyEncoded(path) : notServed(request.method, path, others);
    fail(response, error, claimed ?? fallbackShape, nextRequestId());
    return true;
  }

  async function serve(
    mounted: Mounted,
    request: IncomingMessage,
    response: ServerResponse,
    rawParams: Record<string, string | undefined>,
    search: string,
    requestId: string,
  ): Promise<void> {
    const { route } = mounted;
    if (mounted.onlyPublic && route.kind === 'raw' && route.signed !== true) await limits.page(request);
    const principal = await admission.admit(mounted, request, rawParams);
    await inSpan(route, principal, request, response, () =>
      serveAdmitted(mounted, principal, request, response, rawParams, search, requestId),
    );
  }

  async function serveAdmitted(
    mounted: Mounted,
    principal: Principal,
    request: IncomingMessage,
    response: ServerResponse,
    rawParams: Record<string, string | undefined>,
    search: string,
    requestId: string,
  ): Promise<void> {
    const { route, bound } = mounted;
    const context = new RequestContext(principal, request, response, requestId, rawParams, running);
    if (bound.passThrough || route.kind === 'sse') lasting.add(context);
    if (bound.passThrough) {
      response.setHeader('x-request-id', requestId);
      await bound.handler(context as never);
      return;
    }
    // A raw route without a body schema reads the body itself: an upload, a signed webhook.
    const readsItself = route.kind === 'raw' && route.body === undefined;
    if (request.method !== 'GET' && !readsItself) context.body = await readBody(route, request);
    if (route.params !== undefined) context.params = parseParams(route, rawParams);
    if (search !== '' || route.query !== undefined) context.query = parseQuery(route, search);
    const owned = isOwned(owners, route, principal, context.params);
    if (owned !== true && !(await owned)) throw unknownOwned(route, context.params);
    if (route.kind === 'raw') await answerRaw(bound, context, requestId);
    else if (route.kind === 'sse') await answerStream(bound, principal, context, requestId);
    else await answer(mounted, principal, context, requestId);
  }

  return {
    handle,
    routes: served,
    get streams() {
      return streams.size;
    },
    cut: lasting.cut,
    close(reason) {
      streams.close(reason);
      for (const context of [...running]) context.abort();
    },
  };
}

/** One random part for each dispatcher plus a counter: unique enough for a log, and free. */
function createRequestIds(ids: DispatcherOptions['ids']): () => string {
  const start = ids.next('req');
  let requests = 0;
  return () => {
    requests += 1;
    return `${start}.${requests}`;
  };
}

function badlyEncoded(path: string): AppError {
  return new AppError('usage', `The path ${shownPath(path)} is not properly encoded.`, 'Encode it as UTF-8.', {
    wireCode: 'bad_request',
  });
}

/** `others`: methods that are served there. */
function notServed(method: string | undefined, path: string, others: readonly Method[]): AppError {
  const shown = shownPath(path);
  if (others.length === 0)
    return new AppError('not_found', `Nothing is served at ${shown}.`, 'See docs/openapi.json for the routes.');
  return new AppError('not_found', `${method} is not served at ${shown}.`, `Use ${others.join(' or ')}.`, {
    wireCode: 'method_not_allowed',
  });
}

function shownPath(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

async function answerRaw(bound: BoundRoute, context: RequestContext, requestId: string): Promise<void> {
  if (bound.writesHead !== true) {
    for (const [name, value] of Object.entries(baseHeaders)) context.response.setHeader(name, value);
    context.response.setHeader('x-request-id', requestId);
  }
  await bound.handler(context as never);
}

function createStreamAnswer(
  streams: ReturnType<typeof createSseStreams>,
  limits: ReturnType<typeof createLimits>,
  log: HttpLog,
) {
  return async (bound: BoundRoute, principal: Principal, context: RequestContext, requestId: string): Promise<void> => {
    const release = limits.stream(principal);
    const sink = streams.create(context.request, context.response, { ...baseHeaders, 'x-request-id': requestId });
    sink.onEnd(release);
    try {
      await bound.handler(context as never, sink);
      sink.open();
    } catch (thrown) {
      const opened = sink.opened;
      sink.abandon();
      if (opened) log.error('stream failed', { requestId, error: String(stackOf(thrown)) });
      throw thrown;
    }
  };
}

/** Each request as a span of its own, part of the caller's trace or of its bot's. */
function createRequestSpans({ telemetry, continues, traceOf }: DispatcherOptions) {
  const trusted: ReadonlySet<string> = new Set([...continuesTraces, ...(continues ?? [])]);

  return (
    route: Route,
    principal: Principal,
    request: IncomingMessage,
    response: ServerResponse,
    work: () => Promise<void>,
  ): Promise<void> => {
    const { traceparent } = request.headers;
    // What travels on is a span of ours: nobody's own header reaches a server that trusts this one.
    if (traceparent !== undefined) delete request.headers.traceparent;
    if (telemetry === undefined) return work();
    const attributes = {
      'http.request.method': route.method,
      'http.route': route.path,
      'gantry.op': route.op,
      'gantry.principal': principal.kind,
    };
    const own = principal.agentId === undefined ? null : (traceOf?.(principal.agentId) ?? null);
    const from =
      own !== null
        ? { traceparent: own, trusted: true }
        : typeof traceparent === 'string'
          ? { traceparent, trusted: trusted.has(principal.kind) }
          : undefined;
    return telemetry.span({ name: `${route.method} ${route.path}`, kind: 'server', attributes, from }, async (span) => {
      if (span !== null) request.headers.traceparent = span.traceparent;
      try {
        await work();
      } finally {
        span?.set({ 'http.response.status_code': response.statusCode });
      }
    });
  };
}

function isOwned(
  owners: OwnerLookups,
  route: Route,
  principal: Principal,
  params: unknown,
): boolean | Promise<boolean> {
  const rule = route.owner;
  if (typeof rule === 'string' || 'none' in rule) return true;
  return owners[rule.noun]!(principal, String((params as Record<string, unknown>)[rule.param]));
}

function stackOf(cause: unknown): unknown {
  return cause instanceof Error ? (cause.stack ?? cause.message) : cause;
}
