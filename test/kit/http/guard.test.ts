/** Requests as a hostile page, a rebound name or a broken client would send them, byte by byte. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../src/contracts/common/route.ts';
import { createDispatcher } from '../../../src/kit/http/dispatcher.ts';
import { createOwnerAuthenticator } from '../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnSocket } from '../../../src/kit/http/server.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { caller, countingIds, onEnd, ownerToken, rawRequest, serve } from './support.ts';

const hello = bind(
  defineRoute({
    op: 'hello',
    area: 'test',
    summary: 'hello',
    errors: 'factory',
    method: 'POST',
    path: '/api/factory/hello',
    auth: ['owner'],
    scope: null,
    owner: 'collection',
    answers: { 200: z.strictObject({ ok: z.boolean() }) },
  }),
  () => ({ body: { ok: true } }),
);

const path = '/api/factory/hello';
const auth = `Authorization: Bearer ${ownerToken}\r\nContent-Length: 0\r\nConnection: close\r\n`;

test.each([
  ['the literal', (port: number) => `Host: 127.0.0.1:${port}\r\n`, 200],
  ['the name', (port: number) => `Host: localhost:${port}\r\n`, 200],
  ['the name in capitals', (port: number) => `Host: LocalHost:${port}\r\n`, 200],
  ['the IPv6 literal', (port: number) => `Host: [::1]:${port}\r\n`, 200],
  ['no Host', () => '', 400],
  ['an empty Host', () => 'Host: \r\n', 421],
  ['a Host without port', () => 'Host: 127.0.0.1\r\n', 421],
  ['another port', (port: number) => `Host: 127.0.0.1:${port + 1}\r\n`, 421],
  ['a rebound name', (port: number) => `Host: evil.example:${port}\r\n`, 421],
  ['a name that begins right', (port: number) => `Host: localhost.evil.example:${port}\r\n`, 421],
  ['a name that ends right', (port: number) => `Host: evil-localhost:${port}\r\n`, 421],
  ['credentials in it', (port: number) => `Host: x@127.0.0.1:${port}\r\n`, 421],
  ['two, the first right', (port: number) => `Host: 127.0.0.1:${port}\r\nHost: evil.example\r\n`, 421],
  ['two, the second right', (port: number) => `Host: evil.example\r\nHost: 127.0.0.1:${port}\r\n`, 421],
  ['the own origin', (port: number) => `Host: 127.0.0.1:${port}\r\nOrigin: http://127.0.0.1:${port}\r\n`, 200],
  ['no origin', (port: number) => `Host: 127.0.0.1:${port}\r\nOrigin: null\r\n`, 403],
  ['an empty origin', (port: number) => `Host: 127.0.0.1:${port}\r\nOrigin: \r\n`, 403],
  [
    'the same host as origin and Host',
    (port: number) => `Host: evil.example:${port}\r\nOrigin: http://evil.example:${port}\r\n`,
    421,
  ],
  ['another scheme', (port: number) => `Host: 127.0.0.1:${port}\r\nOrigin: https://127.0.0.1:${port}\r\n`, 403],
  ['a dev server’s origin', (port: number) => `Host: 127.0.0.1:${port}\r\nOrigin: http://localhost:5173\r\n`, 403],
  ['another site', (port: number) => `Host: 127.0.0.1:${port}\r\nSec-Fetch-Site: cross-site\r\n`, 403],
  ['another port’s page', (port: number) => `Host: 127.0.0.1:${port}\r\nSec-Fetch-Site: same-site\r\n`, 403],
  ['the own page', (port: number) => `Host: 127.0.0.1:${port}\r\nSec-Fetch-Site: same-origin\r\n`, 200],
])('with %s', async (_name, headers, status) => {
  const { port } = await serve({ routes: [hello] });
  const reply = await rawRequest(port, `POST ${path} HTTP/1.1\r\n${headers(port)}${auth}\r\n`);
  expect(reply.split('\r\n')[0]).toContain(` ${status} `);
  expect(reply).not.toContain('access-control');
});

test('an absolute request target is refused, whatever its authority', async () => {
  const { port } = await serve({ routes: [hello] });
  for (const authority of [`127.0.0.1:${port}`, 'evil.example']) {
    const reply = await rawRequest(
      port,
      `POST http://${authority}${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${auth}\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 421 /);
  }
});

test('HTTP/1.0 without Host, smuggled lengths and overlong headers are refused', async () => {
  const { port } = await serve({ routes: [hello] });
  const host = `Host: 127.0.0.1:${port}\r\n`;
  expect(await rawRequest(port, `POST ${path} HTTP/1.0\r\n${auth}\r\n`)).toMatch(/ 421 /);
  const both = `POST ${path} HTTP/1.1\r\n${host}Authorization: Bearer ${ownerToken}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
  expect(await rawRequest(port, both)).toMatch(/ 400 /);
  const long = `POST ${path} HTTP/1.1\r\n${host}X: ${'a'.repeat(20_000)}\r\n${auth}\r\n`;
  expect(await rawRequest(port, long)).toMatch(/ 431 /);
});

test('a request before which nobody is known is refused in the shape of its area and never as a page', async () => {
  const { port } = await serve({ routes: [hello], unclaimed: 'pass' });
  const factory = await rawRequest(port, `GET /api/factory/x HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n`);
  expect(factory).toContain('"code":"refused"');
  const page = await rawRequest(port, `GET / HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n`);
  expect(page).toMatch(/ 421 /);
  expect(page).toContain('"error":"misdirected_request"');
});

test('the Unix socket takes any Host and no Origin', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-sock-'));
  onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const socketPath = join(folder, 'engine.sock');
  const quiet = { warn: () => {}, error: () => {} };
  const dispatcher = createDispatcher({
    listener: { kind: 'socket' },
    authenticators: [createOwnerAuthenticator(ownerToken)],
    routes: [hello],
    owners: {},
    ids: countingIds(),
    log: quiet,
  });
  const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
  await listenOnSocket(server, socketPath);
  onEnd(() => closeServer(server));
  const call = caller(0);
  expect((await call('POST', path, { socketPath })).status).toBe(200);
  expect((await call('POST', path, { socketPath, headers: { origin: 'http://127.0.0.1:3010' } })).status).toBe(403);
  expect((await call('POST', path, { socketPath, token: null })).status).toBe(401);
});

test('a socket path that Node would cut silently is refused', async () => {
  const server = createHttpServer(() => {});
  await expect(listenOnSocket(server, `/tmp/${'x'.repeat(120)}`)).rejects.toThrow('longer than 103 bytes');
});

test('clients that send slowly are cut off', async () => {
  const { server, port } = await serve({ routes: [hello] });
  // The same limits, shorter: the point is that they are enforced soon after they pass.
  server.headersTimeout = 300;
  server.requestTimeout = 300;
  const closed = Array.from(
    { length: 20 },
    () =>
      new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.write('POST /api/factory/hello HTTP/1.1\r\nHost: x'));
        socket.on('error', () => {});
        socket.on('data', () => {});
        socket.on('close', () => resolve());
      }),
  );
  await Promise.all(closed);
});
