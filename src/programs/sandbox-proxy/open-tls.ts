/** Opens a TLS connection between a program and its server, so that its requests can be read: one TLS with each of them. */
import type { Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import type { HostAndPort } from '../../kit/egress/host-name.ts';
import type { Authority } from './ca.ts';

/** Requests are read one by one, which HTTP/2 does not allow. */
const protocols = ['http/1.1'];

/** To the server, which is checked as any client would; rejects where its certificate is not for this host. `trusted`: besides the usual authorities. */
export function secure(upstream: Socket, { host }: HostAndPort, trusted: string | undefined): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      socket: upstream,
      servername: host,
      ALPNProtocols: protocols,
      ...(trusted === undefined ? {} : { ca: trusted }),
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject).on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}

/** From the program, whose first bytes are still unread. */
export async function accept(client: Socket, { host }: HostAndPort, authority: Authority): Promise<TLSSocket> {
  const socket = new TLSSocket(client, {
    isServer: true,
    secureContext: await authority.contextFor(host),
    ALPNProtocols: protocols,
  });
  socket.on('error', () => socket.destroy());
  return socket;
}
