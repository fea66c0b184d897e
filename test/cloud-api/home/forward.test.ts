/** What goes home from the server of a paired computer, and what does not: over real HTTP, with a home that says what it got. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { createForward, type PairedWith } from '../../../src/cloud-api/home/forward.ts';
import { defineRoute, type Route } from '../../../src/contracts/common/route.ts';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import { everyScope } from '../../../src/kit/http/principals.ts';
import { bindPassThrough, type Principal } from '../../../src/kit/http/types.ts';
import { caller, onEnd, serve } from '../../kit/http/support.ts';
import { loopbackCertificate } from '../../support/loopback-certificate.ts';
import { createTestClock } from '../../support/test-clock.ts';

const routeOf = (
  op: string,
  method: 'GET' | 'POST',
  path: string,
  errors: Route['errors'],
  auth: Route['auth'] = ['owner', 'key'],
) =>
  defineRoute({
    op,
    area: 'test',
    errors,
    summary: 'x',
    method,
    path,
    auth,
    scope: 'agents:read',
    owner: { none: 'a test' },
    query: z.strictObject({ a: z.string().optional() }),
    answers: { 200: z.unknown() },
  });
const routes = [
  routeOf('plain', 'GET', '/api/v1/plain', 'plain'),
  routeOf('write', 'POST', '/api/v1/plain', 'plain'),
  routeOf('factoryShape', 'GET', '/api/factory/x', 'factory'),
  routeOf('computersShape', 'GET', '/api/v1/computers/x', 'computers'),
  routeOf('open', 'POST', '/api/v1/open', 'plain', ['public']),
];
const principals: Readonly<Record<string, Principal>> = {
  owner: { kind: 'owner', userId: 'user_local', scopes: everyScope, via: 'file-token' },
  browser: { kind: 'owner', userId: 'user_local', scopes: everyScope, via: 'cookie' },
  key: { kind: 'key', userId: 'user_local', scopes: everyScope, via: 'key' },
};

interface HomeState {
  linked: boolean;
  since: number;
}

async function startServer(
  listener: RequestListener,
): Promise<{ url: string; seen: IncomingMessage[]; close(): Promise<void> }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((incoming, response) => {
    seen.push(incoming);
    listener(incoming, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onEnd(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close };
}

async function startInstallation(
  cloudUrl: string,
  link: HomeState = { linked: true, since: 0 },
  timers: Timers = systemTimers,
) {
  let paired: PairedWith | null = { cloudUrl, credential: 'home-credential', computerId: 'computer_1' };
  const forward = createForward({
    timers,
    home: {
      current: () => paired,
      onChange: () => () => {},
      link: { state: () => link, onChange: () => () => {} },
    },
  });
  onEnd(async () => forward.close());
  const { port } = await serve({
    authenticators: [
      { name: 'test', authenticate: ({ headers }) => principals[String(headers.authorization).slice(7)] ?? null },
    ],
    routes: routes.map((route) => bindPassThrough(route, (context) => forward.pass(context))),
  });
  const unpair = () => {
    paired = null;
  };
  return { port, call: caller(port, 'owner'), unpair };
}

test('the person’s credential goes with it, their cookie, token and hops do not; nothing that home sets comes back', async () => {
  const home = await startServer((_incoming, response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': 'session=stolen',
      'access-control-allow-origin': '*',
      location: 'https://elsewhere.example/',
      'retry-after': '3',
    });
    response.end('{"ok":true}');
  });
  const installation = await startInstallation(home.url);
  const headers = {
    cookie: 'gantry=mine',
    'x-platform-csrf': 'mine',
    'x-gantry-surface': 'push',
    'x-forwarded-for': '10.0.0.1',
    'x-gantry-computer': 'cc_other',
    'idempotency-key': 'once',
    'last-event-id': '7',
  };
  const reply = await installation.call('GET', '/api/v1/plain?a=1', { token: 'browser', headers });
  expect(reply.json).toEqual({ ok: true });
  expect(home.seen[0]!.url).toBe('/api/v1/plain?a=1');
  const { host, connection, ...got } = home.seen[0]!.headers;
  expect(host).toBe(home.url.slice('http://'.length));
  expect(connection).toBe('keep-alive');
  expect(got).toEqual({
    authorization: 'Bearer home-credential',
    'x-gantry-surface': 'browser',
    'x-gantry-computer': 'cc_other',
    'idempotency-key': 'once',
    'last-event-id': '7',
  });
  expect(reply.headers['retry-after']).toBe('3');
  for (const name of ['set-cookie', 'access-control-allow-origin', 'location'])
    expect(reply.headers[name]).toBeUndefined();
});

test('a call of nobody in particular carries no credential, and a key of this computer goes nowhere', async () => {
  const home = await startServer((_incoming, response) => response.end('{}'));
  const installation = await startInstallation(home.url);
  expect((await installation.call('POST', '/api/v1/open', { token: null, body: {} })).status).toBe(200);
  expect(home.seen[0]!.headers.authorization).toBeUndefined();
  expect(home.seen[0]!.headers['x-gantry-surface']).toBeUndefined();
  const refused = await installation.call('GET', '/api/v1/plain', { token: 'key' });
  expect([refused.status, refused.json.message]).toEqual([403, expect.stringContaining(home.url)]);
  expect(home.seen).toHaveLength(1);
});

test('a large body passes piece by piece in both directions, and an event arrives before the stream ends', async () => {
  const size = 24 * 1024 * 1024;
  let largest = 0;
  const home = await startServer((incoming, response) => {
    if (incoming.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: first\n\n');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    incoming.on('data', (chunk: Buffer) => {
      largest = Math.max(largest, chunk.length);
      if (!response.write(chunk)) {
        incoming.pause();
        response.once('drain', () => incoming.resume());
      }
    });
    incoming.on('end', () => response.end());
  });
  const installation = await startInstallation(home.url);
  const upload = request({
    host: '127.0.0.1',
    port: installation.port,
    method: 'POST',
    path: '/api/v1/plain',
    headers: { authorization: 'Bearer owner' },
  });
  const piece = Buffer.alloc(1024 * 1024, 7);
  for (let sent = 0; sent < size; sent += piece.length) upload.write(piece);
  upload.end();
  const [answer] = (await once(upload, 'response')) as [IncomingMessage];
  let got = 0;
  for await (const chunk of answer) got += (chunk as Buffer).length;
  expect(got).toBe(size);
  expect(largest).toBeLessThan(size / 4);

  const stop = new AbortController();
  const stream = await fetch(`http://127.0.0.1:${installation.port}/api/v1/plain`, {
    headers: { authorization: 'Bearer owner' },
    signal: stop.signal,
  });
  const first = await stream.body!.getReader().read();
  expect(Buffer.from(first.value!).toString()).toBe('data: first\n\n');
  const left = once(home.seen.at(-1)!.socket, 'close');
  stop.abort();
  // Who leaves here leaves there.
  await left;
});

test('while home is away every area says so in its own shape, and since when', async () => {
  const home = await startServer(() => {});
  const since = Date.UTC(2026, 0, 2, 3, 4, 5);
  const link = { linked: true, since };
  const installation = await startInstallation(home.url, link);
  await home.close();
  link.linked = false;
  const words = `${home.url} cannot be reached since 2026-01-02T03:04:05.000Z (ECONNREFUSED)`;
  const plain = await installation.call('GET', '/api/v1/plain');
  expect([plain.status, plain.json]).toEqual([502, { error: 'transport', message: expect.stringContaining(words) }]);
  const factory = await installation.call('GET', '/api/factory/x');
  expect([factory.status, factory.json.error]).toEqual([
    502,
    { code: 'transport', fact: expect.stringContaining(words), action: expect.any(String) },
  ]);
  const computers = await installation.call('GET', '/api/v1/computers/x');
  expect([computers.status, computers.json.error]).toEqual([
    502,
    { type: 'api_error', code: 'transport', message: expect.stringContaining(words), param: null },
  ]);
  // A body that is under way does not keep the answer from coming.
  expect((await installation.call('POST', '/api/v1/plain', { raw: Buffer.alloc(200_000) })).status).toBe(502);
  installation.unpair();
  expect((await installation.call('GET', '/api/v1/plain')).status).toBe(502);
});

test('who waits for home when its link turns out to be cut does not wait as long as for a home that is there', async () => {
  const home = await startServer(() => {});
  const link = { linked: true, since: 0 };
  const time = createTestClock();
  const installation = await startInstallation(home.url, link, time);
  let over = false;
  const reply = installation.call('GET', '/api/v1/plain').finally(() => {
    over = true;
  });
  await vi.waitUntil(() => home.seen.length === 1);
  await time.advance(5_000);
  await time.advance(5_000);
  // Down when it is looked at, up again at the next look: as when the link is dialled again.
  link.linked = false;
  await time.advance(5_000);
  link.linked = true;
  await time.advance(5_000);
  expect(over).toBe(false);
  link.linked = false;
  await time.advance(5_000);
  await time.advance(5_000);
  expect((await reply).status).toBe(502);
});

test('an idle connection that home had closed costs a reader nothing, and no write is sent twice', async () => {
  let requests = 0;
  const home = await startServer((incoming, response) => {
    requests += 1;
    // Every second request of a connection finds it closed, as when the server was restarted behind the same address.
    if (requests % 2 === 0) incoming.socket.destroy();
    else response.end('{}');
  });
  const installation = await startInstallation(home.url);
  expect((await installation.call('GET', '/api/v1/plain')).status).toBe(200);
  expect((await installation.call('GET', '/api/v1/plain')).status).toBe(200);
  expect(requests).toBe(3);
  expect((await installation.call('POST', '/api/v1/plain', { body: {} })).status).toBe(502);
  expect(requests).toBe(4);
});

test('when home knows this computer no more, the person is told, and is not thrown out here', async () => {
  const home = await startServer((_incoming, response) =>
    response.writeHead(401).end('{"error":"unauthorized","message":"no"}'),
  );
  const installation = await startInstallation(home.url);
  const reply = await installation.call('GET', '/api/v1/plain');
  expect([reply.status, reply.json.error]).toEqual([409, 'needs_person']);
  expect(reply.json.message).toContain('gantry pair --end');
  // Whoever reads on does not ask there again at once: it would count as guessing.
  expect((await installation.call('GET', '/api/v1/plain')).status).toBe(409);
  expect(home.seen).toHaveLength(1);
  expect((await installation.call('POST', '/api/v1/open', { token: null, body: {} })).status).toBe(401);
});

test('a cut in the middle of an answer is seen here, too', async () => {
  const home = await startServer((incoming, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('half', () => incoming.socket.destroy());
  });
  const installation = await startInstallation(home.url);
  await expect(installation.call('GET', '/api/v1/plain')).rejects.toThrow(/aborted|ECONNRESET|hang up/);
});

test('a home behind TLS is asked only when somebody vouches for its certificate', async () => {
  const server = createTlsServer(loopbackCertificate, (_incoming, response) => response.end('{"ok":true}'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(async () => void server.close());
  const cloudUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const distrusted = await (await startInstallation(cloudUrl)).call('GET', '/api/v1/plain');
  expect([distrusted.status, distrusted.json.message]).toEqual([502, expect.stringContaining('SELF_SIGNED')]);
  const usual = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...usual, loopbackCertificate.cert]);
  onTestFinished(() => tls.setDefaultCACertificates(usual));
  expect((await (await startInstallation(cloudUrl)).call('GET', '/api/v1/plain')).text).toBe('{"ok":true}');
});
