/** The device signature against its vectors, and every request that must not pass for signed. */
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../src/contracts/common/route.ts';
import type { BoundRoute } from '../../../src/kit/http/types.ts';
import { bind } from '../../../src/kit/http/types.ts';
import {
  createDeviceAuthenticator,
  type KnownDevice,
  signingMigrations,
} from '../../../src/kit/signing/authenticator.ts';
import {
  checkSignedPath,
  signature,
  signatureHeaders,
  signatureMatches,
  signedHeaders,
  signingKey,
} from '../../../src/kit/signing/signature.ts';
import { createSignedCaller } from '../../../src/kit/signing/signed-call.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import type { OpenedStore } from '../../../src/kit/store/store.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { type CallOptions, keepUntilEnd, onEnd, serve } from '../http/support.ts';

const token = 'dev_test_token_0001';
const ts = '1795168800';
const key = signingKey(token);
const vectors = [
  [
    'POST',
    '/api/v1/mcp/event-deliveries',
    '{"event":{"id":"evt_1"}}',
    'v1=eb48a825891eb33f50cf5670ba6239ba3ce3d2fcd93b263d481dcf80068d5e54',
  ],
  ['GET', '/api/v1/ping', '', 'v1=fed63c5fd6a937ad511d7242ac6c2761295e8dd3fed504ec8abcdab21f367607'],
  [
    'DELETE',
    '/api/v1/mcp/events/subscriptions/sub_0123456789abcdef01234567',
    '',
    'v1=5e68b1af7bd90a2089dce2e4529d7feebcf3425f2dcfb3626d5dd7b3e441cba8',
  ],
] as const;

test('the key is the hex of the token’s hash, and signs the vectors as they are', () => {
  expect(key).toBe('85eec991f9729fe2a2e11a52a6f8d54740317f5d4b7f04245879aeec5a195a20');
  for (const [method, path, body, expected] of vectors) {
    expect(signature(key, { ts, method, path, body })).toBe(expected);
    expect(signature(key, { ts, method, path, body: Buffer.from(body) })).toBe(expected);
    expect(signatureMatches(key, { ts, method, path, body }, expected)).toBe(true);
  }
});

test('a key taken as raw bytes, another length, another case and another prefix do not match', () => {
  const [method, path, body] = ['GET', '/api/v1/ping', ''];
  const raw = createHmac('sha256', Buffer.from(key, 'hex'))
    .update(`${ts}.${method}.${path}.${createHash('sha256').digest('hex')}`)
    .digest('hex');
  expect(`v1=${raw}`).toBe('v1=373661cbbaa193e52577c0c8ad5c970d45e3d29001f68892cea20825a89d5fa8');
  const good = signature(key, { ts, method, path, body });
  for (const wrong of [
    `v1=${raw}`,
    good.toUpperCase(),
    good.slice(0, -1),
    `${good}0`,
    good.replace('v1', 'v2'),
    '',
    'v1=',
  ]) {
    expect([wrong, signatureMatches(key, { ts, method, path, body }, wrong)]).toEqual([wrong, false]);
  }
});

test('a path that two programs could read as two is never signed', () => {
  for (const path of [
    '/a?b=1',
    '/a//b',
    '/a/./b',
    '/a/../b',
    '/a/%2e%2e/b',
    '/a%2Fb',
    '/ü',
    '/a b',
    'a',
    '/a#b',
    '/a/..',
  ]) {
    expect(() => checkSignedPath(path), path).toThrow('has parts that are not plain segments');
  }
  for (const [, path] of vectors) expect(() => checkSignedPath(path)).not.toThrow();
  expect(() => checkSignedPath('/a/b.c~d_e-f')).not.toThrow();
});

const clock = createTestClock(Number(ts) * 1000);
const devices = new Map<string, KnownDevice>([['computer_1', { userId: 'user_1', keys: [key] }]]);
let store: OpenedStore;
let call: Awaited<ReturnType<typeof serve>>['call'];
let port = 0;
const reached: unknown[] = [];
const folder = mkdtempSync(join(tmpdir(), 'gantry-signing-'));
const path = '/api/v1/runtime/things';
const stop = keepUntilEnd();

const thing = { area: 'x', errors: 'plain', scope: null, owner: { none: 'a test' } } as const;
const routes: BoundRoute[] = [
  bind(
    defineRoute({
      ...thing,
      op: 'putThing',
      summary: '',
      method: 'PUT',
      path,
      auth: ['device'],
      body: z.strictObject({ a: z.number() }),
      answers: { 200: z.unknown() },
    }),
    ({ principal, body }) => {
      reached.push(body);
      return { body: { user: principal.userId, computer: principal.computerId } };
    },
  ),
  bind(
    defineRoute({
      ...thing,
      op: 'getOwn',
      summary: '',
      method: 'GET',
      path: '/api/v1/own',
      auth: ['owner'],
      answers: { 200: z.unknown() },
    }),
    () => ({ body: {} }),
  ),
];

const open = () => openStore({ file: join(folder, 'x.db'), migrations: signingMigrations, clock });
beforeAll(async () => {
  store = await open();
  const find = (id: string) => devices.get(id) ?? null;
  const held = { write: (...given: Parameters<OpenedStore['write']>) => store.write(...given) } as OpenedStore;
  const limits = { failedCredentials: 1000 };
  const served = await serve({
    routes,
    limits,
    authenticators: [createDeviceAuthenticator({ store: shareStore(held), clock, find })],
  });
  call = served.call;
  port = served.port;
  onEnd(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
afterAll(stop);

let seconds = 0;
/** Each of its own second: a signature is taken once. */
function signed(body: string, change: Partial<Record<'id' | 'key' | 'method' | 'path', string>> = {}) {
  seconds += 1;
  const now = () => Number(ts) * 1000 + seconds * 1000;
  const { id = 'computer_1', key: signs = key, method = 'PUT', path: signedPath = path } = change;
  return signedHeaders({ runtimeId: id, key: signs, now }, { method, path: signedPath, body });
}
const put = (headers: Record<string, string>, raw = '{"a":1}', options: CallOptions = {}) =>
  call('PUT', path, { token: null, headers, raw, ...options });

test('a signed request reaches its route as the device and its owner', async () => {
  const reply = await put(signed('{"a":1}'));
  expect([reply.status, reply.json]).toEqual([200, { user: 'user_1', computer: 'computer_1' }]);
});

test('a changed body, path, method, key or id is not signed', async () => {
  const before = reached.length;
  const refused = [
    await put(signed('{"a":1}'), '{"a":2}'),
    await put(signed('{"a":1}'), '{"a": 1}'),
    await put(signed('{"a":1}', { path: '/api/v1/runtime/other' })),
    await put(signed('{"a":1}', { method: 'POST' })),
    await put(signed('{"a":1}', { key: signingKey('another') })),
    await put(signed('{"a":1}', { id: 'computer_2' })),
    await put({ ...signed('{"a":1}'), [signatureHeaders.ts]: `${ts}.PUT` }),
    await put({ [signatureHeaders.id]: 'computer_1' }),
  ];
  for (const reply of refused) expect([reply.status, reply.json.error]).toEqual([401, 'unauthorized']);
  // An unknown id and a wrong key are told in the same words.
  expect(refused[5]!.text).toBe(refused[4]!.text);
  expect(reached.length).toBe(before);
});

test('a query, an encoded body and a route that is not a device’s are refused', async () => {
  const headers = signed('{"a":1}');
  expect((await call('PUT', `${path}?x=1`, { token: null, headers, raw: '{"a":1}' })).status).toBe(400);
  expect((await put({ ...signed('{"a":1}'), 'content-encoding': 'gzip' })).status).toBe(415);
  const own = signed('', { method: 'GET', path: '/api/v1/own' });
  expect((await call('GET', '/api/v1/own', { token: null, headers: own })).status).toBe(403);
});

test('a signature is taken once, also after the program was started again', async () => {
  const headers = signed('{"a":1}');
  expect((await put(headers)).status).toBe(200);
  expect((await put(headers)).status).toBe(401);
  await store.close();
  store = await open();
  const again = await put(headers);
  expect([again.status, again.json.message]).toEqual([401, expect.stringContaining('has been used already')]);
});

test('twenty copies at once: one passes', async () => {
  const headers = signed('{"a":1}');
  const replies = await Promise.all(Array.from({ length: 20 }, () => put(headers)));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(replies.filter(({ status }) => status === 401)).toHaveLength(19);
});

test('five minutes off is too far, in both directions, and the answer says what time it is here', async () => {
  for (const [off, status] of [
    [-301_000, 401],
    [-299_000, 200],
    [299_000, 200],
    [301_000, 401],
  ] as const) {
    const now = () => clock.now() + off;
    const headers = signedHeaders({ runtimeId: 'computer_1', key, now }, { method: 'PUT', path, body: '{"a":1}' });
    const reply = await put(headers);
    expect([off, reply.status]).toEqual([off, status]);
    if (status === 401) expect(reply.json).toMatchObject({ error: 'clock_skew', serverTime: clock.now() / 1000 });
  }
});

test('what was taken is forgotten only once its time can never come back', async () => {
  const headers = signed('{"a":1}');
  expect((await put(headers)).status).toBe(200);
  const count = () => store.read((tx) => tx.get<{ n: number }>('SELECT count(*) AS n FROM signature_seen')!.n);
  clock.jump(550_000);
  expect((await put(headers)).json.error).toBe('clock_skew');
  expect(await count()).toBeGreaterThan(1);
  clock.jump(3_600_000);
  const later = signedHeaders(
    { runtimeId: 'computer_1', key, now: clock.now },
    { method: 'PUT', path, body: '{"a":1}' },
  );
  expect((await put(later)).status).toBe(200);
  expect(await count()).toBe(1);
});

test('a caller whose clock is wrong signs by the server’s time after the first refusal; beyond a day it does not', async () => {
  for (const [off, then] of [
    [3_600_000, 200],
    [-7_200_000, 200],
    [26 * 3_600_000, 401],
  ] as const) {
    const wrong = { now: () => clock.now() + off, monotonic: () => 0 };
    const caller = createSignedCaller({
      runtimeId: 'computer_1',
      key,
      clock: wrong,
      target: () => ({ host: '127.0.0.1', port }),
    });
    const request = { method: 'PUT', path, signal: new AbortController().signal };
    expect((await caller({ ...request, body: { a: 1 } })).status).toBe(401);
    expect([off, (await caller({ ...request, body: { a: off } })).status]).toEqual([off, then]);
  }
});

test('the same call again within a second is taken too: each is signed for itself', async () => {
  clock.jump(7_200_000);
  const target = () => ({ host: '127.0.0.1', port });
  const caller = createSignedCaller({ runtimeId: 'computer_1', key, clock, target });
  const request = { method: 'PUT', path, body: { a: 77 }, signal: new AbortController().signal };
  const answers = await Promise.all(Array.from({ length: 5 }, () => caller(request)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  clock.jump(1000);
  expect((await caller(request)).status).toBe(200);
});

test('during a rotation the key before signs too', async () => {
  const next = signingKey('next');
  devices.set('computer_1', { userId: 'user_1', keys: [next, key] });
  const by = (signs: string) => {
    const now = () => clock.now() + (seconds++ % 200) * 1000;
    return put(signedHeaders({ runtimeId: 'computer_1', key: signs, now }, { method: 'PUT', path, body: '{"a":1}' }));
  };
  expect((await by(next)).status).toBe(200);
  expect((await by(key)).status).toBe(200);
  devices.set('computer_1', { userId: 'user_1', keys: [next] });
  expect((await by(key)).status).toBe(401);
});
