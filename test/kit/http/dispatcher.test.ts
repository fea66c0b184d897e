import { expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { defineRoute } from '../../../src/contracts/common/route.ts';
import { bearerOf, createLinkAuthenticator } from '../../../src/kit/http/principals.ts';
import { type Authenticator, bind } from '../../../src/kit/http/types.ts';
import { ownerToken, rawRequest, serve } from './support.ts';

const base = { area: 'test', summary: 'a route of a test', errors: 'factory', scope: 'agents:read' } as const;
const getThing = defineRoute({
  ...base,
  op: 'getThing',
  method: 'GET',
  path: '/api/factory/things/:id',
  auth: ['owner'],
  owner: { param: 'id', noun: 'thing', list: 'gantry things ls' },
  params: z.strictObject({ id: z.string().regex(/^[a-z0-9]+$/) }),
  query: z.strictObject({ lines: z.coerce.number().int().max(10).optional() }),
  answers: { 200: z.strictObject({ id: z.string(), lines: z.number().nullable() }) },
});
const makeThing = defineRoute({
  ...base,
  op: 'makeThing',
  method: 'POST',
  path: '/api/factory/things',
  auth: ['owner'],
  owner: 'collection',
  body: z.strictObject({ name: z.string() }),
  bodyLimit: 2000,
  answers: { 201: z.strictObject({ name: z.string() }) },
});
const plainThing = defineRoute({ ...makeThing, op: 'plainThing', path: '/api/v1/things', errors: 'plain' });
const nothing = defineRoute({
  ...base,
  op: 'nothing',
  method: 'POST',
  path: '/api/factory/nothing',
  auth: ['owner'],
  owner: 'collection',
  answers: { 200: z.strictObject({ ok: z.boolean() }) },
});

const routes = [
  bind(getThing, ({ params, query }) => ({ body: { id: params.id, lines: query.lines ?? null } })),
  bind(makeThing, ({ body }) => {
    if (body.name === 'crash') throw new Error('secret detail');
    if (body.name === 'busy') throw new AppError('transport', 'The bot is away.', 'Start it.', { retryAfter: 7 });
    return { body: { name: body.name } };
  }),
  bind(plainThing, ({ body }) => {
    if (body.name === 'wrong') return { body: { name: 5 as never } };
    return { body: { name: body.name } };
  }),
  bind(nothing, () => ({ body: { ok: true } })),
];
const owners = { thing: (_: unknown, id: string) => id === 'mine' };
const start = () => serve({ routes, owners });

test('a route answers its declared body with the headers every answer has', async () => {
  const { call } = await start();
  const reply = await call('GET', '/api/factory/things/mine?lines=3');
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ id: 'mine', lines: 3 });
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(reply.headers['x-content-type-options']).toBe('nosniff');
  expect(reply.headers['cache-control']).toBe('no-store');
  expect(reply.headers['cross-origin-resource-policy']).toBe('same-origin');
  expect(reply.headers['x-request-id']).toMatch(/^req_/);
  expect(reply.headers['access-control-allow-origin']).toBeUndefined();
});

test('what is foreign, unknown or no id at all answers the same 404', async () => {
  const { call } = await start();
  for (const id of ['theirs', '__proto__', '..%2f..%2fetc', '%00', 'A'.repeat(400)]) {
    const reply = await call('GET', `/api/factory/things/${id}`);
    expect([id, reply.status, reply.json.error.code]).toEqual([id, 404, 'not_found']);
    expect(reply.json.error.fact).toContain('There is no thing');
    expect(reply.json.error.action).toBe('List them with `gantry things ls`.');
  }
});

test('unknown query fields, repeated ones and values out of range are usage errors that name the field', async () => {
  const { call } = await start();
  for (const query of ['foo=1', 'lines=1&lines=2', 'lines=11', '__proto__=1']) {
    const reply = await call('GET', `/api/factory/things/mine?${query}`);
    expect([query, reply.status, reply.json.error.code]).toEqual([query, 400, 'usage']);
    expect(reply.json.error.fact).toContain(query.split('=')[0]);
  }
});

test('unknown body fields are refused by name', async () => {
  const { call } = await start();
  const reply = await call('POST', '/api/factory/things', { body: { name: 'a', colour: 'red' } });
  expect(reply.status).toBe(400);
  expect(reply.json.error.fact).toContain('unknown field "colour"');
});

test.each([
  ['text/plain', '{"name":"a"}'],
  ['application/x-www-form-urlencoded', 'name=a'],
  ['multipart/form-data; boundary=x', '--x--'],
  ['application/json; charset=utf-16', '{"name":"a"}'],
])('a body of type %s is refused before it is read', async (type, raw) => {
  const { call } = await start();
  const factory = await call('POST', '/api/factory/things', { raw, headers: { 'content-type': type } });
  expect([factory.status, factory.json.error.code]).toEqual([400, 'usage']);
  const plain = await call('POST', '/api/v1/things', { raw, headers: { 'content-type': type } });
  expect([plain.status, plain.json.error]).toEqual([415, 'unsupported_media_type']);
  const none = await call('POST', '/api/factory/nothing', { raw, headers: { 'content-type': type } });
  expect([none.status, none.json.error.code]).toEqual([400, 'usage']);
});

test('bad JSON, bad UTF-8, compressed, too deep and poisoned bodies are usage errors in the shape of the area', async () => {
  const { call } = await start();
  const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
  const cases: [string | Buffer, Record<string, string>][] = [
    ['{"name":', {}],
    [Buffer.from([0x22, 0xff, 0x22]), {}],
    ['{"name":"a"}', { 'content-encoding': 'gzip' }],
    [deep, {}],
    ['{"__proto__":{"name":"a"}}', {}],
  ];
  for (const [raw, headers] of cases) {
    const factory = await call('POST', '/api/factory/things', { raw, headers });
    expect([factory.status, factory.json.error.code]).toEqual([400, 'usage']);
    const plain = await call('POST', '/api/v1/things', { raw, headers });
    expect(plain.status === 400 || plain.status === 415).toBe(true);
    expect(Object.keys(plain.json)).toEqual(['error', 'message']);
  }
});

test('an oversize body is refused whether its length is announced or not', async () => {
  const { call, port } = await start();
  const raw = JSON.stringify({ name: 'a'.repeat(3000) });
  const announced = await call('POST', '/api/factory/things', { raw });
  expect([announced.status, announced.json.error.code]).toEqual([400, 'usage']);
  const plain = await call('POST', '/api/v1/things', { raw });
  expect([plain.status, plain.json.error]).toEqual([413, 'too_large']);
  const chunk = 'a'.repeat(3000);
  const reply = await rawRequest(
    port,
    `POST /api/factory/things HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${ownerToken}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${(chunk.length).toString(16)}\r\n${chunk}\r\n0\r\n\r\n`,
  );
  expect(reply).toMatch(/^HTTP\/1\.1 400 /);
  expect(reply).toContain('larger than 2000 bytes');
});

test('unknown paths, other methods, other spellings and bad encodings answer in the shape of the area, never HTML', async () => {
  const { call } = await start();
  const cases: [string, string, number, string][] = [
    ['GET', '/api/factory/nowhere', 404, 'factory'],
    ['DELETE', '/api/factory/things', 404, 'factory'],
    ['GET', '/API/FACTORY/things/mine', 404, 'factory'],
    ['GET', '/api/factory/things/mine/', 404, 'factory'],
    ['GET', '/api/factory//things/mine', 404, 'factory'],
    ['GET', '/api/factory/things/%E0%A4%A', 400, 'factory'],
    ['GET', '/api/v1/nowhere', 404, 'plain'],
    ['DELETE', '/api/v1/things', 405, 'plain'],
    ['GET', '/v1/computers/x', 404, 'computers'],
    ['GET', '/nowhere', 404, 'plain'],
  ];
  for (const [method, path, status, shape] of cases) {
    const reply = await call(method, path);
    expect([method, path, reply.status]).toEqual([method, path, status]);
    expect(reply.headers['content-type']).toContain('application/json');
    const keys = typeof reply.json.error === 'object' ? Object.keys(reply.json.error) : Object.keys(reply.json);
    const wanted = {
      factory: ['code', 'fact', 'action'],
      plain: ['error', 'message'],
      computers: ['type', 'code', 'message', 'param'],
    };
    expect([path, keys]).toEqual([path, wanted[shape as keyof typeof wanted]]);
  }
});

test('HEAD never reaches a handler', async () => {
  const { call } = await start();
  expect((await call('HEAD', '/api/factory/things/mine')).status).toBe(404);
});

test('a fault inside answers 500 without its text and logs it under the request id', async () => {
  const { call, lines } = await start();
  const reply = await call('POST', '/api/factory/things', { body: { name: 'crash' } });
  expect(reply.status).toBe(500);
  expect(reply.json.error.code).toBe('internal');
  expect(reply.text).not.toContain('secret detail');
  expect(reply.text).not.toContain('.ts');
  expect(JSON.stringify(lines)).toContain('secret detail');
  expect(lines[0]?.fields?.requestId).toBe(reply.headers['x-request-id']);
});

test('Retry-After follows from the error', async () => {
  const { call } = await start();
  const reply = await call('POST', '/api/factory/things', { body: { name: 'busy' } });
  expect([reply.status, reply.headers['retry-after']]).toEqual([502, '7']);
});

test('an answer that breaks its schema fails in tests and is logged in production', async () => {
  const strict = await start();
  expect((await strict.call('POST', '/api/v1/things', { body: { name: 'wrong' } })).status).toBe(500);
  const lax = await serve({ routes, owners, answers: 'log' });
  expect((await lax.call('POST', '/api/v1/things', { body: { name: 'wrong' } })).status).toBe(201);
  expect(lax.lines[0]?.message).toContain('contract');
});

test('mounting throws on what a route must not lack', async () => {
  const bad = (change: object) => () =>
    serve({ routes: [bind({ ...getThing, ...change } as never, (() => ({})) as never)], owners });
  await expect(bad({ auth: undefined })).rejects.toThrow('auth is missing');
  await expect(bad({ auth: [] })).rejects.toThrow('auth is missing');
  await expect(bad({ scope: undefined })).rejects.toThrow('scope is missing');
  await expect(bad({ owner: undefined })).rejects.toThrow('owner is missing');
  await expect(bad({ owner: { none: '' } })).rejects.toThrow('needs a reason');
  await expect(bad({ owner: 'collection' })).rejects.toThrow('does not protect :id');
  await expect(bad({ owner: { param: 'id', noun: 'ghost', list: 'GET /ghosts' } })).rejects.toThrow(
    'no owner lookup for "ghost"',
  );
  await expect(bad({ answers: {} })).rejects.toThrow('answers are missing');
  await expect(bad({ params: undefined })).rejects.toThrow('no schema for :id');
  await expect(bad({ idempotent: true })).rejects.toThrow('no store keeps its answers');
  await expect(serve({ routes: [...routes, routes[0]!], owners })).rejects.toThrow('op is used twice');
  const again = bind(defineRoute({ ...getThing, op: 'another' }), () => ({ body: { id: '', lines: null } }));
  await expect(serve({ routes: [...routes, again], owners })).rejects.toThrow(/already declared/);
});

test('an empty body reads as no fields', async () => {
  const { call } = await start();
  expect((await call('POST', '/api/factory/nothing')).status).toBe(200);
  expect((await call('POST', '/api/factory/nothing', { body: {} })).status).toBe(200);
  expect((await call('POST', '/api/factory/nothing', { body: { a: 1 } })).status).toBe(400);
  expect((await call('POST', '/api/factory/things')).json.error.fact).toContain('body.name');
});

test('what an area asks before the scope is asked of those alone who are known and of the right kind', async () => {
  const asked: unknown[] = [];
  const known = (token: string, kind: 'key' | 'user', scopes: readonly 'work'[]): Authenticator => ({
    name: token,
    authenticate: (request) =>
      bearerOf(request) === token ? { kind, userId: 'user_1', scopes: new Set(scopes), via: kind } : null,
  });
  const keys = { ...getThing, auth: ['key'], scope: 'work', owner: { none: 'a test' } } as const;
  const any = { ...keys, op: 'anyThing', path: '/api/factory/any/:id', scope: 'any' } as const;
  const { call } = await serve({
    authenticators: [known('right', 'key', ['work']), known('other', 'key', []), known('person', 'user', [])],
    routes: [keys, any].map((route) => ({
      ...bind(route, ({ params: { id } }) => ({ body: { id, lines: null } })),
      before: (principal, { request, params }) => {
        asked.push([principal.via, request.method, params.id]);
        if (params.id === 'OFF') throw new AppError('not_found', 'It is off.', '');
      },
    })),
  });
  const status = async (path: string, token: string) => (await call('GET', `/api/factory/${path}`, { token })).status;
  expect(await status('things/OFF', 'junk')).toBe(401);
  expect(await status('things/OFF', 'person')).toBe(403);
  expect(asked).toEqual([]);
  expect(await status('things/OFF', 'other')).toBe(404);
  expect(await status('things/OFF', 'right')).toBe(404);
  expect(asked).toEqual([
    ['key', 'GET', 'OFF'],
    ['key', 'GET', 'OFF'],
  ]);
  expect(await status('things/on', 'other')).toBe(403);
  expect(await status('things/on', 'right')).toBe(200);
  expect(await status('any/on', 'other')).toBe(200);
  expect(await status('any/on', 'person')).toBe(403);
});

test('a body that is refused has the code of its field where the route has one', async () => {
  const coded = { ...plainThing, bodyCodes: { name: 'invalid_name', '*': 'invalid_thing' } };
  const { call } = await serve({ routes: [bind(coded, ({ body }) => ({ body }))] });
  const code = async (body: unknown) => (await call('POST', coded.path, { body })).json.error;
  expect(await code({ name: 5 })).toBe('invalid_name');
  expect(await code({ name: 'a', colour: 'red' })).toBe('invalid_thing');
  expect(await code(7)).toBe('invalid_thing');
});

test('what a key, an access token or a bot may not do in front of the link, it may not do behind it', async () => {
  const answer = defineRoute({
    ...nothing,
    op: 'answer',
    path: '/api/factory/answer',
    auth: ['owner', 'link'],
    scope: null,
  });
  const look = defineRoute({ ...nothing, op: 'look', path: '/api/factory/look', auth: ['owner', 'key', 'link'] });
  const link = createLinkAuthenticator(ownerToken);
  const { call } = await serve({
    routes: [answer, look].map((route) => bind(route, () => ({ body: { ok: true } }))),
    authenticators: [link],
  });
  const asked = async (path: string, surface: string) => {
    const headers = { 'x-platform-user-id': 'u', 'x-gantry-surface': surface };
    const { status, json } = await call('POST', path, { headers });
    return [status, json.error?.fact];
  };
  const ok = [200, undefined];
  expect(await asked('/api/factory/answer', 'browser')).toEqual(ok);
  expect(await asked('/api/factory/look', 'key')).toEqual(ok);
  expect(await asked('/api/factory/look', 'oidc')).toEqual(ok);
  expect(await asked('/api/factory/answer', 'key')).toEqual([
    403,
    'An API key is not enough to POST /api/factory/answer.',
  ]);
  expect(await asked('/api/factory/answer', 'oidc')).toEqual([403, 'No access token is enough for this.']);
  expect(await asked('/api/factory/look', 'bot')).toEqual([
    403,
    'A bot’s token is not enough to POST /api/factory/look.',
  ]);
});
