/** The link between this version and earlier ones, which spoke HTTP/2 with Node's core: the wire must stay one that both understand. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import {
  connect as connectHttp2,
  constants,
  type Http2Session,
  type Http2Stream,
  performServerHandshake,
} from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { type Carrier, type CarrierEnd, createCarrier } from '../../../src/kit/link/carrier.ts';
import type { Pipe } from '../../../src/kit/link/pipe.ts';

/** Both ends of a WebSocket: that of the cloud, and that of the computer. */
async function startWebSocket() {
  const server = createHttpServer();
  const accepting = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const cloud = new Promise<{ socket: WebSocket; below: Duplex }>((resolve) => {
    server.on('upgrade', (request, below, head) => {
      accepting.handleUpgrade(request, below, head, (socket) => resolve({ socket, below }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    perMessageDeflate: false,
  });
  const [{ socket: below }] = (await once(socket, 'upgrade')) as [{ socket: Duplex }];
  onTestFinished(() => {
    socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return { cloud: await cloud, computer: { socket, below } };
}

/** What an earlier version has on its end: a socket whose other half is joined to the WebSocket, in parts of random length. */
async function joined(socket: WebSocket): Promise<Socket> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const inner = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [outer] = (await once(server, 'connection')) as [Socket];
  server.close();
  for (const half of [inner, outer]) half.setNoDelay(true).on('error', () => {});
  socket.on('message', (data) => outer.write(data as Buffer));
  socket.on('close', () => outer.destroy());
  outer.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; ) {
      const to = Math.min(bytes.length, at + 1 + Math.floor(Math.random() * 20_000));
      if (socket.readyState === socket.OPEN) socket.send(bytes.subarray(at, to));
      at = to;
    }
  });
  outer.on('close', () => socket.close());
  return inner;
}

/** An end of this version; `ended` is how it came to its end. */
async function startCarrier(
  { socket, below }: { socket: WebSocket; below: Duplex },
  accept?: (side: string, pipe: Pipe) => boolean,
) {
  let ended: CarrierEnd | null = null;
  const draining: string[] = [];
  let carrier: Carrier | null = null;
  const up = new Promise<void>((resolve) => {
    carrier = createCarrier({
      socket,
      below,
      timers: systemTimers,
      ...(accept === undefined ? {} : { accept }),
      onUp: resolve,
      onDraining: (kind) => void draining.push(kind),
      onEnd: (end) => {
        ended = end;
      },
    });
  });
  onTestFinished(() => carrier?.end('closing', 'The test is over.'));
  return { carrier: carrier as unknown as Carrier, up, draining, ended: () => ended };
}

const earlierSettings = { initialWindowSize: 1 << 19, enablePush: false, maxHeaderListSize: 4096 };
const earlier = { maxSessionMemory: 512, maxHeaderListPairs: 8, maxSettings: 16 };

test('a computer of an earlier version serves what this cloud asks of it', async () => {
  const { cloud, computer } = await startWebSocket();
  const sides: unknown[] = [];
  const session = performServerHandshake(await joined(computer.socket), {
    ...earlier,
    settings: { ...earlierSettings, maxConcurrentStreams: 2048 },
  });
  session.on('error', () => {});
  (session as Http2Session).on('stream', ((
    stream: Http2Stream & { respond(headers: object): void },
    headers: object,
  ) => {
    sides.push(headers[constants.HTTP2_HEADER_AUTHORITY as never]);
    stream.on('error', () => {});
    stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 });
    stream.pipe(stream as never);
  }) as never);
  const { carrier, up, draining, ended } = await startCarrier(cloud);
  await up;
  const sent = randomBytes(3_000_000);
  const echoes = await Promise.all(
    Array.from({ length: 6 }, (_, n) => {
      const pipe = carrier.open(n % 2 === 0 ? 'engine' : 'peer') as Pipe;
      pipe.end(sent);
      return buffer(pipe);
    }),
  );
  expect(echoes.map((echo) => echo.equals(sent))).toEqual(Array(6).fill(true));
  expect(sides).toEqual(['engine', 'peer', 'engine', 'peer', 'engine', 'peer']);
  const left = carrier.open('engine') as Pipe;
  left.write('x');
  await once(left, 'data');
  left.destroy();
  await vi.waitUntil(() => carrier.pipes === 0);
  // It finishes what runs, and then ends.
  const last = carrier.open('engine') as Pipe;
  last.write('x');
  await once(last, 'data');
  session.goaway(constants.NGHTTP2_NO_ERROR, 0, Buffer.from('closing'));
  await vi.waitUntil(() => draining.length === 1);
  expect(carrier.open('engine')).toBe(null);
  last.end('y');
  expect(String(await buffer(last))).toBe('y');
  await vi.waitUntil(() => ended() !== null);
  expect(ended()?.kind).not.toBe('broken');
});

test('a cloud of an earlier version reaches this computer', async () => {
  const { cloud, computer } = await startWebSocket();
  const inner = await joined(cloud.socket);
  const sides: string[] = [];
  const { up, carrier, ended } = await startCarrier(computer, (side, pipe) => {
    sides.push(side);
    if (side === 'cellar') return false;
    pipe.pipe(pipe);
    return true;
  });
  const session = connectHttp2('http://runtime', {
    ...earlier,
    settings: earlierSettings,
    peerMaxConcurrentStreams: 256,
    createConnection: () => inner,
  });
  session.on('error', () => {});
  await up;
  const open = (side: string) => {
    const stream = session.request({ ':method': 'CONNECT', ':authority': side }, { endStream: false });
    stream.on('error', () => {});
    return stream;
  };
  const sent = randomBytes(3_000_000);
  const echoes = await Promise.all(
    Array.from({ length: 6 }, (_, n) => {
      const stream = open(n % 2 === 0 ? 'engine' : 'peer');
      stream.end(sent);
      return buffer(stream);
    }),
  );
  expect(echoes.map((echo) => echo.equals(sent))).toEqual(Array(6).fill(true));
  // Names that its table of headers remembers, forgets, and packs.
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_~!$&()*+,;=:@[]%';
  const names = Array.from({ length: 300 }, (_, n) =>
    Array.from(
      { length: 1 + (n % 40) },
      (_letter, at) => alphabet[(n * 7 + at * (1 + (n % 11))) % alphabet.length],
    ).join(''),
  );
  for (const name of names) {
    const stream = open(name);
    stream.end('x');
    expect(String(await buffer(stream))).toBe('x');
  }
  expect(sides.slice(6)).toEqual(names);
  const refused = open('cellar');
  await once(refused, 'close');
  expect(refused.rstCode).toBe(constants.NGHTTP2_CANCEL);
  const late = open('engine');
  late.write('x');
  await once(late, 'data');
  carrier.drain('replaced', 'A newer connection was made.');
  const told = new Promise<string>((resolve) => session.on('goaway', (_code, _last, data) => resolve(String(data))));
  expect(await told).toBe('replaced');
  late.end('y');
  expect(String(await buffer(late))).toBe('y');
  await vi.waitUntil(() => ended() !== null);
  expect(ended()?.kind).toBe('replaced');
});

test('whatever the other side sends in place of HTTP/2 ends the link with the reason, and throws nothing', async () => {
  const heads = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    // A frame of 16 MB; a WINDOW_UPDATE of 3 bytes; a PUSH_PROMISE; a CONTINUATION of nothing; a GOAWAY with an error; a header block that ends too early.
    Buffer.from('ffffff000000000000', 'hex'),
    Buffer.from('000003080000000000010203', 'hex'),
    Buffer.from('000000050000000001', 'hex'),
    Buffer.from('000000090400000001', 'hex'),
    Buffer.from('0000080700000000000000000000000001', 'hex'),
    Buffer.from('00000101040000000182', 'hex').fill(0xff, 9),
  ];
  for (const bytes of [...heads, ...Array.from({ length: 40 }, () => randomBytes(4096).fill(0xff, 0, 3))]) {
    const { cloud, computer } = await startWebSocket();
    const { ended } = await startCarrier(computer, () => true);
    if (bytes !== heads[0]) cloud.socket.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', { binary: true });
    cloud.socket.send(bytes);
    await vi.waitUntil(() => ended() !== null);
    expect(ended()).toMatchObject({ kind: 'broken', reason: expect.stringMatching(/.{20,}\.$/) });
  }
});

test('a pipe that gets more than its reader asked for ends the link', async () => {
  const { cloud, computer } = await startWebSocket();
  const { up, ended } = await startCarrier(computer, () => true);
  const hello = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0', 'latin1');
  // HEADERS of stream 1: CONNECT to "engine".
  const opening = Buffer.from('000011010400000001' + '0207434f4e4e454354' + '0106656e67696e65', 'hex');
  cloud.socket.send(Buffer.concat([hello, opening]));
  await up;
  const data = Buffer.concat([Buffer.from('004000000000000001', 'hex'), Buffer.alloc(16_384)]);
  for (let sent = 0; sent <= 1 << 20; sent += 16_384) cloud.socket.send(data);
  await vi.waitUntil(() => ended() !== null);
  expect(ended()).toMatchObject({ kind: 'broken', reason: 'A pipe got more than was asked for.' });
});
