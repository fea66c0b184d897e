/** When a computer dials its cloud, where to, and what it makes of what it hears. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import tls from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { signingKey } from '../../../src/kit/signing/signature.ts';
import { createDialer, type DialerDeps } from '../../../src/runtime-server/link/dialer.ts';
import { linkCaller, quiet, startTestCloud, startTestComputer, untilLinked } from '../../support/link.ts';
import { loopbackCertificate } from '../../support/loopback-certificate.ts';
import { createTestClock } from '../../support/test-clock.ts';

const key = signingKey(newToken());

function dialerOf(deps: Partial<DialerDeps>) {
  const dialer = createDialer({
    home: () => null,
    serve: { engine: (pipe) => void pipe.destroy(), peer: (pipe) => void pipe.destroy() },
    linkToken: newToken,
    clock: systemClock,
    timers: systemTimers,
    random: () => 1,
    log: quiet,
    ...deps,
  });
  onTestFinished(() => dialer.stop(0));
  return dialer;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

/** Something that answers every dial the same way. Resolves with the number of dials once there were so many. */
async function answering(answer: RequestListener) {
  let dials = 0;
  const waiting: { count: number; told: () => void }[] = [];
  const server = createServer((request, response) => {
    dials += 1;
    response.setHeader('connection', 'close');
    answer(request, response);
    for (const { count, told } of waiting) if (dials >= count) told();
  });
  const port = await listen(server);
  return {
    home: () => ({ cloudUrl: `http://127.0.0.1:${port}`, computerId: 'computer_1', key }),
    dials: () => dials,
    until: (count: number) => new Promise<void>((told) => waiting.push({ count, told })),
  };
}

/** Waits in which an open link asks whether the other side is there. Milliseconds. */
const ofOpenLink: readonly number[] = [3_000, 4_500, 15_000];

/** Each wait that a dialer asks for, as soon as it does. */
function recordWaits(over: number) {
  const waits: number[] = [];
  let told = () => {};
  const enough = new Promise<void>((resolve) => {
    told = resolve;
  });
  const timers: DialerDeps['timers'] = {
    after(ms, effect) {
      if (ofOpenLink.includes(ms)) return systemTimers.after(ms, effect);
      waits.push(ms);
      if (waits.length > over) told();
      return systemTimers.after(waits.length > over ? 1e6 : 0, effect);
    },
  };
  return { waits, timers, enough };
}

test('a cloud that is away is dialled again after a random wait, longer each time up to half a minute', async () => {
  const away = await answering((_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>'));
  const longest = recordWaits(8);
  const first = dialerOf({ home: away.home, timers: longest.timers });
  first.start();
  await longest.enough;
  expect(longest.waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  expect(first.state()).toMatchObject({ linked: false, problem: expect.stringContaining('502') });
  const half = recordWaits(2);
  dialerOf({ home: away.home, timers: half.timers, random: () => 0.25 }).start();
  await half.enough;
  expect(half.waits).toEqual([125, 250, 500]);
});

test('a cloud that says when to come again is believed, and one that lies about the time is not dialled without a pause', async () => {
  const busy = await answering((_request, response) => response.writeHead(503, { 'retry-after': '7' }).end('{}'));
  const waits = recordWaits(0);
  dialerOf({ home: busy.home, timers: waits.timers }).start();
  await waits.enough;
  expect(waits.waits).toEqual([7000]);

  let hour = 0;
  const liar = await answering((_request, response) => {
    hour += 3600;
    response.writeHead(401).end(JSON.stringify({ error: 'clock_skew', message: 'x', serverTime: hour }));
  });
  const paused = recordWaits(0);
  dialerOf({ home: liar.home, timers: paused.timers, clock: createTestClock(0) }).start();
  await paused.enough;
  expect([liar.dials(), paused.waits]).toEqual([2, [500]]);
});

test('an address that cannot be dialled and a computer that is not paired yet are no faults', async () => {
  const cloud = await startTestCloud();
  onTestFinished(() => cloud.close());
  cloud.keys.set('computer_1', key);
  let url: string | null = null;
  const time = createTestClock();
  const dialer = dialerOf({
    home: () => (url === null ? null : { cloudUrl: url, computerId: 'computer_1', key }),
    timers: time,
  });
  dialer.start();
  expect(dialer.state()).toMatchObject({ linked: false, problem: 'This computer is not paired.' });
  url = 'not an address';
  await time.advance(1000);
  expect(dialer.state().problem).toContain('not an address');
  url = `http://127.0.0.1:${cloud.port}/`;
  await time.advance(30_000);
  await untilLinked(cloud.dialIns, 'computer_1');
});

test('a cloud that takes the dial and sends no HTTP/2 is left, and dialled again later', async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const junk = [
    Buffer.alloc(100, 1),
    'words',
    Buffer.alloc(2_000_000),
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.padEnd(200, 'x')),
  ];
  let dials = 0;
  sockets.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.send(junk[dials % junk.length]!);
    dials += 1;
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
  });
  const home = () => ({ cloudUrl: `http://127.0.0.1:${port}`, computerId: 'computer_1', key });
  const waits = recordWaits(3);
  const dialer = dialerOf({ home, timers: waits.timers });
  dialer.start();
  await waits.enough;
  expect([dials, dialer.state().linked]).toEqual([4, false]);
});

test('two machines that dial as one computer do not chase each other', async () => {
  const cloud = await startTestCloud();
  onTestFinished(() => cloud.close());
  cloud.keys.set('computer_1', key);
  const home = () => ({ cloudUrl: `http://127.0.0.1:${cloud.port}`, computerId: 'computer_1', key });
  const waits = recordWaits(8);
  dialerOf({ home, timers: waits.timers }).start();
  await untilLinked(cloud.dialIns, 'computer_1');
  // Comes back at once each time, by a clock that lets it sign as often as it likes.
  let ahead = 0;
  const now = () => {
    ahead += 1000;
    return systemClock.now() + ahead;
  };
  dialerOf({ home, clock: { ...systemClock, now }, random: () => 0 }).start();
  await waits.enough;
  // Without those in which what ran before may finish.
  const pauses = waits.waits.filter((ms) => ms !== 30_000);
  expect(pauses[0]).toBe(2000);
  expect(Math.max(...pauses)).toBeGreaterThanOrEqual(8000);
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
});

test('a stopped link ends, is not dialled again, and can be started anew', async () => {
  const cloud = await startTestCloud();
  const computer = await startTestComputer(cloud);
  onTestFinished(async () => {
    await computer.close();
    await cloud.close();
  });
  await computer.linked();
  const told: boolean[] = [];
  computer.dialer.onChange((linked) => told.push(linked));
  await computer.dialer.stop();
  expect(computer.dialer.state().linked).toBe(false);
  await untilLinked(cloud.dialIns, computer.id, false);
  computer.dialer.start();
  await computer.linked();
  while (told.length < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([false, true]);
});

test('below a path and behind TLS it dials just so, but only where somebody vouches for the certificate', async () => {
  const cloud = await startTestCloud();
  cloud.keys.set('computer_1', key);
  const server = createTlsServer(loopbackCertificate);
  // As a proxy in front of a cloud that is served below a path.
  server.on('upgrade', (request, socket, head) => {
    if (!request.url?.startsWith('/gantry/')) return socket.destroy();
    request.url = request.url.slice('/gantry'.length);
    cloud.dialIns.handleUpgrade(request, socket, head);
  });
  const port = await listen(server);
  onTestFinished(() => cloud.close());
  const engine = createServer((_request, response) => response.end('ok'));
  const deps = {
    home: () => ({ cloudUrl: `https://127.0.0.1:${port}/gantry/`, computerId: 'computer_1', key }),
    serve: { engine: (pipe: unknown) => void engine.emit('connection', pipe), peer: () => {} },
  };
  const waits = recordWaits(0);
  const distrustful = dialerOf({ ...deps, timers: waits.timers });
  distrustful.start();
  await waits.enough;
  expect(distrustful.state().problem).toContain('self-signed certificate');

  const usual = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...usual, loopbackCertificate.cert]);
  onTestFinished(() => tls.setDefaultCACertificates(usual));
  dialerOf(deps).start();
  await untilLinked(cloud.dialIns, 'computer_1');
  const caller = linkCaller(cloud.dialIns, 'computer_1');
  expect((await caller.call('/a')).text).toBe('ok');
  caller.agent.destroy();
});
