/**
 * A port or socket that is bound before anything behind it exists: a port in use stops the start before it has changed anything, and requests during
 * the start wait instead of being refused. Must not know what answers.
 */
import { rmSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Address, closeServer, createHttpServer, listenOn, listenOnSocket } from '../kit/http/server.ts';

/** Takes over a connection for a WebSocket, and refuses those it does not want. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface OpenListener {
  /** 0 for a socket. */
  readonly port: number;
  /** From now on `listener` answers, earlier requests first. Without `upgrade` a request for another protocol is answered like any other. */
  serve(listener: RequestListener, upgrade?: UpgradeListener): void;
  /** Answers a connection that arrived elsewhere as if this listener had accepted it. */
  accept(connection: Duplex): void;
  /** Stops accepting and closes what is open. Idempotent. */
  close(): Promise<void>;
}

function openServer() {
  let listener: RequestListener | null = null;
  let closed: Promise<void> | undefined;
  const waiting: [IncomingMessage, ServerResponse][] = [];
  const server = createHttpServer((request, response) => {
    if (listener === null) waiting.push([request, response as ServerResponse]);
    else listener(request, response);
  });
  return {
    server,
    serve(next: RequestListener, upgrade?: UpgradeListener) {
      listener = next;
      if (upgrade !== undefined) server.on('upgrade', upgrade);
      for (const [request, response] of waiting.splice(0)) {
        if (!response.destroyed) next(request, response as never);
      }
    },
    accept: (connection: Duplex) => void server.emit('connection', connection),
    close(): Promise<void> {
      closed ??= closeServer(server);
      return closed;
    },
  };
}

/** Listens on 127.0.0.1, literally. `transport`, naming `flag`, when the port is in use. */
export function openPort(port: number, flag: string): Promise<OpenListener> {
  return openAddress({ host: '127.0.0.1', port }, `Choose another with \`gantry start ${flag} <port>\`.`);
}

/** `transport`, with `advice`, when the address is in use or does not belong to this machine. */
export async function openAddress(address: Address, advice: string): Promise<OpenListener> {
  const { server, serve, accept, close } = openServer();
  return { port: await listenOn(server, address, advice), serve, accept, close };
}

/** The caller holds the folder's lock, so an existing socket file was left by a killed runtime. */
export async function openSocket(path: string): Promise<OpenListener> {
  const { server, serve, accept, close } = openServer();
  rmSync(path, { force: true });
  await listenOnSocket(server, path);
  return {
    port: 0,
    serve,
    accept,
    close: async () => {
      await close();
      rmSync(path, { force: true });
    },
  };
}

/** Answers only connections that arrive elsewhere. */
export function openNowhere(): Omit<OpenListener, 'port'> {
  const { serve, accept, close } = openServer();
  return { serve, accept, close };
}

/** Connections to a socket that carry no HTTP. They wait, unread, until they are taken. */
export interface OpenConnections {
  take(connected: (connection: Socket) => void): void;
}

/** As {@link openSocket}. Open as long as the program runs. */
export async function openConnections(path: string): Promise<OpenConnections> {
  let taken: ((connection: Socket) => void) | null = null;
  const waiting: Socket[] = [];
  const server = createServer({ noDelay: true }, (connection) => {
    connection.on('error', () => {});
    if (taken === null) waiting.push(connection);
    else taken(connection);
  });
  rmSync(path, { force: true });
  await listenOnSocket(server, path);
  return {
    take(connected) {
      taken = connected;
      for (const connection of waiting.splice(0)) connected(connection);
    },
  };
}
