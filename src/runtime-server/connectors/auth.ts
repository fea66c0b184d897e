/** Converts a connector's credential to the transport of an attached server, and back. Pure. */
import type { ConnectorAuth } from '../../contracts/connectors/connector.ts';
import { hiddenSecret, type Transport } from '../../contracts/tool-server/servers.ts';

type Http = Extract<Transport, { type: 'http' }>;

const defaultHeader = 'Authorization';
const isUsual = (header: string) => header.toLowerCase() === defaultHeader.toLowerCase();

export function transportOf(url: string, auth: ConnectorAuth): Http {
  if (auth.type === 'none') return { type: 'http', url };
  if (auth.type === 'oauth') {
    const { type: _, ...oauth } = auth;
    return { type: 'http', url, oauth };
  }
  const header = auth.header ?? defaultHeader;
  // A key that names its scheme (`Basic …`) is sent as it is.
  const bare = auth.key === hiddenSecret || !isUsual(header) || /\s/.test(auth.key.trim());
  return { type: 'http', url, headers: { [header]: bare ? auth.key : `Bearer ${auth.key}` } };
}

/** `transport` without its secrets. One that sends several headers shows the first: they are changed on the Tools page. */
export function authOf({ headers = {}, oauth }: Http): ConnectorAuth {
  const [first] = Object.entries(headers);
  if (first !== undefined) {
    const [header, key] = first;
    return { type: 'api_key', key, ...(isUsual(header) ? {} : { header }) };
  }
  return oauth === undefined ? { type: 'none' } : { type: 'oauth', ...oauth };
}

/** The transport with another address and the same credential, which is kept only where the address stays. */
export const withUrl = (transport: Http, url: string): Http => ({ ...transport, url });
