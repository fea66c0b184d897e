/**
 * Passes on plain HTTP request by request, so that none of them names another host than it was allowed for: requests to a proxy, and those on a
 * connection to one host. Bytes pass unread only after `CONNECT`, which its caller takes over, and after a WebSocket's handshake. Must not know what
 * is allowed.
 */
import { Agent, createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, pipeline, type Transform } from 'node:stream';
import { type HostAndPort, hostAndPortOf, hostNameOf, showHostAndPort } from '../../kit/egress/host-name.ts';
import { join } from './join.ts';
import { PlaceholderFound, putKeys, refusing, replacing } from './keys.ts';
import type { KeyUse, Reason } from './protocol.ts';
import { endWith, type Fault, faultOf, plainAnswer, type Refusal, refusalOf, refusedHeader } from './refusal.ts';
import type { Sandbox } from './sandbox.ts';

/** A connection's host, allowed already. */
export interface Only extends HostAndPort {
  readonly isPrivateAllowed: boolean;
  /** Its TLS was opened: another connection to it needs TLS of its own. */
  readonly isOpened: boolean;
}

interface Visit {
  readonly sandbox: Sandbox;
  /** Null: each request names its own. */
  readonly only: Only | null;
  readonly agent: Agent;
}

export interface HttpWay {
  /** `upstream`: a connection to `only` that nothing was sent on yet. */
  take(
    client: Socket,
    visit: { readonly sandbox: Sandbox; readonly only: Only | null; readonly upstream?: Socket },
  ): void;
}

type Decided =
  | {
      readonly ok: true;
      readonly to: HostAndPort;
      readonly options: object;
      readonly headers: readonly string[];
      /** Secrets whose values are in the headers. */
      readonly used: readonly KeyUse[];
    }
  | { readonly ok: false; readonly refusal: Refusal };

const keptMs = 60_000;
const maxHeaders = 64 * 1024;
const maxConnections = 16;
/** They are about one connection; `content-length`, `transfer-encoding` and `host` are checked instead, whatever `connection` says of them. */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade'];
const readable = ['accept-encoding', 'identity'];
const switching = ['connection', 'Upgrade', 'upgrade', 'websocket'];
const framing = ['content-length', 'transfer-encoding', 'host'];

export function createHttpWay({
  onConnect,
}: {
  readonly onConnect: (sandbox: Sandbox, to: HostAndPort, client: Duplex, head: Buffer) => void;
}): HttpWay {
  const visits = new WeakMap<Duplex, Visit>();
  const server = createServer(
    {
      requestTimeout: 0,
      keepAliveTimeout: keptMs,
      maxHeaderSize: maxHeaders,
      // Any other upgrade is left out, and the request passed on without it.
      shouldUpgradeCallback: ({ headers }) => /^websocket$/i.test(headers.upgrade ?? ''),
    },
    (incoming, answer) => {
      const visit = visits.get(incoming.socket);
      if (visit === undefined) answer.destroy();
      else pass(visit, incoming, answer).catch(() => answer.destroy());
    },
  );
  server.on('connect', (incoming, client, head) => {
    const visit = visits.get(client);
    const to = hostAndPortOf(incoming.url ?? '');
    if (visit === undefined) client.destroy();
    else if (visit.only === null && to !== null) onConnect(visit.sandbox, to, client, head);
    else endWith(client, plainAnswer(refused(visit, null, 'invalid', 'CONNECT needs a host and a port, and a proxy')));
  });
  server.on('upgrade', (incoming, client, head) => {
    const visit = visits.get(client);
    if (visit === undefined) client.destroy();
    else upgrade(visit, incoming, client, head).catch(() => client.destroy());
  });

  return {
    take(client, { sandbox, only, upstream }) {
      const agent = createAgent(sandbox, client, upstream);
      visits.set(client, { sandbox, only, agent });
      client.once('close', () => agent.destroy());
      server.emit('connection', client);
    },
  };
}

/** What a request is for, and whether it is allowed. */
async function decide(visit: Visit, incoming: IncomingMessage): Promise<Decided> {
  const { sandbox, only } = visit;
  const target = targetOf(incoming, only);
  if ('reason' in target) return { ok: false, refusal: refused(visit, target.to, target.reason, target.why) };
  const { to, path } = target;
  const verdict = only === null ? await sandbox.may(to) : { ...only, allow: true as const };
  if (!verdict.allow) return { ok: false, refusal: refusalOf(showHostAndPort(to), verdict.reason, verdict.why) };
  const { isPrivateAllowed } = verdict;
  const { method = 'GET' } = incoming;
  const isOpened = only?.isOpened ?? false;
  const headers = headersOf(incoming, to, isOpened ? 443 : 80);
  const put = putKeys(sandbox.keys(), { to, isOpened, method, path, headers });
  if (!put.ok) return { ok: false, refusal: refused(visit, to, 'placeholder', put.why) };
  // An answer that may hold a value has to be readable.
  const plain = put.used.length === 0 ? put.headers : [...without(put.headers, ['accept-encoding']), ...readable];
  return {
    ok: true,
    to,
    options: { method, path, host: to.host, port: to.port, setHost: false, isPrivateAllowed, isOpened },
    headers: plain,
    used: put.used,
  };
}

async function pass(visit: Visit, incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
  const decided = await decide(visit, incoming);
  answer.sendDate = false;
  if (!decided.ok) return say(answer, incoming, decided.refusal);
  const { to, options, headers, used } = decided;
  // With its key in place a request needs no other, and its body is text: a conversation with a model has whatever a command of the bot has printed.
  const placeholders = used.length > 0 ? [] : visit.sandbox.keys().map(({ placeholder }) => placeholder);
  const hasBody = incoming.headers['transfer-encoding'] !== undefined || Number(incoming.headers['content-length']) > 0;
  send(true);

  function send(mayRepeat: boolean): void {
    const onward = requestHttp({ ...options, headers, agent: visit.agent });
    onward.on('response', (came) => {
      const encoded = came.headers['content-encoding'];
      if (used.length > 0 && encoded !== undefined && encoded !== 'identity') {
        came.destroy();
        return say(answer, incoming, { reason: null, says: `The answer of ${showHostAndPort(to)} cannot be read.` });
      }
      const [hide, body] = hiding(used);
      const length = used.length > 0 && incoming.method !== 'HEAD' ? ['content-length'] : [];
      const kept = withoutHops(came.rawHeaders, ['transfer-encoding', ...length]).map(hide);
      answer.writeHead(came.statusCode ?? 502, came.statusMessage, kept);
      pipeline([came, ...body, answer], () => {});
    });
    onward.on('error', (error: NodeJS.ErrnoException) => {
      if (error instanceof PlaceholderFound && !answer.headersSent) {
        say(answer, incoming, refused(visit, to, 'placeholder', error.message));
      } else if (answer.headersSent || answer.destroyed) answer.destroy();
      // A kept connection that its server ended just then.
      else if (mayRepeat && onward.reusedSocket && !hasBody && error.code === 'ECONNRESET') send(false);
      else say(answer, incoming, faultOf(to, error));
    });
    answer.once('close', () => onward.destroy());
    if (hasBody && placeholders.length > 0) {
      pipeline(incoming, refusing(placeholders), onward, (fault) => {
        if (fault instanceof PlaceholderFound && !answer.headersSent) {
          say(answer, incoming, refused(visit, to, 'placeholder', fault.message));
        }
      });
    } else if (hasBody) pipeline(incoming, onward, () => {});
    else onward.end();
  }
}

/** Of a WebSocket. If the server does not switch, its answer is the last one on this connection. */
async function upgrade(visit: Visit, incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
  const decided = await decide(visit, incoming);
  if (!decided.ok) return endWith(client, plainAnswer(decided.refusal));
  const { to, options } = decided;
  const [hide, body] = hiding(decided.used);
  const onward = requestHttp({ ...options, headers: [...decided.headers, ...switching], agent: visit.agent });
  onward.on('upgrade', (came, upstream, first) => {
    client.write(startOf(came, hide, switching));
    if (first.length > 0) client.write(first);
    if (head.length > 0) upstream.write(head);
    join(client, upstream);
  });
  onward.on('response', (came) => {
    client.write(startOf(came, hide, ['connection', 'close']));
    pipeline([came, ...body, client], () => {});
  });
  onward.on('error', (error) => endWith(client, plainAnswer(faultOf(to, error))));
  client.once('close', () => onward.destroy());
  onward.end();
}

/** Status and headers of an answer, with these at their end. */
function startOf(
  { statusCode, statusMessage, rawHeaders }: IncomingMessage,
  hide: (text: string) => string,
  last: readonly string[],
): Buffer {
  // Its length may be another one by now, and the end of the connection ends it.
  const headers = pairs([...withoutHops(rawHeaders, ['transfer-encoding', 'content-length']).map(hide), ...last]);
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Where a request leads, if it names that host once and no other. */
function targetOf(
  { url = '', rawHeaders }: IncomingMessage,
  only: Only | null,
):
  | { readonly to: HostAndPort; readonly path: string }
  | { readonly to: HostAndPort | null; readonly reason: Reason; readonly why: string } {
  const invalid = (why: string) => ({ to: only, reason: 'invalid' as const, why });
  let to: HostAndPort | null = only;
  let path = url;
  if (/^[a-z][a-z0-9+.-]*:/i.test(url)) {
    if (!URL.canParse(url)) return invalid('its address is not valid');
    const parsed = new URL(url);
    if (parsed.protocol !== 'http:') return invalid('only http: is passed on here, and the rest by CONNECT');
    const host = hostNameOf(parsed.hostname);
    to = host === null ? null : { host, port: parsed.port === '' ? 80 : Number(parsed.port) };
    path = `${parsed.pathname}${parsed.search}`;
  }
  if (to === null) return invalid('it names no host');
  const encodings = valuesOf(rawHeaders, 'transfer-encoding');
  if (encodings.some((each) => each.toLowerCase() !== 'chunked'))
    return invalid('its transfer encoding is not chunked');
  const named = valuesOf(rawHeaders, 'host').map((each) => hostAndPortOf(each, to.port));
  const isOther = (one: HostAndPort | null) => one?.host !== to.host || one.port !== to.port;
  if (named.length > 1 || named.some(isOther) || (only !== null && isOther(only))) {
    return { to, reason: 'mismatch', why: 'its Host header names another host' };
  }
  return { to, path };
}

/** Connections of one client's requests: each to a host that was allowed as it was opened. */
function createAgent(sandbox: Sandbox, client: Socket, upstream: Socket | undefined): Agent {
  let given = upstream;
  const agent = new Agent({ keepAlive: true, maxSockets: maxConnections });
  const create = (
    { host, port, isPrivateAllowed, isOpened }: Only,
    done: (error: Error | null, socket?: Socket) => void,
  ): undefined => {
    const first = given;
    given = undefined;
    const opening =
      first?.writable === true ? Promise.resolve(first) : sandbox.dial({ host, port }, isPrivateAllowed, isOpened);
    opening.then((socket) => {
      // A kept connection that its server has ended must not take another request.
      socket.allowHalfOpen = false;
      if (client.destroyed) socket.destroy(new Error('its program left'));
      done(null, socket);
    }, done);
  };
  agent.createConnection = create as never;
  return agent;
}

/** Those of a request as they are passed on: names in lower case, and its length said in exactly one way. */
function headersOf(
  { rawHeaders, method = 'GET', headers }: IncomingMessage,
  to: HostAndPort,
  usualPort: number,
): string[] {
  const passed = withoutHops(rawHeaders, framing);
  const length =
    headers['transfer-encoding'] !== undefined
      ? ['transfer-encoding', 'chunked']
      : headers['content-length'] !== undefined
        ? ['content-length', headers['content-length']]
        : ['POST', 'PUT', 'PATCH'].includes(method)
          ? ['content-length', '0']
          : [];
  const named = showHostAndPort(to);
  const host = headers.host ?? (to.port === usualPort ? named.replace(/:\d+$/, '') : named);
  return ['host', host, ...passed, ...length];
}

function withoutHops(rawHeaders: readonly string[], more: readonly string[]): string[] {
  const named = valuesOf(rawHeaders, 'connection').flatMap((each) => each.toLowerCase().split(/[ \t]*,[ \t]*/));
  return without(rawHeaders, [...hopByHop, ...more, ...named.filter((name) => !framing.includes(name))]);
}

function without(rawHeaders: readonly string[], names: readonly string[]): string[] {
  return pairs(rawHeaders)
    .filter(([name]) => !names.includes(name.toLowerCase()))
    .flat();
}

/** Takes values out of a header, and out of a body. */
function hiding(used: readonly KeyUse[]): [(text: string) => string, Transform[]] {
  const hide = (text: string) => used.reduce((all, { value, placeholder }) => all.replaceAll(value, placeholder), text);
  const texts = used.map(({ value, placeholder }) => ({ from: value, to: placeholder }));
  return [hide, used.length === 0 ? [] : [replacing(texts)]];
}

function valuesOf(rawHeaders: readonly string[], wanted: string): string[] {
  return pairs(rawHeaders).flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value.trim()] : []));
}

function pairs(rawHeaders: readonly string[]): (readonly [string, string])[] {
  return rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : []));
}

/** A refusal that the runtime does not know of yet. */
function refused({ sandbox }: Visit, to: HostAndPort | null, reason: Reason, why: string): Refusal {
  sandbox.refused(to ?? { host: null, port: 0 }, reason, why);
  return refusalOf(to === null ? 'a connection' : showHostAndPort(to), reason, why);
}

function say(answer: ServerResponse, incoming: IncomingMessage, { reason, says }: Refusal | Fault): void {
  const body = `${says}\n`;
  answer.writeHead(reason === null ? 502 : 403, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(reason === null ? {} : { [refusedHeader]: reason }),
    connection: 'close',
  });
  answer.end(body);
  incoming.resume();
}
