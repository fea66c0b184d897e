/**
 * The runtimes of all computers, as the areas of a cloud ask them for a person: picks the computer and the link's credential, and retries once where
 * that is safe. First user: the factory proxy; second: the tool server. Must not know routes, or an area's response for a computer that is away.
 */
import type { Agent, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { clientOf, linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import { type Asker, askUpstream, type Upstream } from './ask.ts';
import type { ComputerLookup } from './computers.ts';
import { createLinkAgent, type Link } from './link.ts';

interface EngineTarget {
  readonly computerId: string;
  /** The path for the runtime: with the query, without the computer. */
  readonly path: string;
}

export interface EngineQuestion extends EngineTarget {
  readonly context: Asker & { readonly principal: Principal; readonly signal: AbortSignal };
  /** Limit of its body in bytes; absent: the runtime enforces its own. */
  readonly limit?: number;
  /** Replaces the request's own body, which has been read. */
  readonly body?: Buffer;
  /** Replaces the request's own method, with `body` or without one. */
  readonly method?: string;
  /** Added to the headers that always travel on. */
  readonly headers?: OutgoingHttpHeaders;
  /** The request changes nothing, so it may be repeated; absent: true for a GET. */
  readonly reads?: boolean;
}

export interface Engines {
  /** Throws `not_found` for a computer that this caller does not have, 401 for a caller without a person. */
  targetOf(context: { readonly request: IncomingMessage; readonly principal: Principal }): Promise<
    EngineTarget & {
      /** The computer that the caller names, otherwise the default one. */
      readonly named: boolean;
    }
  >;
  /**
   * Resolves when the answer begins. Throws `transport`, with the time since when, while the computer is away, and {@link Unanswered} if the
   * connection ended before it answered.
   */
  ask(question: EngineQuestion): Promise<IncomingMessage>;
  close(): void;
}

const computerHeader = 'x-gantry-computer';
/** After a read was cut off: how long to wait for the computer to come back before the one retry. */
const comeBackMs = 5_000;

export function createEngines({
  link,
  computers,
}: {
  readonly link: Pick<Link, 'open' | 'credential' | 'state' | 'untilLinked'>;
  readonly computers: ComputerLookup;
}): Engines {
  const agents = new Map<string, Agent>();

  function agentOf(computerId: string): Agent {
    const agent = agents.get(computerId) ?? createLinkAgent(link, computerId);
    agents.set(computerId, agent);
    return agent;
  }

  return {
    async targetOf({ request, principal }) {
      const { path, named } = split(request);
      const found = computers.resolve(principal.userId, named);
      const computerId = found instanceof Promise ? await found : found;
      if (computerId === null) throw unknown(principal.kind === 'public', named);
      return { computerId, path, named: named !== null };
    },
    ask({ context, computerId, path, limit, body, method, headers: more, reads }) {
      const { principal } = context;
      let credential: string | null = null;
      const upstreamAs = (bearer: string | null): Upstream => {
        credential = bearer;
        const headers: OutgoingHttpHeaders = { host: 'engine', ...more };
        if (principal.kind !== 'public') {
          headers.authorization = `Bearer ${bearer ?? ''}`;
          headers[linkHeaders.user] = principal.userId;
          headers[linkHeaders.surface] = surfaceOf(principal);
          headers[linkHeaders.client] = clientOf(principal);
        }
        return { agent: agentOf(computerId), path, headers };
      };
      return askUpstream({
        context,
        bodyLimit: limit,
        body,
        method,
        reads,
        upstream() {
          const bearer = link.credential(computerId);
          return bearer instanceof Promise ? bearer.then(upstreamAs) : upstreamAs(bearer);
        },
        // The runtime closed an idle connection just as it was used, or the link has been replaced.
        async again({ wasIdle }) {
          const { linked } = await link.state(computerId);
          const same = linked && (await link.credential(computerId)) === credential;
          return same ? wasIdle : link.untilLinked(computerId, comeBackMs, context.signal);
        },
      });
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

function split(request: IncomingMessage): { path: string; named: string | null } {
  const url = request.url ?? '/';
  const header = request.headers[computerHeader];
  const mark = url.indexOf('?');
  if (mark === -1 || !url.includes('computer=', mark)) {
    return { path: url, named: typeof header === 'string' ? header : null };
  }
  const query = new URLSearchParams(url.slice(mark + 1));
  const named = query.get('computer') ?? (typeof header === 'string' ? header : null);
  query.delete('computer');
  const rest = query.size === 0 ? '' : `?${query}`;
  return { path: url.slice(0, mark) + rest, named };
}

function unknown(isPublic: boolean, named: string | null): AppError {
  if (isPublic) {
    return new AppError('refused', 'Calling a computer needs a credential.', 'Sign in first.', {
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
