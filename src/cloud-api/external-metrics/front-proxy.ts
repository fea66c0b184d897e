/**
 * Knows the API server of a Kubernetes cluster by the client certificate with which it passes requests on (the aggregation layer's front proxy). It has
 * authenticated and authorised the caller before, so nothing here asks it again. Must not know routes.
 */
import { TLSSocket } from 'node:tls';
import { AppError } from '../../contracts/common/errors.ts';
import type { Authenticator, Principal } from '../../kit/http/types.ts';

/** The connection's certificate was checked against the front proxy's authority; `names` empty: any of its certificates. */
export function createFrontProxyAuthenticator({ names }: { readonly names: readonly string[] }): Authenticator {
  const cluster: Principal = { kind: 'cluster', userId: '', scopes: new Set(), via: 'front-proxy' };
  return {
    name: 'front-proxy',
    authenticate({ socket, headers }) {
      if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
      const name = String(socket.getPeerCertificate().subject?.CN ?? '');
      if (names.length > 0 && !names.includes(name)) {
        throw refused(`The certificate of ${JSON.stringify(name)} is not one of the cluster’s front proxy.`);
      }
      // Who asks the API server is its business; that it asks for somebody shows that this is the aggregation layer.
      if (!headers['x-remote-user']) throw refused('The request does not say for whom the API server asks.');
      return cluster;
    },
  };
}

function refused(fact: string): AppError {
  return new AppError('refused', fact, 'Ask through the API server: kubectl get --raw.', {
    status: 401,
    wireCode: 'unauthorized',
  });
}
