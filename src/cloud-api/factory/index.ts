/**
 * The cloud's half of the factory: every route of the engine but approvals, passed on unread (interface.md C; gaps.md, "Which
 * computer", "Scopes"). The caller is authenticated here; the engine gets the link's own credential and for whom it acts.
 * Must not know what the routes mean, and has no table.
 */
import { type Agent, type IncomingMessage, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { factoryEventStream, factoryRoutes } from '../../contracts/factory/routes.ts';
import { linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { createLinkAgent, type Link } from '../link/link.ts';
import { createMergedStream } from './merge-events.ts';

/** Approvals, as far as their events go into the engine's stream. */
export interface ApprovalEvents {
  onEvent(
    listener: (event: { readonly userId: string; readonly id: string; readonly data: unknown }) => void,
  ): () => void;
  /** Where the ledger stood before the approval of this event id; null when it is no such id, or unknown to the user. */
  ledgerIdOf(eventId: string, userId: string): Promise<string | null>;
}

export interface FactoryProxyDeps {
  readonly link: Link;
  /** The caller's default computer; the only one until others are paired. */
  readonly computerId: string;
  /** How a person starts the engine from where they read this, such as `npx gantry start`. */
  readonly startCommand: string;
  readonly approvals: ApprovalEvents;
}

export interface FactoryProxy {
  readonly routes: readonly BoundRoute[];
  close(): void;
}

/** What travels on. Everything else (cookies, credentials, Origin, our own headers) ends here. */
const requestHeaders = [
  'accept',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'last-event-id',
  'idempotency-key',
] as const;
/** Belongs to one connection (RFC 9110, 7.6.1), or is ours to say. */
const keptBack = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'date',
  'x-request-id',
]);
const computerHeader = 'x-gantry-computer';

export function createFactoryProxy(deps: FactoryProxyDeps): FactoryProxy {
  const agent = createLinkAgent(deps.link, deps.computerId);
  const forward = (context: Context<Route>) => pass(context, agent, deps);
  const forwardEvents = (context: Context<Route>) => passEvents(context, agent, deps);
  return {
    routes: factoryRoutes.map((route) =>
      bindPassThrough(route, route === factoryEventStream ? forwardEvents : forward),
    ),
    close: () => agent.destroy(),
  };
}

async function pass(context: Context<Route>, agent: Agent, deps: FactoryProxyDeps): Promise<void> {
  const { path, computer } = target(context.request);
  const headers = headersOf(context, computer, deps);
  await deliver(await send(context, agent, path, headers, deps), context);
}

/** The engine's stream, with the caller's own approval events between the engine's. */
async function passEvents(context: Context<Route>, agent: Agent, deps: FactoryProxyDeps): Promise<void> {
  const { principal, response } = context;
  const { path, computer } = target(context.request);
  const headers = headersOf(context, computer, deps);
  const ledgerId = (cursor: string) => deps.approvals.ledgerIdOf(cursor, principal.userId);
  const lastEventId = headers['last-event-id'];
  if (lastEventId !== undefined) headers['last-event-id'] = (await ledgerId(String(lastEventId))) ?? lastEventId;
  const [route = path, search = ''] = path.split('?', 2);
  const query = new URLSearchParams(search);
  const after = query.get('after');
  if (after !== null) query.set('after', (await ledgerId(after)) ?? after);
  const merged = createMergedStream();
  // From before the engine is asked: nothing may fall between its answer and our listening.
  const stop = deps.approvals.onEvent((event) => {
    if (event.userId === principal.userId) merged.inject(event);
  });
  response.once('close', stop);
  try {
    const answer = await send(context, agent, query.size === 0 ? route : `${route}?${query}`, headers, deps);
    await deliver(answer, context, answer.statusCode === 200 ? merged.stream : undefined);
  } finally {
    stop();
  }
}

function headersOf(
  { request, principal }: Context<Route>,
  computer: string | null,
  deps: FactoryProxyDeps,
): OutgoingHttpHeaders {
  if (computer !== null && computer !== deps.computerId) {
    throw new AppError('not_found', `There is no computer ${JSON.stringify(computer)}.`, 'Leave it out for this one.');
  }
  const headers: OutgoingHttpHeaders = { host: 'engine' };
  for (const name of requestHeaders) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  if (principal.kind !== 'public') {
    headers.authorization = `Bearer ${deps.link.credential(deps.computerId) ?? ''}`;
    headers[linkHeaders.user] = principal.userId;
    headers[linkHeaders.surface] = surfaceOf(principal);
  }
  return headers;
}

function send(
  context: Context<Route>,
  agent: Agent,
  path: string,
  headers: OutgoingHttpHeaders,
  deps: FactoryProxyDeps,
): Promise<IncomingMessage> {
  const { request, response } = context;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return new Promise((resolve, reject) => {
    const attempt = (again: boolean) => {
      const upstream = startRequest({ agent, method: request.method, path, headers });
      const leave = () => upstream.destroy();
      response.once('close', leave);
      let answered = false;
      upstream.once('response', (answer) => {
        answered = true;
        resolve(answer);
      });
      upstream.on('error', (cause: NodeJS.ErrnoException) => {
        // Once an answer is under way, its own stream tells of the cut.
        if (answered) return;
        response.off('close', leave);
        // The engine closed an idle connection just as it was taken: nothing was read there yet.
        if (again && upstream.reusedSocket && cause.code === 'ECONNRESET' && !hasBody) attempt(false);
        else reject(away(cause, deps));
      });
      // Not a pipeline: that would cut the caller off before it hears that the engine is away.
      if (hasBody) request.pipe(upstream);
      else upstream.end();
    };
    attempt(request.method === 'GET');
  });
}

/** Bytes as they come, for as long as they come: a stream has no end and no timeout of ours. */
function deliver(answer: IncomingMessage, { response }: Context<Route>, through?: Transform): Promise<void> {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(answer.headers)) if (!keptBack.has(name)) headers[name] = value;
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders();
  return new Promise((resolve) => {
    // A cut upstream cuts the reader too: it must see that something is missing.
    if (through === undefined) pipeline(answer, response, () => resolve());
    else pipeline(answer, through, response, () => resolve());
  });
}

function target(request: IncomingMessage): { path: string; computer: string | null } {
  const url = request.url ?? '/';
  const header = request.headers[computerHeader];
  const mark = url.indexOf('?');
  if (mark === -1 || !url.includes('computer=', mark)) {
    return { path: url, computer: typeof header === 'string' ? header : null };
  }
  const query = new URLSearchParams(url.slice(mark + 1));
  const computer = query.get('computer') ?? (typeof header === 'string' ? header : null);
  query.delete('computer');
  const rest = query.size === 0 ? '' : `?${query}`;
  return { path: url.slice(0, mark) + rest, computer };
}

function away(cause: NodeJS.ErrnoException, deps: FactoryProxyDeps): AppError {
  return new AppError(
    'transport',
    `The factory engine of this computer does not answer (${cause.code ?? cause.message}).`,
    `Start it with ${deps.startCommand}.`,
    { cause },
  );
}
