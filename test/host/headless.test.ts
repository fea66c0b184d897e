import { existsSync, statSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCloudSettings } from '../../src/host/cloud-settings.ts';
import { placesIn } from '../../src/host/places.ts';
import { type People, startPeople } from '../cloud-api/identity/support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { computersOf, pairUp, signIn, startInstallation } from './paired-support.ts';

const stop = keepUntilEnd();
let people: People;
beforeAll(async () => {
  people = await startPeople();
});
afterAll(stop);

test('a cloud of many is nobody’s computer: it has a service token, and no owner', () => {
  const places = placesIn(people.home);
  for (const file of [places.internalToken, places.masterKey]) expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const file of [places.token, places.computer, places.runtimeDb]) expect(existsSync(file)).toBe(false);
});

test('a second one in the same folder is refused, and says where the first one is', async () => {
  await expect(startPeople({ home: people.home, provider: people.provider })).rejects.toMatchObject({
    code: 'refused',
    fact: expect.stringContaining(people.origin),
  });
});

test('a taken address stops the start before anything is left behind', async () => {
  const before = startPeople({ port: people.port, provider: people.provider });
  await expect(before).rejects.toMatchObject({
    code: 'transport',
    fact: expect.stringContaining(`${people.port} is taken`),
  });
});

test('failed credentials count for whom the proxy names, not for the proxy', async () => {
  const behind = await startPeople({
    baseUrl: 'https://gantry.example',
    provider: people.provider,
    settings: { trustedProxies: ['127.0.0.1'] },
  });
  const ask = async (client: string) => {
    const headers = { host: 'gantry.example', 'x-forwarded-for': client };
    return (await behind.call('GET', '/api/v1/session', { token: 'junk', headers })).status;
  };
  for (let attempt = 0; attempt < 20; attempt += 1) expect(await ask('198.51.100.1')).toBe(401);
  expect(await ask('198.51.100.1')).toBe(429);
  // Another address before it is a claim of the client, and changes nothing.
  expect(await ask('203.0.113.5, 198.51.100.1')).toBe(429);
  expect(await ask('198.51.100.2')).toBe(401);
});

test('a cloud holds each caller to the event streams that its environment names', async () => {
  const provider = people.provider;
  const env = {
    GANTRY_OIDC_ISSUER: provider.issuer,
    GANTRY_OIDC_CLIENT_ID: provider.clientId,
    GANTRY_BASE_URL: 'https://gantry.example',
    GANTRY_EVENT_STREAMS: '1',
  };
  expect(() => readCloudSettings({ ...env, GANTRY_EVENT_STREAMS: '0' })).toThrow(
    expect.objectContaining({ code: 'usage', fact: 'GANTRY_EVENT_STREAMS is "0".' }),
  );
  const { eventStreams } = readCloudSettings(env);
  const one = await startPeople({ settings: { eventStreams: eventStreams ?? null } });
  const ada = await signIn(one);
  const open = () => fetch(`${one.origin}/beta/work/events`, { headers: { cookie: ada.cookie } });
  const first = await open();
  expect([first.status, (await open()).status]).toEqual([200, 429]);
  await first.body?.cancel();
});

test('shutting a person out ends their streams and the link of their computer, and letting them in brings it back', async () => {
  const installation = await startInstallation();
  const ada = await signIn(people);
  await pairUp(installation, people, ada);
  const stream = await fetch(`${people.origin}/api/factory/events`, { headers: { cookie: ada.cookie } });
  expect(stream.status).toBe(200);
  const ended = stream.text().catch(() => 'cut');
  const linked = async () => (await installation.pairing()).link?.linked;
  const admin = (disabled: boolean) =>
    people.call('PATCH', `/api/v1/admin/users/${ada.id}`, { token: people.internalToken, body: { disabled } });

  await admin(true);
  await ended;
  await expect.poll(linked).toBe(false);
  const listed = await people.call('GET', '/api/v1/admin/users', { token: people.internalToken });
  expect(listed.json).toMatchObject({ users: [{ id: ada.id, disabledAt: expect.any(String) }] });

  await admin(false);
  await expect.poll(linked, { timeout: 45_000 }).toBe(true);
  await expect.poll(() => computersOf(ada)).toMatchObject([{ state: 'linked' }]);
}, 90_000);

test('closing lets the folder go', async () => {
  const one = await startPeople({ provider: people.provider });
  await one.cloud.close();
  await one.cloud.close();
  expect(existsSync(placesIn(one.home).holder)).toBe(false);
  const again = await startPeople({ provider: people.provider, home: one.home });
  expect(again.internalToken).toBe(one.internalToken);
});
