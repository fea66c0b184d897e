/** Keys and servers of models that a person gave in the app. */
import { expect, test } from 'vitest';
import type { ModelPlace } from '../../../src/contracts/factory/model-routes.ts';
import { sharedEngine } from '../factory/engine.ts';

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
