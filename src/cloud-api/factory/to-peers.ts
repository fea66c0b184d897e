/**
 * Passes requests from one computer of a person to another. The caller is authenticated here, the computer gets a ticket for that person, and
 * everything else passes unread in both directions. Must not know what the routes mean.
 */
import type { Agent } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { factoryPeerRoutes, peerTeamUp } from '../../contracts/factory/peer-routes.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { askUpstream, Unanswered } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';
import { createLinkAgent, type Link } from '../link/link.ts';

interface ToPeers {
  readonly routes: readonly BoundRoute[];
  close(): void;
}

/** A team folder is the largest body that passes. */
const largestBody = peerTeamUp.bodyLimit;
const mount = '/factory-peer/';

export function createToPeers(deps: {
  readonly link: Pick<Link, 'open'>;
  /** By a computer's own id or the cloud's; null: unknown, or another person's. */
  readonly computers: { resolve(userId: string, named: string): Promise<string | null> | string | null };
  readonly tickets: { mintTicket(computerId: string, userId: string): Promise<string> };
}): ToPeers {
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
    const { url = '' } = request;
    const path = `/api/factory/peer/${url.slice(url.indexOf(mount) + mount.length)}`;
    const ticket = await deps.tickets.mintTicket(computerId, principal.userId);
    const headers = { host: 'peer', authorization: `Bearer ${ticket}` };
    try {
      const upstream = () => ({ agent: agentOf(computerId), path, headers });
      await deliver(await askUpstream({ context, upstream, bodyLimit: largestBody }), context);
    } catch (thrown) {
      throw thrown instanceof Unanswered ? away(thrown.cause) : thrown;
    }
  };

  return {
    routes: factoryPeerRoutes.map((route) => bindPassThrough(route, pass)),
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

function unknown(named: string): AppError {
  const fact = `There is no computer ${JSON.stringify(named.slice(0, 200))}.`;
  return new AppError('not_found', fact, 'List them: GET /api/v1/computers', { wireCode: 'computer_not_found' });
}

function away(cause: NodeJS.ErrnoException): AppError {
  const fact = `The other computer does not answer (${cause.code ?? cause.message}).`;
  const code = { wireCode: 'computer_unavailable', cause };
  return new AppError('transport', fact, 'Check that Gantry runs there and can reach this cloud.', code);
}
