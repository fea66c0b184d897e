/**
 * Takes what a hosted computer's program sends on a connection that was offered to it: the upgrade with which that computer dials, and nothing else. So
 * no program in a computer reaches a route of the cloud on it. Must not know drivers.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { linkPath } from '../../contracts/link/dial-in.ts';
import { createHttpServer } from '../../kit/http/server.ts';
import { signatureHeaders } from '../../kit/signing/signature.ts';

/** Checks the credential, and makes the link. */
type TakeUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Serves one connection, only for the dial of that computer. */
export type TakeOffered = (computer: string, connection: Duplex) => void;

export function createTakeOffered(upgrade: TakeUpgrade): TakeOffered {
  const offeredTo = new WeakMap<Duplex, string>();
  const server = createHttpServer((request) => request.socket.destroy());
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const isIts = request.headers[signatureHeaders.id] === offeredTo.get(socket);
    if (isIts && request.url === linkPath) upgrade(request, socket, head);
    else socket.destroy();
  });
  return (computer, connection) => {
    offeredTo.set(connection, computer);
    // Its program may still be starting: the time for a request counts from its first byte.
    connection.once('readable', () => server.emit('connection', connection));
  };
}
