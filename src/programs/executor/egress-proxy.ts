/**
 * A browser's only connection to the network: a proxy on loopback that asks before each new host, connects only to an address that was asked about,
 * and gives the reason for a refusal. Must not know browsers or policy.
 */
import { lookup } from 'node:dns/promises';
import { Agent, createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../kit/clock/clock.ts';

export interface EgressProxyDeps {
  readonly ask: (question: {
    readonly host: string;
    readonly port: number;
    readonly addresses: readonly string[];
  }) => Promise<{ readonly allow: boolean; readonly why: string }>;
  readonly clock: Clock;
  /** Every address of a name, or of an address written in letters. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

export interface EgressProxy {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Why this host was refused when it was last asked for; null where it was not. */
  refusal(host: string, port: number): string | null;
  close(): Promise<void>;
}

/** Milliseconds that an answer holds: as short as a page's own names are kept, so that a rule which changes is soon heard. */
const heldMs = 30_000;
/** Milliseconds for an answer; without one nothing is sent. */
const answerMs = 60_000;
const connectMs = 30_000;
/** Of hosts remembered at once: a page may ask for many. */
const maxKept = 2000;

interface Verdict {
  readonly allow: boolean;
  readonly why: string;
  readonly addresses: readonly string[];
}

export async function createEgressProxy({ ask, clock, ...deps }: EgressProxyDeps): Promise<EgressProxy> {
  const verdicts = createVerdicts({ ask, clock, resolve: deps.resolve ?? resolveHost });
  const sockets = new Set<Duplex>();
  const agents = createAgents(track);

  function track<Kind extends Duplex>(socket: Kind): Kind {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    return socket;
  }

  async function plain(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url!) : null;
    if (url === null || url.protocol !== 'http:') return refuse(answer, 400, 'This is a proxy for browsers.');
    const host = bare(url.hostname);
    const port = url.port === '' ? 80 : Number(url.port);
    const { allow, why, addresses } = await verdicts.on(host, port);
    if (addresses.length === 0) return refuse(answer, 502, `${host} was not found.`);
    if (!allow) return refuse(answer, 403, `${url.host} may not be opened. ${why}`);
    const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = incoming.headers;
    const onward = requestHttp({
      method: incoming.method ?? 'GET',
      path: `${url.pathname}${url.search}`,
      headers,
      agent: agents.of(host, port, addresses),
      setHost: false,
    });
    onward.on('response', (came) => {
      answer.writeHead(came.statusCode ?? 502, came.statusMessage, came.rawHeaders);
      came.pipe(answer);
      came.on('error', () => answer.destroy());
    });
    onward.on('error', (error) => {
      if (answer.headersSent) answer.destroy();
      else refuse(answer, 502, `${url.host} did not answer: ${error.message}.`);
    });
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  async function tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    track(client);
    const target = URL.canParse(`http://${incoming.url}`) ? new URL(`http://${incoming.url}`) : null;
    if (target === null) return void client.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    const host = bare(target.hostname);
    // The port that `http:` leaves out is the one that it means.
    const port = target.port === '' ? 80 : Number(target.port);
    const { allow, addresses } = await verdicts.on(host, port);
    if (addresses.length === 0) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    if (!allow) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const upstream = track(toChecked(addresses, port));
    upstream.setTimeout(connectMs, () => upstream.destroy());
    upstream.once('connect', () => {
      upstream.setTimeout(0);
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    upstream.once('close', () => {
      if (upstream.bytesRead === 0 && upstream.bytesWritten === 0 && client.writable)
        client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      else client.destroy();
    });
    client.once('close', () => upstream.destroy());
  }

  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (incoming, answer) => {
    plain(incoming, answer).catch(() => answer.destroy());
  });
  server.on('connection', track);
  server.on('connect', (incoming, client, head) => {
    tunnel(incoming, client, head).catch(() => client.destroy());
  });
  await new Promise<void>((done, failed) => server.once('error', failed).listen(0, '127.0.0.1', done));

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusal: (host, port) => verdicts.refusal(bare(host), port),
    async close() {
      agents.close();
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

/** Whether a host may be opened, asked once for a while, and why it was refused. */
function createVerdicts({ ask, clock, resolve }: Required<EgressProxyDeps>) {
  const verdicts = new Map<string, { readonly verdict: Promise<Verdict>; readonly until: number }>();
  const refusals = new Map<string, string>();
  return { on, refusal: (host: string, port: number) => refusals.get(`${host}:${port}`) ?? null };

  async function decide(host: string, port: number): Promise<Verdict> {
    let addresses: readonly string[];
    try {
      addresses = await resolve(host);
    } catch {
      // Nothing to refuse: the browser reports that the host does not exist.
      return { allow: false, why: '', addresses: [] };
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<{ allow: boolean; why: string }>((done) => {
      timer = setTimeout(() => done({ allow: false, why: 'Nothing decided whether it may be opened.' }), answerMs);
    });
    const { allow, why } = await Promise.race([ask({ host, port, addresses }), late]).finally(() =>
      clearTimeout(timer),
    );
    return { allow, why, addresses };
  }

  async function on(host: string, port: number): Promise<Verdict> {
    const key = `${host}:${port}`;
    const kept = verdicts.get(key);
    const now = clock.monotonic();
    if (kept !== undefined && kept.until > now) return kept.verdict;
    const verdict = decide(host, port);
    if (verdicts.size >= maxKept) verdicts.delete(verdicts.keys().next().value!);
    verdicts.set(key, { verdict, until: now + heldMs });
    const { allow, why, addresses } = await verdict;
    if (allow || addresses.length === 0) refusals.delete(key);
    else {
      if (refusals.size >= maxKept) refusals.delete(refusals.keys().next().value!);
      refusals.set(key, why);
    }
    // A name that could not be found may be there the next time.
    if (addresses.length === 0) verdicts.delete(key);
    return verdict;
  }
}

/** To one of the addresses that were asked about, whatever the name leads to by now. */
function toChecked(addresses: readonly string[], port: number): Socket {
  return connect({
    // A literal would not be looked up, and is its own only address.
    host: addresses.length === 1 ? addresses[0]! : 'checked',
    port,
    autoSelectFamily: addresses.length > 1,
    lookup: (_name, asked, done) => {
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      if (asked.all === true) (done as (error: null, all: typeof found) => void)(null, found);
      else done(null, found[0]!.address, found[0]!.family);
    },
  });
}

/** Connections to plain hosts are kept for a page's next picture; each key stands for addresses that were checked. */
function createAgents(track: (socket: Socket) => Socket) {
  const agents = new Map<string, Agent>();

  function of(host: string, port: number, addresses: readonly string[]): Agent {
    const key = `${host}:${port} ${addresses.join(' ')}`;
    let agent = agents.get(key);
    if (agent === undefined) {
      agent = new Agent({ keepAlive: true, keepAliveMsecs: 5000, timeout: 0 });
      agent.createConnection = () => track(toChecked(addresses, port));
      if (agents.size >= 200) {
        const [oldest, old] = agents.entries().next().value!;
        old.destroy();
        agents.delete(oldest);
      }
      agents.set(key, agent);
    }
    return agent;
  }

  return {
    of,
    close(): void {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

async function resolveHost(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function refuse(answer: ServerResponse, status: number, why: string): void {
  const text = why.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
  const page = `<!doctype html><meta charset="utf-8"><title>Not opened</title><h1>Not opened</h1><p>${text}</p>`;
  answer.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  answer.end(page);
}

/** Without the brackets of an IPv6 literal, and the dot at the end that means the same host. */
function bare(hostname: string): string {
  return hostname
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
}
