/**
 * The only client for addresses that somebody else chose. Public addresses only, checked as a literal, at the lookup and on the connected socket;
 * redirects are not followed (see `redirect.ts`); time and size are capped. First user: pushes to browsers' endpoints; second: HTTP tools of bots.
 * Must not know what is asked.
 */
import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import { AppError } from '../../contracts/common/errors.ts';
import { isPublic, parseRange } from './addresses.ts';
import { checkedLookup, type Lookup } from './lookup.ts';

export interface EgressOptions {
  /**
   * Private addresses that are allowed anyway, and over http: `host`, `host:port`, `10.0.0.0/8`. For services that the operator runs in their own
   * network, and for tests.
   */
  readonly allow?: readonly string[];
  readonly lookup?: Lookup;
  /** Allows http as well; default: https only, and http for the addresses in `allow`. */
  readonly plain?: boolean;
  /** What to do about a refusal. */
  readonly advice?: string;
  /** Answers and streams may be silent for any time: the caller has its own deadlines. */
  readonly patient?: true;
}

export interface EgressRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** For the whole request; default 10 s. */
  readonly timeoutMs?: number;
  /** Limit of the answer's body; default 64 KiB. */
  readonly largestAnswer?: number;
  /** What happens to a longer answer; default: it fails. */
  readonly longer?: 'fail' | 'cut';
  readonly signal?: AbortSignal;
}

export interface EgressAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The answer was longer than the limit. */
  readonly truncated: boolean;
}

export interface Egress {
  /** Where an address leads, by its literal or its name: `private` if any of its addresses is not on the public internet. Never throws. */
  where(url: string): Promise<'public' | 'private'>;
  /** Why this address is never asked, decided before any lookup; null if it may be. */
  refusal(url: string): AppError | null;
  /** Throws `refused` for an address that is not public, `transport` if nothing answers. */
  request(request: EgressRequest): Promise<EgressAnswer>;
  /** Like the platform's fetch, streamed and without caps; redirects are returned unchanged. First user: attached tool servers. */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  close(): Promise<void>;
}

const defaultAdvice = 'Give a public https address, or allow it with GANTRY_EGRESS_ALLOW.';
const defaultTimeoutMs = 10_000;
const defaultLargest = 64 * 1024;

export function createEgress(options: EgressOptions = {}): Egress {
  const { allow = [], lookup = systemLookup as Lookup, plain = false, advice = defaultAdvice } = options;
  const { isAllowed, mayBe, notPublic, refusal } = createAddressRule(allow, plain, advice);

  // Names only the host: the person who chose it must not learn its address in our network.
  const lookups = (may: (address: string) => boolean) => checkedLookup(lookup, may, notPublic);
  /** Loaded with the first request, so that it does not slow the start. */
  async function load() {
    const { Agent, buildConnector, fetch, request } = await import('undici');
    const guarded = buildConnector({ lookup: lookups(mayBe) as never });
    const open = buildConnector({ lookup: lookups(() => true) as never });
    const agent = new Agent({
      ...(options.patient === true ? { headersTimeout: 0, bodyTimeout: 0 } : {}),
      connect: (asked, done) => {
        if (isAllowed(bare(asked.hostname), portOf(asked))) return open(asked, done);
        guarded(asked, (...outcome) => {
          // A connection that failed comes without a socket, not with null.
          const socket = outcome[1] ?? null;
          if (socket !== null && !mayBe(socket.remoteAddress ?? '')) {
            socket.destroy();
            done(notPublic(asked.hostname), null);
          } else done(...outcome);
        });
      },
    });
    return { agent, fetch, request };
  }
  let client: ReturnType<typeof load> | null = null;

  return {
    refusal,
    where(url) {
      if (!URL.canParse(url)) return Promise.resolve('public');
      const { protocol, hostname, port } = new URL(url);
      const host = bare(hostname);
      if (isAllowed(host, portOf({ protocol, port }))) return Promise.resolve('public');
      if (isIP(host) !== 0) return Promise.resolve(isPublic(host) ? 'public' : 'private');
      return new Promise((resolve) => {
        lookup(host, { all: true }, (error, addresses) => {
          resolve(error !== null || addresses.every(({ address }) => mayBe(address)) ? 'public' : 'private');
        });
      });
    },
    async request({
      url,
      method,
      headers,
      body,
      timeoutMs = defaultTimeoutMs,
      largestAnswer = defaultLargest,
      longer = 'fail',
      signal,
    }) {
      const bad = refusal(url);
      if (bad !== null) throw bad;
      client ??= load();
      const { agent, request: start } = await client;
      const late = AbortSignal.timeout(timeoutMs);
      try {
        const answer = await start(url, {
          method: method as 'POST',
          headers,
          body: body ?? null,
          dispatcher: agent,
          signal: signal === undefined ? late : AbortSignal.any([late, signal]),
        });
        const chunks: Buffer[] = [];
        let size = 0;
        for await (const chunk of answer.body as AsyncIterable<Buffer>) {
          size += chunk.length;
          chunks.push(chunk);
          if (size <= largestAnswer) continue;
          if (longer === 'fail') throw new Error(`its answer is larger than ${largestAnswer} bytes`);
          break;
        }
        const came = Buffer.concat(chunks).subarray(0, largestAnswer);
        return { status: answer.statusCode, headers: answer.headers, body: came, truncated: size > largestAnswer };
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        const why = late.aborted ? `it did not answer within ${timeoutMs} ms` : (cause as Error).message;
        const host = new URL(url).host;
        throw new AppError('transport', `${host} could not be reached: ${why}.`, 'Try again later.', { cause });
      }
    },
    async fetch(url, init = {}) {
      const bad = refusal(String(url));
      if (bad !== null) throw bad;
      client ??= load();
      const { agent, fetch: start } = await client;
      try {
        const answer = await start(url, { ...init, redirect: 'manual', dispatcher: agent } as Parameters<
          typeof start
        >[1]);
        return answer as unknown as Response;
      } catch (error) {
        // The guard's own error is inside the error that fetch makes of it.
        const cause = (error as Error).cause;
        throw cause instanceof AppError ? cause : error;
      }
    },
    close: async () => (await client)?.agent.destroy(),
  };
}

/** Which addresses may be asked, before anything is looked up. */
function createAddressRule(allow: readonly string[], plain: boolean, advice: string) {
  const names = new Set(allow.map((entry) => entry.toLowerCase()));
  const ranges = allow.flatMap((entry) => parseRange(entry) ?? []);
  const refused = (fact: string) => new AppError('refused', fact, advice, { wireCode: 'address_refused' });
  const notPublic = (what: string) => refused(`${what} is not a public address.`);
  const isAllowed = (host: string, port: string) =>
    names.has(host) || names.has(`${host}:${port}`) || ranges.some((contains) => contains(host));
  const mayBe = (address: string) => isPublic(address) || ranges.some((contains) => contains(address));

  function refusal(url: string): AppError | null {
    if (!URL.canParse(url)) return refused(`${shorten(url)} is not an address.`);
    const { protocol, hostname, port, username, password } = new URL(url);
    const host = bare(hostname);
    const allowed = isAllowed(host, portOf({ protocol, port }));
    if (protocol !== 'https:' && !(protocol === 'http:' && (allowed || plain))) {
      return refused(`${shorten(url)} is not ${plain ? 'http or https' : 'https'}.`);
    }
    if (username !== '' || password !== '') return refused(`${shorten(url)} carries a credential.`);
    if (isIP(host) !== 0 && !allowed && !isPublic(host)) return notPublic(host);
    return null;
  }

  return { isAllowed, mayBe, notPublic, refusal };
}

/** Without the brackets of an IPv6 literal. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

function portOf({ protocol, port }: { readonly protocol: string; readonly port: string }): string {
  if (port !== '') return port;
  return protocol === 'http:' ? '80' : '443';
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
