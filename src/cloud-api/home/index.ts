/**
 * The server of a paired computer: the person signs in here, their own bots are reached directly, and everything else is asked at the home cloud.
 * Owns which route goes where; must not know what any means.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listApprovals } from '../../contracts/approvals/routes.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { deviceRoutes } from '../../contracts/computer-use/device-routes.ts';
import { approveRun, runRoutes } from '../../contracts/computer-use/run-routes.ts';
import { twinOf } from '../../contracts/connectors/mount.ts';
import { eventCallback } from '../../contracts/connectors/relay.ts';
import { connectorAreaRoutes } from '../../contracts/connectors/routes.ts';
import { listTrail } from '../../contracts/connectors/subscription.ts';
import { factoryEventStream, factoryRoutes } from '../../contracts/factory/routes.ts';
import { postTrigger } from '../../contracts/factory/work-engine/trigger-events.ts';
import { adminRoutes } from '../../contracts/identity/admin.ts';
import { protectedResource, protectedResourceOf } from '../../contracts/identity/resource.ts';
import {
  createOpenCode,
  endSession,
  getSession,
  login,
  loginCallback,
  openWithCode,
} from '../../contracts/identity/routes.ts';
import { localPairingRoutes } from '../../contracts/link/local-pairing.ts';
import { beginPairing, pollPairing } from '../../contracts/link/pairings.ts';
import { metricsRoutes } from '../../contracts/metrics/routes.ts';
import { oauthClientDocument } from '../../contracts/tool-server/mcp.ts';
import { toolServerRoutes } from '../../contracts/tool-server/routes.ts';
import { linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { askUpstream } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';
import { createLinkAgent, type Link } from '../link/link.ts';
import { createForward, type ForwardDeps } from './forward.ts';

export type { HomeConnection } from './forward.ts';

export interface PairedRoutesDeps extends ForwardDeps {
  /** The routes that are served while this computer is not paired. */
  readonly routes: readonly BoundRoute[];
  /** The computer of this process, and the way to it. */
  readonly computerId: string;
  readonly link: Pick<Link, 'open' | 'credential'>;
}

interface PairedRoutes {
  readonly routes: readonly BoundRoute[];
  close(): void;
}

/** Always answered by this server: who is signed in here, and what only it knows. */
const staysHere: ReadonlySet<Route> = new Set<Route>([
  openWithCode,
  createOpenCode,
  getSession,
  endSession,
  login,
  loginCallback,
  protectedResource,
  protectedResourceOf,
  ...adminRoutes,
  ...localPairingRoutes,
  ...metricsRoutes,
  beginPairing,
  pollPairing,
  postTrigger,
  eventCallback,
  oauthClientDocument,
]);
/** Answered by this computer unless the request names another: its bots, tools and runs are here, and nobody in between need read what they do. */
const ofThisComputer: ReadonlySet<Route> = new Set<Route>([
  ...factoryRoutes,
  ...toolServerRoutes,
  ...runRoutes,
  ...deviceRoutes,
  ...connectorAreaRoutes,
]);
/** Partly at home: events for this computer that have not reached it. */
const trails: ReadonlySet<string> = new Set([listTrail.op, twinOf(listTrail).op]);
const isBuilt = (route: Route) => !(501 in route.answers);

export function createPairedRoutes(deps: PairedRoutesDeps): PairedRoutes {
  const { home, computerId, link } = deps;
  const forward = createForward(deps);
  const agent = createLinkAgent(link, computerId);
  /** Each event stream, by where it began: over home or from this computer. */
  const streams = new Set<ServerResponse>();
  const cutStreams = () => {
    for (const response of streams) response.destroy();
  };
  // Readers reconnect at once, with the id of the last event: home's stream has more events than this computer's.
  const stops = [home.onChange(cutStreams), home.link.onChange(cutStreams)];

  function bound(entry: BoundRoute): BoundRoute {
    const { route } = entry;
    const forPerson = route.auth.includes('owner') || route.auth.includes('public');
    if (staysHere.has(route) || !forPerson || !isBuilt(route)) return entry;
    if (route === factoryEventStream) return bindPassThrough(route, (context) => passEvents(context, entry));
    if (trails.has(route.op)) return bindPassThrough(route, (context) => passTrail(context, entry));
    if (ofThisComputer.has(route)) {
      const handler: BoundRoute['handler'] = (context) =>
        isElsewhere(context) ? forward.pass(context) : serveHere(context, entry);
      return { ...entry, handler };
    }
    // Home keeps the answers; the run is on this computer unless the request names another.
    if (route === approveRun) {
      return bindPassThrough(route, (context) =>
        forward.pass(context, isElsewhere(context) ? {} : { computer: computerId }),
      );
    }
    if (route === listApprovals) return bindPassThrough(route, passApprovals);
    return bindPassThrough(route, (context) => forward.pass(context));
  }

  /** Another computer of the person, or a hosted one: only home knows how to reach it. */
  function isElsewhere({ request }: { readonly request: IncomingMessage }): boolean {
    const named = namedComputer(request);
    return named !== null && named !== computerId;
  }

  async function passEvents(context: Context<Route>, entry: BoundRoute): Promise<void> {
    const { request, response, principal } = context;
    // A key of this server is unknown at home, and it was made only for bots of this computer.
    if (principal.kind !== 'owner') return serveHere(context, entry);
    streams.add(response);
    response.once('close', () => streams.delete(response));
    const named = namedComputer(request);
    const elsewhere = named !== null && named !== computerId;
    if (!elsewhere && !home.link.state().linked) {
      await serveHere(context, entry);
      return;
    }
    try {
      await forward.pass(context, named === null ? { computer: computerId } : {});
    } catch (thrown) {
      if (elsewhere || !isAway(thrown)) throw thrown;
      await serveHere(context, entry);
    }
  }

  /** Asks home; while home is away, answers what this computer knows. */
  async function passTrail(context: Context<Route>, entry: BoundRoute): Promise<void> {
    try {
      await forward.pass(context, isElsewhere(context) ? {} : { computer: computerId });
    } catch (thrown) {
      if (isElsewhere(context) || !isAway(thrown)) throw thrown;
      await serveHere(context, entry);
    }
  }

  /** Asks home; while home is away, lists what waits on this computer. */
  async function passApprovals(context: Context<Route>): Promise<void> {
    try {
      await forward.pass(context);
    } catch (thrown) {
      if (!isAway(thrown)) throw thrown;
      await deliver(await askEngine(context), context);
    }
  }

  async function askEngine(context: Context<Route>): Promise<IncomingMessage> {
    const { request, principal } = context;
    const headers = {
      host: 'engine',
      authorization: `Bearer ${(await link.credential(computerId)) ?? ''}`,
      [linkHeaders.user]: principal.userId,
      [linkHeaders.surface]: surfaceOf(principal),
    };
    return askUpstream({ context, upstream: () => ({ agent, path: request.url ?? '/', headers }) });
  }

  return {
    routes: deps.routes.map(bound),
    close() {
      for (const stop of stops) stop();
      cutStreams();
      forward.close();
      agent.destroy();
    },
  };
}

const isAway = (thrown: unknown) => thrown instanceof AppError && thrown.code === 'transport';

async function serveHere(context: Context<Route>, entry: BoundRoute): Promise<void> {
  await entry.handler(context);
}

const inPath = /^\/api\/v1\/computers\/(?!this-device\/)([^/?]+)\//;

function namedComputer({ url = '', headers }: IncomingMessage): string | null {
  const named = inPath.exec(url)?.[1];
  if (named !== undefined) return named;
  const mark = url.indexOf('?');
  const inQuery = mark === -1 ? null : new URLSearchParams(url.slice(mark + 1)).get('computer');
  const header = headers['x-gantry-computer'];
  return inQuery ?? (typeof header === 'string' ? header : null);
}
