/**
 * The cloud's half of the factory: every route of the engine but approvals, passed on unread (interface.md C; gaps.md, "Which
 * computer", "Scopes"). The caller is authenticated here; the engine gets the link's own credential and for whom it acts.
 * Must not know what the routes mean, and has no table.
 */
import type { Agent, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { factoryEventStream, factoryRoutes } from '../../contracts/factory/routes.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { createLinkAgent, type Link } from '../link/link.ts';
import { askUpstream, Unanswered } from './ask.ts';
import { deliver } from './deliver.ts';
import { createMergedStream } from './merge-events.ts';

/** Approvals, as far as their events go into the engine's stream. */
export interface ApprovalEvents {
  onEvent(
    listener: (event: { readonly userId: string; readonly id: string; readonly data: unknown }) => void,
  ): () => void;
  /** Where the ledger stood before the approval of this event id; null when it is no such id, or unknown to the user. */
  ledgerIdOf(eventId: string, userId: string): Promise<string | null>;
}

/** Which computer a call means: by its own id or the cloud's, null for the default one. null: unknown to this user, or none. */
export interface ComputerLookup {
  resolve(userId: string, named: string | null): Promise<string | null> | string | null;
}

export interface FactoryProxyDeps {
  readonly link: Link;
  readonly computers: ComputerLookup;
  /** What to do when an engine does not answer, such as how to start it. */
  readonly advice: string;
  readonly approvals: ApprovalEvents;
}

export interface FactoryProxy {
  readonly routes: readonly BoundRoute[];
  close(): void;
}

const computerHeader = 'x-gantry-computer';

/** A read that was cut off waits so long for the computer to come back before it is asked once more. */
const comeBackMs = 5_000;
/** Forms with files; the engine knows exactly how large each may be. */
const largestForm = 32 * 1024 * 1024;

export function createFactoryProxy(deps: FactoryProxyDeps): FactoryProxy {
  const { link, approvals } = deps;
  const agents = new Map<string, Agent>();

  function agentOf(computerId: string): Agent {
    const agent = agents.get(computerId) ?? createLinkAgent(link, computerId);
    agents.set(computerId, agent);
    return agent;
  }

  async function callOf(context: Context<Route>, route: Route): Promise<Call> {
    const { path, computer } = target(context.request);
    const { kind, userId } = context.principal;
    const computerId = await deps.computers.resolve(userId, computer);
    if (computerId === null) throw unknown(kind === 'public', computer);
    return { context, computerId, path, limit: limitOf(route) };
  }

  async function pass(context: Context<Route>, route: Route): Promise<void> {
    await deliver(await send(await callOf(context, route)), context);
  }

  /** The engine's stream, with the caller's own approval events between the engine's. */
  async function passEvents(context: Context<Route>, route: Route): Promise<void> {
    const { principal, response } = context;
    const call = await callOf(context, route);
    const ledgerId = (cursor: string) => approvals.ledgerIdOf(cursor, principal.userId);
    const resumeFrom = context.request.headers['last-event-id'];
    const [plain = call.path, search = ''] = call.path.split('?', 2);
    const query = new URLSearchParams(search);
    const after = query.get('after');
    if (after !== null) query.set('after', (await ledgerId(after)) ?? after);
    const merged = createMergedStream();
    // From before the engine is asked: nothing may fall between its answer and our listening.
    const stop = approvals.onEvent((event) => {
      if (event.userId === principal.userId) merged.inject(event);
    });
    response.once('close', stop);
    try {
      const answer = await send({
        ...call,
        path: query.size === 0 ? plain : `${plain}?${query}`,
        ...(typeof resumeFrom === 'string' ? { resumeFrom: (await ledgerId(resumeFrom)) ?? resumeFrom } : {}),
      });
      await deliver(answer, context, answer.statusCode === 200 ? merged.stream : undefined);
    } finally {
      stop();
    }
  }

  /** Asks the computer; a read that was cut off before its answer began once more, over the link that comes next. */
  async function send({ context, computerId, path, resumeFrom, limit }: Call): Promise<IncomingMessage> {
    const { principal } = context;
    let credential: string | null = null;
    try {
      return await askUpstream({
        context,
        bodyLimit: limit,
        async upstream() {
          credential = await link.credential(computerId);
          const headers: OutgoingHttpHeaders = { host: 'engine' };
          if (resumeFrom !== undefined) headers['last-event-id'] = resumeFrom;
          if (principal.kind !== 'public') {
            headers.authorization = `Bearer ${credential ?? ''}`;
            headers[linkHeaders.user] = principal.userId;
            headers[linkHeaders.surface] = surfaceOf(principal);
          }
          return { agent: agentOf(computerId), path, headers };
        },
        // The engine closed an idle connection just as it was taken, or the link is another one by now.
        async again({ wasIdle }) {
          const { linked } = await link.state(computerId);
          const same = linked && (await link.credential(computerId)) === credential;
          return same ? wasIdle : link.untilLinked(computerId, comeBackMs, context.signal);
        },
      });
    } catch (thrown) {
      throw thrown instanceof Unanswered ? away(thrown.cause) : thrown;
    }
  }

  function away(cause: NodeJS.ErrnoException): AppError {
    const fact = `The factory engine of this computer does not answer (${cause.code ?? cause.message}).`;
    return new AppError('transport', fact, deps.advice, { cause });
  }

  return {
    routes: factoryRoutes.map((route) =>
      bindPassThrough(route, (context) =>
        route === factoryEventStream ? passEvents(context, route) : pass(context, route),
      ),
    ),
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

interface Call {
  readonly context: Context<Route>;
  readonly computerId: string;
  /** As the engine gets it, query included. */
  readonly path: string;
  /** In place of the caller's own. */
  readonly resumeFrom?: string;
  /** Bytes of its body. */
  readonly limit: number;
}

function limitOf(route: Route): number {
  return route.bodyLimit ?? (route.kind === 'raw' ? largestForm : defaultBodyLimit);
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

function unknown(isPublic: boolean, named: string | null): AppError {
  if (isPublic) {
    return new AppError('refused', 'No computer is asked without a credential.', 'Sign in first.', {
      status: 401,
      wireCode: 'unauthorized',
    });
  }
  if (named === null) return new AppError('not_found', 'No computer is paired yet.', 'Pair one in the settings.');
  return new AppError(
    'not_found',
    `There is no computer ${JSON.stringify(named)}.`,
    'Leave it out for the default one.',
  );
}
