/**
 * The engine's two listeners with one set of routes: 127.0.0.1 for the CLI and bots, and a Unix socket in the 0700
 * folder for those and for the cloud API's link. Connections that a paired cloud opens over its link are served like
 * those of the socket. Must not know what the routes do.
 */
import { rmSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { createDispatcher, type DispatcherOptions } from '../kit/http/dispatcher.ts';
import type { Authenticator, BoundRoute, OwnerLookups } from '../kit/http/types.ts';
import { writePrivateFile } from '../kit/secrets/token-file.ts';
import type { Closing } from './closing.ts';
import { openPort, openSocket } from './listeners.ts';
import type { Places } from './places.ts';

/** What the last event of every stream says. */
export const stopReason = 'Gantry is stopping.';

interface EngineListeners {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Begins to answer; throws when a route cannot be mounted. */
  serve(deps: EngineServing): EngineServer;
}

interface EngineServing
  extends Pick<
    DispatcherOptions,
    'ids' | 'log' | 'idempotency' | 'limits' | 'answers' | 'meter' | 'telemetry' | 'traceOf'
  > {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** Owner and bots: through port and socket. */
  readonly authenticators: readonly Authenticator[];
  /** The cloud API's link: only through the socket. */
  readonly linkAuthenticator: Authenticator;
  /** Who may call over the link of a paired cloud: no owner's and no bot's token is taken there. */
  readonly pairedAuthenticators?: readonly Authenticator[];
}

export interface EngineServer {
  /** Open event streams. */
  readonly streams: number;
  /** Answers a connection that a paired cloud opened over its link. */
  accept(connection: Duplex): void;
  /** Ends them with a last event. What passes them on must still be up. */
  endStreams(reason: string): void;
}

/** Binds port and socket and writes the URL file. `transport` when the port is taken. The caller holds the folder's lock. */
export async function openEngineListeners(places: Places, port: number, closing: Closing): Promise<EngineListeners> {
  const socket = await openSocket(places.engineSocket);
  closing.add('engine socket', () => socket.close());
  const tcp = await openPort(port, '--engine-port');
  closing.add('engine port', () => tcp.close());
  const url = `http://127.0.0.1:${tcp.port}`;
  writePrivateFile(places.url, `${url}\n`);
  closing.add('url file', () => rmSync(places.url, { force: true }));

  return {
    port: tcp.port,
    url,
    serve({ authenticators, linkAuthenticator, pairedAuthenticators = [], routes, ...rest }) {
      const shared = {
        ...rest,
        routes,
        shape: 'factory' as const,
        // The home cloud signs with the key of this computer.
        continues: ['device'] as const,
      };
      // The link comes first: it carries every key stroke of a browser.
      const behindSocket = createDispatcher({
        ...shared,
        listener: { kind: 'socket' },
        authenticators: [linkAuthenticator, ...authenticators],
      });
      const behindPort = createDispatcher({ ...shared, listener: { kind: 'tcp', origins: 'none' }, authenticators });
      const behindLink = createDispatcher({
        ...shared,
        listener: { kind: 'socket' },
        authenticators: pairedAuthenticators,
      });
      const linked = new WeakSet<object>();
      socket.serve((request, response) => {
        const dispatcher = linked.has(request.socket) ? behindLink : behindSocket;
        void dispatcher.handle(request, response);
      });
      tcp.serve((request, response) => void behindPort.handle(request, response));
      const endStreams = (reason: string) => {
        behindPort.close(reason);
        behindSocket.close(reason);
        behindLink.close(reason);
      };
      // First of all to close: nothing may be asked of what is being taken apart.
      closing.add('engine requests', async () => {
        endStreams(stopReason);
        await Promise.all([tcp.close(), socket.close()]);
      });
      return {
        get streams() {
          return behindPort.streams + behindSocket.streams + behindLink.streams;
        },
        accept(connection) {
          linked.add(connection);
          socket.accept(connection);
        },
        endStreams,
      };
    },
  };
}
