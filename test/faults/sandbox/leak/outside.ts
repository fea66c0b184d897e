/**
 * A small internet, in a network namespace of its own: names, addresses that look public, private ones, and services on all of them that note
 * whatever arrives. Nothing of it leaves this computer.
 */
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type ListenOptions, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { answer } from '../../../../src/programs/sandbox-launch/dns.ts';
import { createAuthority } from '../../../../src/programs/sandbox-proxy/ca.ts';

/** Something arrived. */
interface Arrival {
  readonly at: number;
  /** `address:port`, `udp address:port`, `dns`, or the path of a socket. */
  readonly place: string;
  /** Bytes, or what a request was. */
  readonly what: string;
}

export const places = {
  /** Names that the closed bot may reach. */
  good: '93.184.216.34',
  api: '93.184.216.40',
  /** A name that leads there at first, and to {@link places.inner} later. */
  moving: '93.184.216.50',
  evil: '93.184.216.66',
  evil6: '2606:2800:220:1::66',
  inner: '10.0.0.5',
  metadata: '169.254.169.254',
  resolver: '9.9.9.9',
  loopback: '127.0.0.1',
} as const;

const zone: readonly (readonly [RegExp, string])[] = [
  [/^good\.example\.org$/, places.good],
  [/^api\.example\.org$/, places.api],
  [/^inner\.example\.org$/, places.inner],
  [/(?:^|\.)evil\.example\.net$/, places.evil],
];
/** Where a name leads that nobody has: nowhere. */
const nowhere = '93.184.216.99';
const webPorts = [80, 443, 8080];

export interface Outside {
  readonly arrivals: readonly Arrival[];
  /** Of what the servers' certificates are made by. */
  readonly authority: string;
  /** Notes what arrives at this Unix socket, and answers with `says`. */
  socket(path: string, says: string): Promise<void>;
}

/** `says`: what services of this computer and its network answer, by address. Ends with its process. */
export async function openOutside(says: Readonly<Record<string, string>>): Promise<Outside> {
  const ip = (...args: string[]) => execFileSync('ip', args);
  ip('link', 'set', 'lo', 'up');
  for (const address of Object.values(places)) {
    if (address === places.loopback) continue;
    const isOld = !address.includes(':');
    ip('address', 'add', `${address}/${isOld ? 32 : 128}`, 'dev', 'lo', ...(isOld ? [] : ['nodad']));
  }
  const arrivals: Arrival[] = [];
  const note = (place: string, what: string) => void arrivals.push({ at: Date.now(), place, what });
  const authority = await createAuthority(systemClock, '02'.repeat(32));

  function webAt(place: string, says: string) {
    const take = (incoming: IncomingMessage, response: ServerResponse) => serve(note, place, says, incoming, response);
    const plain = createHttpServer(take);
    const secure = createHttpsServer(
      {
        SNICallback: (name, done) => {
          note(place, `name ${name}`);
          authority.contextFor(name).then((context) => done(null, context), done);
        },
      },
      take,
    );
    const drop = (_error: Error, socket: Duplex) => void socket.destroy();
    plain.on('clientError', drop);
    secure.on('clientError', drop);
    return { plain, secure };
  }

  async function listen(place: string, where: ListenOptions, says: string): Promise<void> {
    const { plain, secure } = webAt(place, says);
    const server = createServer((socket) => {
      note(place, 'connected');
      socket.on('error', () => socket.destroy());
      socket.once('readable', () => {
        const first = socket.read() as Buffer | null;
        if (first === null) return;
        note(place, first.toString('latin1'));
        socket.unshift(first);
        if (first[0] === 0x16) secure.emit('connection', socket);
        else if (/^[A-Z]+ \S+ HTTP\/1/.test(first.toString('latin1'))) plain.emit('connection', socket);
        else talk(note, place, says, socket);
      });
    });
    server.listen(where);
    await once(server, 'listening');
  }

  async function datagrams(address: string, port: number, take: (message: Buffer) => Buffer | null): Promise<void> {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    socket.on('error', () => {});
    socket.on('message', (message, from) => {
      const said = take(message);
      if (said !== null) socket.send(said, from.port, from.address, () => {});
    });
    socket.bind(port, address);
    await once(socket, 'listening');
  }

  for (const address of [
    places.good,
    places.api,
    places.moving,
    places.evil,
    places.evil6,
    places.inner,
    places.metadata,
  ]) {
    for (const port of webPorts) {
      await listen(`${address}:${port}`, { host: address, port }, says[address] ?? 'hello');
    }
  }
  await listen(`${places.evil}:22`, { host: places.evil, port: 22 }, 'SSH-2.0-outside');
  await listen(`${places.loopback}:9000`, { host: places.loopback, port: 9000 }, says[places.loopback] ?? 'hello');
  await listen(`${places.resolver}:53`, { host: places.resolver, port: 53 }, 'hello');
  for (const port of [443, 9999]) {
    await datagrams(places.evil, port, (message) => {
      note(`udp ${places.evil}:${port}`, message.toString('latin1'));
      return null;
    });
  }
  let moves = 0;
  await datagrams(places.resolver, 53, (message) => {
    note('dns', nameIn(message));
    return answer(message, (name) => {
      if (name === 'moving.example.org') {
        moves += 1;
        return moves % 2 === 1 ? places.moving : places.inner;
      }
      return zone.find(([pattern]) => pattern.test(name))?.[1] ?? nowhere;
    });
  });
  return {
    arrivals,
    authority: authority.certificate,
    socket: (path, text) => listen(path, { path }, text),
  };
}

/** The name that a question is about; of anything else its bytes. */
function nameIn(message: Buffer): string {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 64; length > 0; length = message[at] ?? 64) {
    if (length > 63) return message.toString('latin1');
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return labels.join('.').toLowerCase();
}

function talk(note: (place: string, what: string) => void, place: string, says: string, socket: Socket): void {
  socket.on('data', (chunk: Buffer) => note(place, chunk.toString('latin1')));
  socket.end(`${says}\n`);
}

/** `/echo` and the like answer with the key that came; `/redirect?to=…` leads elsewhere; everything else says what the place says. */
function serve(
  note: (place: string, what: string) => void,
  place: string,
  says: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): void {
  const { method, url = '', rawHeaders, headers } = incoming;
  const { servername = '' } = incoming.socket as TLSSocket;
  let body = '';
  incoming.setEncoding('latin1').on('data', (chunk: string) => {
    body += chunk;
  });
  incoming.once('end', () => {
    note(place, `request ${JSON.stringify({ method, url, name: servername, headers: rawHeaders, body })}`);
    const to = new URL(url, 'http://x').searchParams.get('to');
    const key = headers.authorization ?? '';
    if (to !== null) return void response.writeHead(302, { location: to }).end();
    if (url.startsWith('/echo-header')) return void response.writeHead(200, { 'x-echo': key }).end('hello');
    if (url.startsWith('/echo-location')) return void response.writeHead(302, { location: `/?${key}` }).end();
    if (url.startsWith('/echo-gzip')) {
      return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(`you sent ${key}`));
    }
    if (url.startsWith('/echo-pieces')) {
      for (const letter of `you sent ${key}`) response.write(letter);
      return void response.end();
    }
    response.end(url.startsWith('/echo') ? `you sent ${key}` : says);
  });
}
