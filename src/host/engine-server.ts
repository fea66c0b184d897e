/**
 * The engine's two doors with one set of routes: 127.0.0.1 for the CLI and bots, a Unix socket in the 0700 folder for those and
 * the cloud API's link (interface.md C; security.md 1.4). Must not know what the routes do.
 */
import { rmSync } from 'node:fs';
import { unbuiltRoutes } from '../contracts/unbuilt.ts';
import { createDispatcher, type DispatcherOptions } from '../kit/http/dispatcher.ts';
import { closeServer, createHttpServer, listenOnLoopback, listenOnSocket } from '../kit/http/server.ts';
import type { Authenticator, BoundRoute, OwnerLookups } from '../kit/http/types.ts';
import { bindUnbuilt } from '../kit/http/unbuilt.ts';
import { writePrivateFile } from '../kit/secrets/token-file.ts';
import type { Closing } from './closing.ts';
import type { Places } from './places.ts';

export interface EngineServerDeps
  extends Pick<DispatcherOptions, 'ids' | 'log' | 'idempotency' | 'limits' | 'answers'> {
  readonly places: Places;
  readonly port: number;
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** Owner and bots: through both doors. */
  readonly authenticators: readonly Authenticator[];
  /** The cloud API's link: through the socket alone. */
  readonly linkAuthenticator: Authenticator;
}

export interface EngineServer {
  readonly port: number;
  readonly url: string;
  /** Open event streams at both doors. */
  readonly streams: number;
}

/** Starts both doors and writes the URL file. `transport` when the port is taken. The caller holds the folder's lock. */
export async function startEngineServer(deps: EngineServerDeps, closing: Closing): Promise<EngineServer> {
  const { places, authenticators, linkAuthenticator } = deps;
  const routes = [...deps.routes, ...unbuiltRoutes.filter((route) => route.server !== 'cloud').map(bindUnbuilt)];
  const { ids, log, owners, idempotency, limits, answers } = deps;
  const shared = { routes, owners, ids, log, idempotency, limits, answers, shape: 'factory' as const };
  // Owner and link first: they are many requests a second, bots are few.
  const socketDispatcher = createDispatcher({
    ...shared,
    door: { kind: 'socket' },
    authenticators: [linkAuthenticator, ...authenticators],
  });
  const dispatcher = createDispatcher({ ...shared, door: { kind: 'tcp', origins: 'none' }, authenticators });

  const socketServer = createHttpServer((request, response) => void socketDispatcher.handle(request, response));
  // What a killed runtime left behind; the lock says that nobody listens on it.
  rmSync(places.engineSocket, { force: true });
  await listenOnSocket(socketServer, places.engineSocket);
  closing.add('engine socket', async () => {
    socketDispatcher.close('Gantry stops.');
    await closeServer(socketServer);
    rmSync(places.engineSocket, { force: true });
  });

  const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
  const port = await listenOnLoopback(server, deps.port, '--engine-port');
  closing.add('engine port', async () => {
    dispatcher.close('Gantry stops.');
    await closeServer(server);
  });

  const url = `http://127.0.0.1:${port}`;
  writePrivateFile(places.url, `${url}\n`);
  closing.add('url file', () => rmSync(places.url, { force: true }));
  return {
    port,
    url,
    get streams() {
      return dispatcher.streams + socketDispatcher.streams;
    },
  };
}
