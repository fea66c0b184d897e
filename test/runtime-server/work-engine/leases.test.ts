import { expect, test } from 'vitest';
import type { Lease } from '../../../src/contracts/factory/work-engine/leases.ts';
import { waitFor } from '../engine.ts';
import { type Bot, twoBots } from './two-bots.ts';

const bots = twoBots();
const claim = (body: unknown, bot?: Bot, headers?: Record<string, string>) =>
  bots.call<Lease & { error?: { fact: string } }>('POST', '/leases', body, bot, headers);
const release = (id: string, bot?: Bot) => bots.call('DELETE', `/leases/${id}`, undefined, bot);
const list = async () => (await bots.call<{ leases: Lease[] }>('GET', '/leases')).body.leases;

test('a name has one holder; who comes second is told who holds it, until when and why', async () => {
  const { a, b } = bots;
  const first = await claim({ name: 'deploy', note: 'shipping 1.2' }, a);
  expect(first.status).toBe(201);
  const second = await claim({ name: 'deploy' }, b);
  expect(second.status).toBe(409);
  expect(second.body.error?.fact).toContain(`held by ${a.address} until ${first.body.expiresAt} (shipping 1.2)`);
  const again = await claim({ name: 'deploy', ttlSeconds: 1000 }, a);
  expect(again).toMatchObject({ status: 200, body: { id: first.body.id, fence: first.body.fence } });
  expect(again.body.expiresAt > first.body.expiresAt).toBe(true);
  expect((await release(first.body.id, b)).status).toBe(403);
  expect((await release(first.body.id, a)).status).toBe(200);
  expect((await release(first.body.id, a)).status).toBe(404);
  const next = await claim({ name: 'deploy' }, b);
  expect(next.body.fence).toBeGreaterThan(first.body.fence);
  // The person ends anybody's.
  expect((await release(next.body.id)).status).toBe(200);
});

test('fifty claims at once of one name have one winner', async () => {
  const { a, b } = bots;
  const tries = await Promise.all(Array.from({ length: 50 }, (_, n) => claim({ name: 'race' }, n % 2 === 0 ? a : b)));
  const created = tries.filter((one) => one.status === 201);
  expect(created).toHaveLength(1);
  const holder = created[0]?.body.holder;
  expect(tries.filter((one) => one.status < 300).every((one) => one.body.holder === holder)).toBe(true);
});

test('a path holds what lies in it, however it is written; neighbours are free', async () => {
  const { a, b } = bots;
  expect((await claim({ path: 'src/api/' }, a)).body.key).toBe('src/api');
  for (const path of ['src/api/x.ts', './src/../src/api', 'src', '.', `${bots.engine.workspace}/src/api/deep/er`]) {
    expect([path, (await claim({ path }, b)).status]).toEqual([path, 409]);
  }
  for (const path of ['src/api2', 'src/ap', 'docs']) {
    expect([path, (await claim({ path }, b)).status]).toEqual([path, 201]);
  }
  expect((await claim({ name: 'src/api' }, b)).status).toBe(201);
  expect((await claim({ path: 'src/api/mine' }, a)).status).toBe(201);
  for (const path of ['../elsewhere', '/etc/passwd', 'src/../../x']) {
    expect([path, (await claim({ path }, b)).status]).toEqual([path, 400]);
  }
});

test('a lease that ran out is free for others, and renewing it is refused', async () => {
  const { a, b } = bots;
  const short = (await claim({ name: 'short', ttlSeconds: 1 }, a)).body;
  const kept = (await claim({ name: 'kept', ttlSeconds: 1 }, a)).body;
  const renew = (id: string, bot: Bot) => bots.call<Lease>('POST', `/leases/${id}/renew`, { ttlSeconds: 600 }, bot);
  expect((await renew(kept.id, b)).status).toBe(403);
  expect((await renew(kept.id, a)).body.expiresAt > kept.expiresAt).toBe(true);
  const others = await waitFor(
    () => claim({ name: 'short' }, b),
    ({ status }) => status === 201,
  );
  expect(others.body.fence).toBeGreaterThan(short.fence);
  expect((await renew(short.id, a)).status).toBe(404);
  expect((await list()).map((one) => one.key)).toContain('kept');
});

test('a repeated key claims once, a dry run claims nothing, and leases outlive the runtime', async () => {
  const { a, b } = bots;
  const key = { 'idempotency-key': 'lease-1' };
  const [one, two] = [await claim({ name: 'keyed' }, a, key), await claim({ name: 'keyed' }, a, key)];
  expect([two.status, two.body]).toEqual([201, one.body]);
  const dry = await claim({ name: 'dry', dryRun: true }, a);
  expect(dry.body).toMatchObject({ dryRun: true, plan: { holder: a.address, records: ['lease.claimed'] } });
  expect((await claim({ name: 'keyed', dryRun: true }, b)).status).toBe(409);
  expect((await bots.call('DELETE', `/leases/${one.body.id}?dryRun=1`, undefined, a)).status).toBe(200);
  expect((await list()).map((lease) => lease.key)).not.toContain('dry');
  await bots.engine.restart();
  expect(await list()).toContainEqual(one.body);
  const types = (await bots.engine.ledger.query({ subject: `lease:${one.body.id}`, order: 'ascending', limit: 9 })).map(
    (row) => row.type,
  );
  expect(types).toEqual(['lease.claimed']);
});

test.each([
  ['neither path nor name', {}],
  ['both', { path: 'a', name: 'b' }],
  ['no time', { name: 'a', ttlSeconds: 0 }],
  ['more than a day', { name: 'a', ttlSeconds: 86_401 }],
])('%s is refused', async (_name, body) => {
  expect((await claim(body)).status).toBe(400);
});
