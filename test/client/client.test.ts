import { expect, test } from 'vitest';
import { createClient, type Fetch } from '../../src/client/client.ts';
import { AppError } from '../../src/contracts/common/errors.ts';
import { factoryRoutes } from '../../src/contracts/factory/routes.ts';
import { demoRoutes } from '../../src/contracts/phone/demo.ts';

interface Seen {
  url: string;
  init: RequestInit;
}

function answering(response: () => Response): { fetch: Fetch; seen: Seen[] } {
  const seen: Seen[] = [];
  return {
    seen,
    fetch: async (url, init = {}) => {
      seen.push({ url, init });
      return response();
    },
  };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

test('a call fills path, query and body as the route declares and sends the token', async () => {
  const { fetch, seen } = answering(json(200, { text: 'x', at: 'now' }));
  const client = createClient(factoryRoutes, { baseUrl: 'http://127.0.0.1:1/', token: 'secret', fetch });
  await client.captureAgent({ params: { id: 'web@dev' }, query: { lines: 5 } });
  expect(seen[0]?.url).toBe('http://127.0.0.1:1/api/factory/agents/web%40dev/capture?lines=5');
  expect(seen[0]?.init.headers).toMatchObject({ authorization: 'Bearer secret', accept: 'application/json' });
  expect(seen[0]?.init.body).toBeUndefined();
});

test('a parameter may have digits in its name, and each character of its value is kept', async () => {
  const { fetch, seen } = answering(json(200, {}));
  const client = createClient(demoRoutes, { baseUrl: 'http://127.0.0.1:1', fetch });
  await client.callFromDemoHandset({ params: { e164: '+12025550123' }, body: { to: '+12025550100' } });
  expect(seen[0]?.url).toBe('http://127.0.0.1:1/api/v1/phone/demo/handsets/%2B12025550123/call');
});

test('a write of a cookie session carries the csrf header, a read does not', async () => {
  const { fetch, seen } = answering(json(200, { ok: true }));
  const client = createClient(factoryRoutes, { fetch, csrf: () => 'c1' });
  await client.agentInput({ params: { id: 'a' }, body: { keys: ['Enter'] } });
  await client.getAgent({ params: { id: 'a' } });
  expect(seen.map((one) => (one.init.headers as Record<string, string>)['x-platform-csrf'])).toEqual(['c1', undefined]);
  expect(seen[0]?.url).toBe('/api/factory/agents/a/input');
});

test('an idempotency key goes into its header', async () => {
  const { fetch, seen } = answering(json(201, {}));
  const client = createClient(factoryRoutes, { fetch });
  await client.createThread({ body: { title: 't' } }, { idempotencyKey: 'k1' });
  expect(seen[0]?.init.headers).toMatchObject({ 'idempotency-key': 'k1', 'content-type': 'application/json' });
});

async function failure(response: () => Response): Promise<AppError> {
  const client = createClient(factoryRoutes, { baseUrl: 'http://h', fetch: answering(response).fetch });
  const error: unknown = await client.listTeams().then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof AppError)) throw new Error('no AppError');
  return error;
}

test('an error of the factory keeps code, fact, action, status and request id', async () => {
  const error = await failure(
    json(
      409,
      { error: { code: 'refused', fact: 'F.', action: 'A.' }, approval: { id: 'x' } },
      { 'x-request-id': 'r1' },
    ),
  );
  expect(error).toMatchObject({ code: 'refused', fact: 'F.', action: 'A.', status: 409 });
  expect(error.options.extra).toMatchObject({ approval: { id: 'x' }, requestId: 'r1' });
});

test('an error of another area becomes the code of its status', async () => {
  expect(await failure(json(404, { error: 'no_such', message: 'M.' }))).toMatchObject({
    code: 'not_found',
    fact: 'M.',
  });
  expect(await failure(json(503, { error: 'computer_unavailable', message: 'M.' }))).toMatchObject({
    code: 'transport',
  });
});

test('a page that is not JSON is an error by its status, never a crash', async () => {
  expect(await failure(() => new Response('<html>', { status: 502 }))).toMatchObject({ code: 'transport' });
  expect(await failure(() => new Response('<html>', { status: 200 }))).toMatchObject({ code: 'transport' });
});

test('nobody answering is transport and says where', async () => {
  const client = createClient(factoryRoutes, {
    baseUrl: 'http://127.0.0.1:9',
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  });
  await expect(client.listTeams()).rejects.toMatchObject({
    code: 'transport',
    fact: 'Nobody answers at http://127.0.0.1:9.',
  });
});

test('a missing path parameter is refused before anything is sent', async () => {
  const { fetch, seen } = answering(json(200, {}));
  await expect(createClient(factoryRoutes, { fetch }).getAgent({ params: { id: '' } })).rejects.toMatchObject({
    code: 'usage',
  });
  expect(seen).toEqual([]);
});
