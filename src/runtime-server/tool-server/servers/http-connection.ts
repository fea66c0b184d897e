/**
 * The HTTP transport to one server: guarded, bounded, with the person's headers or a token of a sign-in. Owns which private address may be reached:
 * only the one that was attached by its own name. Must not know tools.
 */
import type { Transport as SdkTransport } from '@modelcontextprotocol/client';
import ipaddr from 'ipaddr.js';
import type { Transport } from '../../../contracts/tool-server/servers.ts';
import { pause } from '../../../kit/clock/timers.ts';
import { createEgress } from '../../../kit/egress/egress.ts';
import type { AuthServer } from './auth.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import type { Challenge } from './fault.ts';
import type { Sdk, UpstreamDeps, UpstreamServer } from './upstream-deps.ts';

export interface HttpConnection {
  readonly transport: SdkTransport;
  /** Of the last refusal. */
  challenge(): Challenge | null;
  close(): Promise<void>;
}

type Http = Extract<Transport, { type: 'http' }>;

/** A session that is left is ended at the server as well, if it is quick about it. Milliseconds. */
const goodbyeMs = 1000;
const reconnectionOptions = {
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 5,
};

export function openHttp(
  sdk: Sdk,
  server: UpstreamServer,
  { url, headers = {} }: Http,
  deps: UpstreamDeps,
): HttpConnection {
  const { timers, auth } = deps;
  const over = new AbortController();
  const egress = createEgress({ allow: [...deps.egressAllow, ...ownAddress(url)], patient: true });
  let challenge: Challenge | null = null;
  let token: string | null = null;
  const fetch = createBoundedFetch({
    egress,
    largestMessage: deps.limits.largestMessage,
    clock: deps.clock,
    sleep: (ms) => pause(timers, ms, over.signal),
    onLost: (id, why) => transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32603, message: why } }),
    onChallenge: (status, wwwAuthenticate) => {
      challenge = { status, wwwAuthenticate, token };
    },
  });
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    fetch: fetch as typeof globalThis.fetch,
    requestInit: { headers },
    authProvider: {
      async token() {
        token = (await auth?.tokenFor(authServerOf(server), over.signal)) ?? null;
        return token ?? undefined;
      },
    },
    reconnectionOptions,
  });
  return {
    transport,
    challenge: () => challenge,
    async close() {
      if (transport.sessionId !== undefined) {
        const goodbye = transport.terminateSession().catch(() => {});
        await Promise.race([goodbye, pause(timers, goodbyeMs, over.signal)]);
      }
      over.abort();
      await transport.close();
      await egress.close();
    },
  };
}

/** The server's identity for sign-ins. Only servers on HTTP have one. */
export function authServerOf({ id, name, transport }: UpstreamServer): AuthServer {
  const { url, oauth } = transport as Http;
  return { id, name, url, oauth: oauth ?? null };
}

/**
 * The address itself, where its name shows that it is private: this computer, a private address, a name without a dot. A person who attaches it
 * means it. Nobody means a public name that leads to a private address.
 */
export function ownAddress(url: string): string[] {
  const { hostname, protocol, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const near = ipaddr.isValid(host)
    ? nearRanges.has(ipaddr.process(host).range())
    : !host.includes('.') || /\.(?:localhost|local|internal|lan|home\.arpa)$/.test(host);
  return near ? [`${host}:${port === '' ? (protocol === 'http:' ? '80' : '443') : port}`] : [];
}

/** Not link-local: there are the services that give out the credentials of a machine. */
const nearRanges = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']);
