/**
 * An HTTP server with limits against slow clients, on loopback literals or a Unix socket. First users: runtime and cloud
 * API. Must not know routes.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';

/** Headers of an honest client arrive in one packet. */
const headersTimeoutMs = 10_000;
/** Limit for the whole request, including uploads of 25 MiB. Answers, and so event streams, have no limit. */
const requestTimeoutMs = 60_000;
/** Node looks only every 30 s by default; a slow client would outlive the limits above. */
const checkEveryMs = 1_000;
/** Longer than any agent keeps an idle socket, so that the client closes first. */
const keepAliveMs = 65_000;

/** The upgrades: computers dial one, replicas of a cloud open the other. */
const upgradable: ReadonlySet<string> = new Set(['websocket', 'gantry-pipe']);

export function createHttpServer(listener: RequestListener): Server {
  const server: Server = createServer(
    {
      connectionsCheckingInterval: checkEveryMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      noDelay: true,
      // Clients may offer other protocols (some offer h2c by default); the offer is ignored and the request answered.
      shouldUpgradeCallback: ({ headers }) =>
        server.listenerCount('upgrade') > 0 && upgradable.has(headers.upgrade?.toLowerCase() ?? ''),
    },
    listener,
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? '408 Request Timeout'
          : '400 Bad Request';
    const body = JSON.stringify({ error: 'bad_request', message: 'The request is not valid HTTP.' });
    endWith(
      socket,
      `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
  return server;
}

/** The last response to a refused client. A connection that stays open afterwards is cut: no limit of ours counts it. */
export function endWith(socket: Duplex, text: string): void {
  socket.once('finish', () => socket.destroy());
  socket.end(text);
}

/** Listens on 127.0.0.1 literally. Resolves with the port. A taken port is `transport` (exit 3) in one sentence. */
export function listenOnLoopback(server: Server, port: number, setting: string): Promise<number> {
  return listenOn(server, { host: '127.0.0.1', port }, `Choose another with \`gantry start ${setting} <port>\`.`);
}

export interface Address {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** Listens on an address. `advice` says what to do if it is taken. */
export async function listenOn(server: NetServer, { host, port }: Address, advice: string): Promise<number> {
  const shown = host === '127.0.0.1' ? `Port ${port}` : `${host}:${port}`;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const what = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be opened: ${cause.message}`;
      reject(new AppError('transport', `${shown} ${what}.`, advice, { cause }));
    });
    server.listen({ port, host, exclusive: true }, resolve);
  });
  server.removeAllListeners('error');
  return (server.address() as AddressInfo).port;
}

/** The longest path that every platform binds whole; Node cuts longer ones silently. */
const maxSocketPathLength = 103;
/**
 * Connections that wait to be taken; the system may allow fewer. A Unix socket refuses the next one at once (EAGAIN), unlike TCP, which tries again:
 * with Node's 511 the calls of one client that come together were too many.
 */
const maxBacklog = 4096;

/** Listens on a Unix socket. The caller holds the lock of the folder and has removed a stale file. */
export async function listenOnSocket(server: NetServer, path: string): Promise<void> {
  if (Buffer.byteLength(path) > maxSocketPathLength) {
    throw new AppError(
      'usage',
      `The socket path ${path} is longer than ${maxSocketPathLength} bytes.`,
      'Set GANTRY_HOME to a shorter folder.',
    );
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new AppError('transport', `The socket ${path} cannot be opened: ${cause.message}.`, 'Check its folder.', {
          cause,
        }),
      ),
    );
    server.listen({ path, backlog: maxBacklog }, resolve);
  });
  server.removeAllListeners('error');
}

/** Stops accepting, ends what is open and resolves when all is closed. */
export async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    // Answers under way get a moment to leave; then nothing may delay the close.
    setTimeout(() => server.closeAllConnections(), 500).unref();
  });
}
