/** The proxy of sandboxes on a real socket, and servers for it on loopback: names ending in `.test` lead there. */
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { expect } from 'vitest';
import type { HostAndPort } from '../../../src/kit/egress/host-name.ts';
import type { Lookup } from '../../../src/kit/egress/lookup.ts';
import type {
  KeyUse,
  OpenSandbox,
  ProxyEvent,
  Refused,
  Verdict,
} from '../../../src/programs/sandbox-proxy/protocol.ts';
import { createSandboxProxy } from '../../../src/programs/sandbox-proxy/server.ts';
import { onEnd } from '../../support/at-end.ts';
import { loopbackCertificate } from '../../support/loopback-certificate.ts';
import { scratchFolder } from '../../support/scratch.ts';

export const seed = '01'.repeat(32);
export const allowed: Verdict = { allow: true, isPrivateAllowed: true };
export const denied: Verdict = { allow: false, reason: 'rule', why: 'a rule says no' };

export const leadTo =
  (...addresses: string[]): Lookup =>
  (_name, _options, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

export async function startProxy(
  options: {
    readonly keys?: readonly KeyUse[];
    readonly ssh?: OpenSandbox['ssh'];
    readonly trusted?: string;
    readonly verdict?: (to: HostAndPort) => Verdict | Promise<Verdict>;
    readonly lookup?: Lookup;
  } = {},
) {
  const socket = join(scratchFolder(), 'out.sock');
  const asked: string[] = [];
  const lookedUp: string[] = [];
  const refused: Refused[] = [];
  const { lookup = leadTo('127.0.0.1'), verdict = () => allowed } = options;
  let opened = (_authority: string | null) => {};
  const isOpen = new Promise<string | null>((resolve) => {
    opened = resolve;
  });
  async function hear(event: ProxyEvent): Promise<void> {
    if (event.event === 'opened') opened(event.authority);
    if (event.event === 'refused') refused.push(event);
    if (event.event !== 'question') return;
    const { question, host, port } = event;
    asked.push(`${host}:${port}`);
    proxy.take({ do: 'answer', question, verdict: await verdict({ host, port }) });
  }
  const proxy = createSandboxProxy({
    ...(options.trusted === undefined ? {} : { trusted: options.trusted }),
    send: (event) => void hear(event),
    lookup: (name, asks, done) => {
      lookedUp.push(name);
      lookup(name, asks, done);
    },
  });
  onEnd(() => proxy.close());
  proxy.take({
    do: 'open',
    id: 'one',
    socket,
    enginePort: 1,
    keys: options.keys ?? [],
    seed,
    ssh: options.ssh ?? null,
  });
  const authority = await isOpen;

  /** A connection of the launcher, after its first line. */
  function enter(first: object | string): Socket {
    const client = connect({ path: socket, allowHalfOpen: true });
    client.on('error', () => {});
    onEnd(() => void client.destroy());
    client.write(typeof first === 'string' ? first : `${JSON.stringify(first)}\n`);
    return client;
  }
  const toProxy = () => enter({ way: 'proxy', host: null, port: 0 });
  const toName = (host: string, port: number) => enter({ way: 'tcp', host, port });

  /** Through `CONNECT`; fails with the answer unless that is 200. */
  async function tunnel(to: string): Promise<Socket> {
    const client = toProxy();
    client.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\n`);
    const head = await readHead(client);
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    return client;
  }
  return { proxy, socket, authority, asked, lookedUp, refused, enter, toProxy, toName, tunnel };
}

/** Up to the empty line; what follows stays. */
export async function readHead(socket: Socket): Promise<string> {
  let head = '';
  while (!head.includes('\r\n\r\n')) {
    const chunk = socket.read(1) as Buffer | null;
    if (chunk !== null) head += chunk.toString('latin1');
    else if (socket.readableEnded || socket.destroyed) return head;
    else await new Promise((resolve) => socket.once('readable', resolve).once('end', resolve).once('close', resolve));
  }
  return head;
}

/** Everything until the other side ends. */
export function readAll(socket: Socket | TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let all = '';
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1');
    });
    socket.once('end', () => resolve(all)).once('close', () => resolve(all));
  });
}

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  return (server.address() as AddressInfo).port;
}

export async function serveHttp(answer?: RequestListener) {
  const seen: string[] = [];
  const raw: IncomingMessage[] = [];
  const server = createHttpServer((incoming, response) => {
    raw.push(incoming);
    let body = '';
    incoming.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    incoming.on('end', () => {
      seen.push(`${incoming.method} ${incoming.headers.host} ${incoming.url}${body === '' ? '' : ` ${body}`}`);
      if (answer === undefined) response.end('hello');
      else answer(incoming, response);
    });
  });
  return { port: await listening(server), seen, raw, server };
}

/** Answers what it reads, with `echo `. */
export async function serveTls() {
  const names: (string | false | null)[] = [];
  let connections = 0;
  const server = createTlsServer({ ...loopbackCertificate, SNICallback: (_name, done) => done(null) }, (socket) => {
    names.push((socket as TLSSocket & { servername?: string | false }).servername ?? null);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => socket.write(`echo ${chunk.toString()}`));
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.on('tlsClientError', () => {});
  return { port: await listening(server), names, connections: () => connections };
}

export async function serveTcp(handle: (socket: Socket) => void): Promise<number> {
  return listening(createServer({ allowHalfOpen: true }, handle));
}

/** TLS on a connection; resolves with what one line is answered, or with the error's code. */
export function sayOverTls(socket: Socket, servername: string, line = 'hello'): Promise<string> {
  return new Promise((resolve) => {
    const client = connectTls({ socket, servername, rejectUnauthorized: false });
    client.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    client.once('secureConnect', () => client.write(line));
    client.once('data', (chunk: Buffer) => {
      resolve(chunk.toString());
      client.destroy();
    });
    client.once('close', () => resolve('closed'));
  });
}
