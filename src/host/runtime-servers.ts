/**
 * The servers of the runtime: the engine's, for this computer and its cloud, and the one for the person's other computers. Opened once everything behind
 * them is up; only then the home cloud is dialled.
 */
import type { DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createIdempotency } from '../kit/http/idempotency.ts';
import { createLinkAuthenticator } from '../kit/http/principals.ts';
import type { Authenticator, BoundRoute, OwnerLookups } from '../kit/http/types.ts';
import { shareStore } from '../kit/store/share-store.ts';
import { type EngineServer, type openEngineListeners, stopReason } from './engine-server.ts';
import type { HomeLink } from './home-link.ts';
import { createPeerServer, type PeerServer } from './peer-server.ts';
import type { RuntimeCore } from './runtime-core.ts';

interface RuntimeServers {
  /** The server for other computers; null until it is opened. */
  peers(): PeerServer | null;
  open(behind: {
    readonly routes: readonly BoundRoute[];
    readonly owners: OwnerLookups;
    readonly peerRoutes: readonly BoundRoute[];
  }): void;
  /** Ends event streams with a last event. */
  endStreams(): void;
}

export function createRuntimeServers({
  listeners,
  homeLink,
  authenticators,
  linkToken,
  peerPort,
  meter,
  traceOf,
  limits,
  answers,
  ...core
}: Pick<DispatcherOptions, 'limits' | 'answers' | 'meter' | 'traceOf'> &
  RuntimeCore & {
    readonly listeners: Awaited<ReturnType<typeof openEngineListeners>>;
    readonly homeLink: HomeLink;
    /** Owner and bots. */
    readonly authenticators: readonly Authenticator[];
    /** Of the cloud API in the same process. */
    readonly linkToken: string;
    /** 0: any free one. */
    readonly peerPort: number;
  }): RuntimeServers {
  const { store, clock, timers, ids, log, telemetry, closing } = core;
  const shared = { ids, log, limits, answers };
  let serving: EngineServer | null = null;
  let peers: PeerServer | null = null;
  return {
    peers: () => peers,
    open({ routes, owners, peerRoutes }) {
      const engine = listeners.serve({
        ...shared,
        routes,
        owners,
        authenticators,
        linkAuthenticator: createLinkAuthenticator(linkToken),
        pairedAuthenticators: [homeLink.paired, homeLink.device],
        idempotency: createIdempotency(shareStore(store), clock),
        meter,
        telemetry,
        traceOf,
      });
      serving = engine;
      const others = createPeerServer({
        ...shared,
        routes: peerRoutes,
        pairing: homeLink.tickets,
        port: peerPort,
        clock,
        timers,
      });
      peers = others;
      closing.add('server for other computers', () => others.close());
      homeLink.dial({ engine: engine.accept, peer: (connection) => others.connection(connection) });
    },
    endStreams() {
      serving?.endStreams(stopReason);
      peers?.endStreams(stopReason);
    },
  };
}
