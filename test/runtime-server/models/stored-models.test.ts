/** Keys and servers of models that a person gave in the app. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { ModelPlace } from '../../../src/contracts/factory/model-routes.ts';
import { sharedEngine } from '../engine.ts';

const shared = sharedEngine({
  models: { endpoints: { desk: { wire: 'openai', baseUrl: 'http://127.0.0.1:8001/v1' } } },
});
const secret = 'sk-not-a-real-key-0123456789';

const call = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  shared.current.call<T>(method, path, body);
const place = async (name: string) =>
  (await call<{ places: ModelPlace[] }>('GET', '/models')).body.places.find((one) => one.name === name);

test('a kept key is used from then on, sealed in the database, and in no answer, row or log of the ledger', async () => {
  expect(await place('google')).toMatchObject({ key: 'missing', from: 'vendor' });
  const kept = await call('PUT', '/models/google', { key: secret });
  expect(kept).toMatchObject({ status: 200, body: { applied: true, place: { name: 'google', key: 'kept' } } });
  expect(await place('google')).toMatchObject({ key: 'kept' });
  const { store } = shared.current;
  const row = await store.read((tx) =>
    tx.get<{ key_sealed: string }>("SELECT * FROM model_place WHERE name = 'google'"),
  );
  expect(row?.key_sealed).toMatch(/^v1/);
  const ledger = await store.read((tx) => tx.all('SELECT * FROM ledger'));
  for (const told of [kept, await call('GET', '/models'), await call('GET', '/doctor'), row, ledger]) {
    expect(JSON.stringify(told)).not.toContain(secret);
  }
});

test('it is there after a restart, and gone once it is forgotten', async () => {
  await shared.current.restart();
  expect(await place('google')).toMatchObject({ key: 'kept' });
  expect(await call('DELETE', '/models/google')).toMatchObject({ status: 200 });
  expect(await place('google')).toMatchObject({ key: 'missing' });
  expect(await call('DELETE', '/models/google')).toMatchObject({ status: 404 });
});

test('a server of one’s own needs an address and may want no key; what is only tried out is not kept', async () => {
  expect(await call('PUT', '/models/ollama', {})).toMatchObject({ status: 400 });
  const given = { baseUrl: 'http://127.0.0.1:11434/v1' };
  expect(await call('PUT', '/models/ollama', { ...given, dryRun: true })).toMatchObject({ body: { applied: false } });
  expect(await place('ollama')).toBeUndefined();
  expect(await call('PUT', '/models/ollama', given)).toMatchObject({
    body: { place: { name: 'ollama', where: '127.0.0.1:11434', key: 'not_needed', from: 'kept' } },
  });
});

test('no address for a vendor, no change of what settings.json says', async () => {
  expect(await call('PUT', '/models/openai', { key: secret, baseUrl: 'http://127.0.0.1:1' })).toMatchObject({
    status: 400,
  });
  expect(await call('PUT', '/models/desk', { baseUrl: 'http://127.0.0.1:1' })).toMatchObject({ status: 409 });
  expect(await place('desk')).toMatchObject({ from: 'settings.json', where: '127.0.0.1:8001' });
});

test.each([
  ['a name and a password', 'http://me:hunter22secret@127.0.0.1:11434/v1', 'enter the secret as the key'],
  ['a token as a name', 'http://hunter22secret@127.0.0.1:11434/v1', 'enter the secret as the key'],
  ['a query', 'http://127.0.0.1:11434/v1?key=hunter22secret', 'enter a secret as the key'],
  ['no scheme', 'localhost:11434/hunter22secret', 'Write an address such as http://127.0.0.1:11434/v1'],
])('an address with %s is refused, said once, and not repeated', async (_what, baseUrl, words) => {
  const answer = await call<{ error: { fact: string } }>('PUT', '/models/leaky', { baseUrl });
  expect(answer.status).toBe(400);
  expect(answer.body.error.fact.split('body.baseUrl')).toHaveLength(2);
  expect(answer.body.error.fact).toContain(words);
  expect(JSON.stringify(answer.body)).not.toContain('hunter22secret');
  expect(await place('leaky')).toBeUndefined();
});

/** The address of a server that answers so, until the test is over. */
async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
interface Checked {
  readonly applied: boolean;
  readonly heard: { readonly ok: boolean; readonly words: string } | null;
}
const check = (baseUrl: string, rest: object = {}) =>
  call<Checked>('PUT', '/models/asked', { baseUrl, check: true, ...rest });

test('a server is asked for its models before it is kept, with its key', async () => {
  const asked: unknown[] = [];
  const origin = await serving((request, response) => {
    asked.push([request.method, request.url, request.headers.authorization]);
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'qwen3-coder' }, { id: 'llama' }] }));
  });
  const kept = await check(`${origin}/v1/`, { key: secret });
  expect(kept.body).toMatchObject({
    applied: true,
    heard: { ok: true, words: `${origin.slice(7)} answers and has 2 models, such as qwen3-coder.` },
  });
  expect(asked).toEqual([['GET', '/v1/models', `Bearer ${secret}`]]);
  expect(await place('asked')).toMatchObject({ key: 'kept' });
  expect(await call('DELETE', '/models/asked')).toMatchObject({ status: 200 });
});

test.each<[string, RequestListener, string, object]>([
  ['a page', (_, response) => response.end('<html>'), 'answers, but not with a list of models. Correct', {}],
  ['null', (_, response) => response.end('null'), 'answers, but not with a list of models. Correct', {}],
  ['not found', (_, response) => response.writeHead(404).end(), 'has no list of models here (404). Correct', {}],
  [
    'another address',
    (_, response) => response.writeHead(302, { location: '/v1/models?again' }).end(),
    'has no list of models here (302)',
    {},
  ],
  ['a wish for a key', (_, response) => response.writeHead(401).end(), 'needs a key (401). Enter its key.', {}],
  ['a no to the key', (_, response) => response.writeHead(403).end(), 'refuses this key (403)', { key: secret }],
  ['nothing but a hang-up', (request) => request.socket.destroy(), 'does not answer: it closed the connection', {}],
])('a server that answers with %s is not kept, and what it said is told', async (_what, answer, words, rest) => {
  const { status, body } = await check(`${await serving(answer)}/v1`, rest);
  expect(status).toBe(200);
  expect(body).toMatchObject({ applied: false, heard: { ok: false } });
  expect(body.heard?.words).toContain(words);
  expect(JSON.stringify(body)).not.toContain(secret);
  expect(await place('asked')).toBeUndefined();
});

test('where nothing listens it says so, and whoever wants it kept all the same keeps it unasked', async () => {
  const gone = { baseUrl: 'http://127.0.0.1:1/v1' };
  expect((await check(gone.baseUrl)).body.heard?.words).toBe(
    '127.0.0.1:1 does not answer: nothing listens there. Start the server, or correct the address.',
  );
  expect(await place('asked')).toBeUndefined();
  expect((await call('PUT', '/models/asked', gone)).body).toMatchObject({ applied: true, heard: null });
  expect(await place('asked')).toMatchObject({ where: '127.0.0.1:1' });
});
