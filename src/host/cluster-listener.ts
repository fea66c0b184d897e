/**
 * The port for a cluster's API server: TLS, with a request for the client's certificate, which the routes' authentication looks at. Must not know what
 * answers.
 */
import { createServer } from 'node:tls';
import { AppError } from '../contracts/common/errors.ts';
import { listenOn } from '../kit/http/server.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { type OpenListener, openNowhere } from './listeners.ts';

const handshakeMs = 10_000;

/** `usage` for a certificate that cannot be used, `transport` when the address is taken. */
export async function openClusterPort(settings: ClusterSettings): Promise<Omit<OpenListener, 'accept'>> {
  const http = openNowhere();
  const server = serverOf(settings, http.accept);
  // A client that leaves during its handshake is no fault of this server.
  server.on('tlsClientError', () => {});
  const port = await listenOn(server, settings.listen, 'Choose another with GANTRY_CLUSTER_LISTEN.');
  return {
    port,
    serve: http.serve,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await http.close();
      await closed;
    },
  };
}

function serverOf({ certificate, key, authority }: ClusterSettings, accept: OpenListener['accept']) {
  try {
    // Without a certificate, or with another one, a client gets as far as 401: whom a route lets in is said in one place.
    const asks = { requestCert: true, rejectUnauthorized: false } as const;
    return createServer(
      { cert: certificate, key, ca: authority, minVersion: 'TLSv1.2', handshakeTimeout: handshakeMs, ...asks },
      accept,
    );
  } catch (cause) {
    const fact = `The certificate in GANTRY_CLUSTER_TLS cannot be used: ${(cause as Error).message}.`;
    throw new AppError('usage', fact, 'Give a certificate and its key as PEM.', { cause });
  }
}
