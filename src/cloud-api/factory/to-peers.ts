/**
 * The way from one computer of a person to another (interface.md C "Peer routes"): the caller is known here, the computer gets a
 * ticket for that person, everything else passes unread in both directions. Must not know what the routes mean.
 */
import { type Agent, type IncomingMessage, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { factoryPeerRoutes, peerTeamUp } from '../../contracts/factory/peer-routes.ts';
import { tooLarge } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { createLinkAgent, type Link } from '../link/link.ts';
import { deliver } from './deliver.ts';

export interface ToPeersDeps {
  readonly link: Pick<Link, 'open'>;
  /** By a computer's own id or the cloud's; null: unknown, or another person's. */
  readonly computers: { resolve(userId: string, named: string): Promise<string | null> };
  readonly tickets: { mintTicket(computerId: string, userId: string): Promise<string> };
}

export interface ToPeers {
  readonly routes: readonly BoundRoute[];
  close(): void;
}

const requestHeaders = [
  'accept',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'idempotency-key',
] as const;
/** The largest of what passes is a team folder. */
const largestBody = peerTeamUp.bodyLimit;
const mount = '/factory-peer/';

export function createToPeers(deps: ToPeersDeps): ToPeers {
  const agents = new Map<string, Agent>();
  const agentOf = (computerId: string): Agent => {
    const agent = agents.get(computerId) ?? createLinkAgent(deps.link, computerId, 'peer');
    agents.set(computerId, agent);
    return agent;
  };

  const pass = async (context: Context<Route>): Promise<void> => {
    const { principal, request } = context;
    const { id: named = '' } = context.params as { id?: string };
    const computerId = await deps.computers.resolve(principal.userId, named);
    if (computerId === null) throw unknown(named);
    if (Number(request.headers['content-length'] ?? 0) > largestBody) throw tooLarge(largestBody);
    const ticket = await deps.tickets.mintTicket(computerId, principal.userId);
    const headers: OutgoingHttpHeaders = { host: 'peer', authorization: `Bearer ${ticket}` };
    for (const name of requestHeaders) {
      const value = request.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    const { url = '' } = request;
    const path = `/api/factory/peer/${url.slice(url.indexOf(mount) + mount.length)}`;
    await deliver(await ask(context, agentOf(computerId), path, headers), context);
  };

  return {
    routes: factoryPeerRoutes.map((route) => bindPassThrough(route, pass)),
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

function ask(
  { request, response }: Context<Route>,
  agent: Agent,
  path: string,
  headers: OutgoingHttpHeaders,
): Promise<IncomingMessage> {
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
        // The other end closed an idle connection just as it was taken: nothing was read there.
        if (again && upstream.reusedSocket && cause.code === 'ECONNRESET' && !response.destroyed) attempt(false);
        else reject(cause instanceof AppError ? cause : away(cause));
      });
      if (!hasBody) {
        upstream.end();
        return;
      }
      let passed = 0;
      request.on('data', (chunk: Buffer) => {
        passed += chunk.length;
        if (passed > largestBody) upstream.destroy(tooLarge(largestBody));
      });
      // Not a pipeline: that would cut the caller off before it hears that the computer is away.
      request.pipe(upstream);
    };
    attempt(request.method === 'GET' && !hasBody);
  });
}

function unknown(named: string): AppError {
  const fact = `There is no computer ${JSON.stringify(named.slice(0, 200))}.`;
  return new AppError('not_found', fact, 'List them to see which there are.', { wireCode: 'computer_not_found' });
}

function away(cause: NodeJS.ErrnoException): AppError {
  const fact = `The other computer does not answer (${cause.code ?? cause.message}).`;
  const code = { wireCode: 'computer_unavailable', cause };
  return new AppError('transport', fact, 'See that Gantry runs there and reaches this cloud.', code);
}
