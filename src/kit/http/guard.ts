/**
 * The checks of a listener before authentication: exact Host, exact Origin, Sec-Fetch-Site. Loopback proves nothing: requests from a web page,
 * another local port or a rebound name all come from it. Must not know routes or principals.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';

/**
 * `tcp`: Host must be a loopback literal with the listener's own port. `origins: 'own'` allows pages that this listener serves; `'none'` refuses
 * every Origin. `public`: Host and Origin must be those of the public address, which a proxy in front passes on. Other sites may navigate only to
 * paths in `navigable`. `socket`: a Unix socket in a 0700 folder; no browser can be behind it, so any Origin is refused.
 */
export type Listener =
  | { readonly kind: 'tcp'; readonly origins: 'own' | 'none'; readonly navigable?: (path: string) => boolean }
  | {
      readonly kind: 'public';
      readonly origin: string;
      /** Another Host that is served here; none of its pages calls anything. */
      readonly beside?: string;
      readonly navigable: (path: string) => boolean;
    }
  | { readonly kind: 'socket' };

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'] as const;
const sameSite = new Set(['same-origin', 'none']);

export type Guard = (request: IncomingMessage) => AppError | null;

/** Counts and picks the relevant headers in one pass: Node keeps only the first of two Host headers. */
function inspect(raw: readonly string[]): { hosts: number; authorizations: number } {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1;
  }
  return { hosts, authorizations };
}

export function createGuard(listener: Listener): Guard {
  // The port is the listener's own, read from each connection: with port 0 it is known only once listening.
  const allowed = new Map<number, { hosts: ReadonlySet<string>; origins: ReadonlySet<string> }>();
  const publicly =
    listener.kind === 'public'
      ? {
          hosts: new Set(
            [listener.origin, ...(listener.beside === undefined ? [] : [listener.beside])].map(
              (at) => new URL(at).host,
            ),
          ),
          origins: new Set([new URL(listener.origin).origin]),
        }
      : null;
  const allowedOn = (port: number) => {
    if (publicly !== null) return publicly;
    let sets = allowed.get(port);
    if (sets === undefined) {
      const hosts = loopbackNames.map((name) => `${name}:${port}`);
      const own = listener.kind === 'tcp' && listener.origins === 'own';
      sets = { hosts: new Set(hosts), origins: new Set(own ? hosts.map((host) => `http://${host}`) : []) };
      allowed.set(port, sets);
    }
    return sets;
  };

  return (request) => {
    const target = request.url ?? '';
    const { hosts, authorizations } = inspect(request.rawHeaders);
    if (hosts !== 1 || target.charCodeAt(0) !== 47) {
      return wrongHost(hosts === 1 ? `The request target ${shorten(target)}` : `A request with ${hosts} Host headers`);
    }
    const { headers, method } = request;
    const origin = headers.origin;
    if (listener.kind === 'socket') {
      if (origin !== undefined)
        return refusal(`A web page (${shorten(origin)})`, 'Use the address of the web interface.');
    } else {
      const sets = allowedOn(request.socket.localPort ?? 0);
      const host = headers.host ?? '';
      if (!sets.hosts.has(host) && !sets.hosts.has(host.toLowerCase())) return wrongHost(`Host ${shorten(host)}`);
      if (origin !== undefined && !sets.origins.has(origin)) {
        return refusal(`A page of ${shorten(origin)}`, 'Only pages that Gantry itself serves may call it.');
      }
      const site = headers['sec-fetch-site'];
      if (site !== undefined && !sameSite.has(String(site)) && !leadsTo(listener.navigable, request)) {
        return refusal(
          `A request from another site (${shorten(String(site))})`,
          'Open the address in a new tab instead.',
        );
      }
    }
    if (method === 'OPTIONS') return refusal('OPTIONS', 'Gantry answers no cross-origin requests.');
    if (authorizations > 1) {
      return new AppError('refused', 'The request carries two credentials.', 'Send one Authorization header.', {
        status: 401,
      });
    }
    return null;
  };
}

/** A person followed a link: the browser shows the answer to them, and no page of the other site can read it. */
function leadsTo(
  navigable: ((path: string) => boolean) | undefined,
  { method, headers, url = '' }: IncomingMessage,
): boolean {
  if (navigable === undefined) return false;
  if (method !== 'GET' || headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document') {
    return false;
  }
  return navigable(url.split(/[?#]/, 1)[0]!);
}

function wrongHost(what: string): AppError {
  return new AppError('refused', `${what} is not served here.`, 'Use the address that Gantry printed.', {
    status: 421,
    wireCode: 'misdirected_request',
  });
}

function refusal(what: string, action: string): AppError {
  return new AppError('refused', `${what} is refused.`, action);
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
