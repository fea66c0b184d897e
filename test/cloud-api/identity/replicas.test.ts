/** Two replicas of one cloud on one PostgreSQL: whoever is let in at one is let in at the other, and out again. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placesIn } from '../../../src/host/places.ts';
import { scratchHome } from '../../host/support.ts';
import { type Call, keepUntilEnd } from '../../kit/http/support.ts';
import { createPerson, signInAs } from '../../support/oidc-provider.ts';
import { postgres } from '../../support/postgres.ts';
import { type People, personWith, startPeople } from './support.ts';

const stop = keepUntilEnd();

describe.skipIf(postgres === null)('on PostgreSQL', () => {
  let url = '';
  let first: People;
  /** The other replica, as the proxy in front of both calls it. */
  let atSecond: Call;
  beforeAll(async () => {
    url = await postgres!.schema();
    const settings = { databaseUrl: url };
    first = await startPeople({ settings });
    const home = scratchHome();
    mkdirSync(home, { recursive: true });
    for (const file of ['masterKey', 'internalToken'] as const) {
      copyFileSync(placesIn(first.home)[file], placesIn(home)[file]);
    }
    const second = await startPeople({ home, settings, baseUrl: first.origin, provider: first.provider });
    const host = new URL(first.origin).host;
    atSecond = (method, path, options = {}) =>
      second.call(method, path, { ...options, headers: { host, ...options.headers } });
  });
  afterAll(stop);

  test('one with another master key or internal token is refused, and told what to copy', async () => {
    const settings = { databaseUrl: url };
    const start = startPeople({ settings, baseUrl: first.origin, provider: first.provider });
    await expect(start).rejects.toMatchObject({ code: 'refused', action: expect.stringContaining('master.key') });
  });

  const signIn = async (name: string) => personWith(first, await signInAs(name, first.origin));

  test('a sign-in at one is good at the other, until it ends', async () => {
    const ada = await signIn('ada');
    const session = () => atSecond('GET', '/api/v1/session', { headers: { cookie: ada.cookie } });
    expect((await session()).json).toMatchObject({ user: ada.id });
    expect((await ada.call('DELETE', '/api/v1/session')).status).toBe(204);
    await expect.poll(async () => (await session()).status).toBe(401);
  });

  test('a browser that signs in anew keeps its pushes at both, until it is signed out at the other', async () => {
    const browser = createPerson('ivy');
    const enter = async () => {
      await browser.follow(`${first.origin}/login?next=/in`, `${first.origin}/in`);
      return personWith(first, browser.cookies(first.origin));
    };
    const before = await enter();
    const old = () => atSecond('GET', '/api/v1/session', { headers: { cookie: before.cookie } });
    expect((await old()).status).toBe(200);
    const keys = { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: Buffer.alloc(16).toString('base64url') };
    const body = { endpoint: 'https://push.example/ivy', keys };
    expect((await before.call('POST', '/api/v1/push/subscriptions', { body })).status).toBe(201);
    const after = await enter();
    await expect.poll(async () => (await old()).status).toBe(401);
    const elsewhere = await signIn('ivy');
    const devices = async () =>
      ((await elsewhere.call('GET', '/api/v1/push/subscriptions')).json as unknown as { devices: unknown[] }).devices;
    expect(await devices()).toHaveLength(1);
    const headers = {
      cookie: after.cookie,
      'x-platform-csrf': String((await after.call('GET', '/api/v1/session')).json.csrf),
    };
    expect((await atSecond('DELETE', '/api/v1/session', { headers })).status).toBe(204);
    await expect.poll(devices).toEqual([]);
  });

  test('a key is good at both until it is revoked at either', async () => {
    const bob = await signIn('bob');
    const made = await bob.call('POST', '/api/v1/keys', { body: { name: 'ci', scopes: ['compute'] } });
    const { key, secret } = made.json as never as { key: { id: string }; secret: string };
    const read = (call: Call) => call('GET', '/api/v1/notifications', { token: secret });
    expect((await read(first.call)).status).toBe(200);
    expect((await read(atSecond)).status).toBe(200);
    const headers = {
      cookie: bob.cookie,
      'x-platform-csrf': String((await bob.call('GET', '/api/v1/session')).json.csrf),
    };
    expect((await atSecond('DELETE', `/api/v1/keys/${key.id}`, { headers })).status).toBe(204);
    await expect.poll(async () => (await read(first.call)).status).toBe(401);
  });

  test('a person who is shut out at one is shut out at the other, and let in again', async () => {
    const cid = await signIn('cid');
    const me = () => atSecond('GET', '/api/v1/notifications', { headers: { cookie: cid.cookie } });
    expect((await me()).status).toBe(200);
    const change = (disabled: boolean) =>
      first.call('PATCH', `/api/v1/admin/users/${cid.id}`, { token: first.internalToken, body: { disabled } });
    expect((await change(true)).status).toBe(200);
    await expect.poll(async () => (await me()).status).toBe(403);
    expect((await change(false)).status).toBe(200);
    await expect.poll(async () => (await me()).status).toBe(200);
  });
});
