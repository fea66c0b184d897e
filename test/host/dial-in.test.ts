/** A computer that dials into a cloud of many, as `gantry cloud` starts it: seen, reached, and let go in good order. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Computer } from '../../src/contracts/link/computers.ts';
import { linkPath } from '../../src/contracts/link/dial-in.ts';
import { placesIn } from '../../src/host/places.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { newToken } from '../../src/kit/secrets/token-file.ts';
import { signedHeaders, signingKey } from '../../src/kit/signing/signature.ts';
import { createDialer } from '../../src/runtime-server/link/dialer.ts';
import { type People, type Person, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { quiet } from '../support/link.ts';
import { signInAs } from '../support/oidc-provider.ts';

let people: People;
let ada: Person;
let dialer: ReturnType<typeof createDialer>;
const computerId = 'computer_01HZZZZZZZZZZZZZZZZZZZZZZZ';
const asked: { url: string; user: unknown; authorized: boolean }[] = [];
const stop = keepUntilEnd();

beforeAll(async () => {
  people = await startPeople();
  ada = await personWith(people, await signInAs('ada', people.origin));
  const key = await pair(computerId, 'Desk');
  let token = '';
  // Tells without end, as a stream of a pane does.
  const peer = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
  });
  const engine = createServer((request, response) => {
    const { url = '', headers } = request;
    asked.push({ url, user: headers['x-platform-user-id'], authorized: headers.authorization === `Bearer ${token}` });
    response.end(JSON.stringify({ agents: [], engine: { running: true, error: null } }));
  });
  dialer = createDialer({
    home: () => ({ cloudUrl: people.origin, computerId, key }),
    serve: {
      engine: (pipe) => void engine.emit('connection', pipe),
      peer: (pipe) => void peer.emit('connection', pipe),
    },
    linkToken: () => {
      token = newToken();
      return token;
    },
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    log: quiet,
  });
  dialer.start();
});
afterAll(async () => {
  await dialer.stop(0);
  await stop();
});

/** Answers what signs for it. */
async function pair(id: string, name: string): Promise<string> {
  const begun = await people.call('POST', '/api/v1/pairings', { body: { computerId: id, name, version: '0.1.0' } });
  const { userCode, deviceCode } = begun.json as never as { userCode: string; deviceCode: string };
  await ada.call('POST', `/api/v1/pairings/${userCode}/approve`);
  const taken = await people.call('POST', '/api/v1/pairings/token', { body: { deviceCode } });
  return signingKey((taken.json as never as { deviceToken: string }).deviceToken);
}

const computer = async () =>
  ((await ada.call('GET', '/api/v1/computers')).json as never as { computers: Computer[] }).computers[0];

test('a computer that dialled in is shown as linked and reached by its person', async () => {
  await expect.poll(async () => (await computer())?.state).toBe('linked');
  expect((await ada.call('GET', '/api/factory/agents?team=far')).status).toBe(200);
  expect(asked).toEqual([{ url: '/api/factory/agents?team=far', user: ada.id, authorized: true }]);
});

test('its health is asked by who is signed in, since nobody else says which computer is meant', async () => {
  expect((await ada.call('GET', '/api/factory/health')).status).toBe(200);
  expect(asked.at(-1)).toEqual({ url: '/api/factory/health', user: ada.id, authorized: true });
  expect((await people.call('GET', '/api/factory/health')).status).toBe(401);
});

test('only at its own path can anything be dialled, and not from a page', async () => {
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const headers = { ...upgrade, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
  expect((await people.call('GET', '/api/v1/computers', { headers })).status).toBe(404);
  expect((await people.call('GET', linkPath, { headers })).status).toBe(400);
  const page = { ...headers, origin: 'https://elsewhere.example' };
  expect((await people.call('GET', linkPath, { headers: page })).status).toBe(403);
  expect((await people.call('GET', linkPath)).status).toBe(404);
});

test.each([
  ['dials elsewhere', 'GET /elsewhere', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
  ['dials unsigned', `GET ${linkPath}`, 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
  ['sends no HTTP', 'GET /\u0001', ''],
])('who %s and does not leave is let go: nobody holds a connection for nothing', async (_what, line, more) => {
  const socket = connect({ port: people.port, host: '127.0.0.1', allowHalfOpen: true });
  onEnd(async () => void socket.destroy());
  socket.on('error', () => {});
  socket.write(`${line} HTTP/1.1\r\nHost: 127.0.0.1:${people.port}\r\n${more}\r\n`);
  const answer = await new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.once('end', () => resolve(text));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  // Whoever is gone does not take this any more.
  const gone = () => {
    if (!socket.destroyed) socket.write('x');
    return socket.destroyed;
  };
  await expect.poll(gone).toBe(true);
});

test('a client that offers another protocol is answered in this one', async () => {
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' };
  const reply = await ada.call('GET', '/api/v1/session', { headers });
  expect([reply.status, reply.json.user]).toEqual([200, ada.id]);
});

test('a computer that is revoked sees nothing more of the others, not even what it was being shown', async () => {
  const lost = 'computer_01HYYYYYYYYYYYYYYYYYYYYYYY';
  const key = await pair(lost, 'Lost laptop');
  const [method, path, raw] = ['POST', '/api/v1/runtime/tokens', '{}'];
  const headers = signedHeaders({ runtimeId: lost, key, now: Date.now }, { method, path, body: raw });
  const { token } = (await people.call(method, path, { raw, headers })).json as never as { token: string };
  const stream = await fetch(`${people.origin}/api/v1/computers/${computerId}/factory-peer/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(stream.status).toBe(200);
  const ended = stream.text().catch(() => 'cut');
  expect((await ada.call('DELETE', `/api/v1/computers/${lost}`)).status).toBe(204);
  expect(await ended).toBe('cut');
});

test('a cloud that closes lets its computers go without a fault', async () => {
  const away = new Promise<void>((resolve) => void dialer.onChange((linked) => !linked && resolve()));
  const closed = people.cloud.close();
  await away;
  // Read before it is closed: the next try finds nobody.
  expect(dialer.state().problem).toBe('The cloud is shutting down.');
  await closed;
  expect(readFileSync(`${placesIn(people.home).logs}/cloud.log`, 'utf8')).not.toMatch(/did not close/);
});
