import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identityMigrations } from '../../../src/cloud-api/identity/migrations.ts';
import { digestOf } from '../../../src/cloud-api/identity/model.ts';
import { createSessionStore } from '../../../src/cloud-api/identity/session-store.ts';
import { createSessions, deviceOf } from '../../../src/cloud-api/identity/sessions.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import { movableClock, scratchHome } from '../../host/support.ts';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import { createPerson, signInAs } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from './support.ts';

const day = 24 * 60 * 60_000;

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let adaToo: Person;
let bob: Person;
beforeAll(async () => {
  people = await startPeople();
  [ada, adaToo, bob] = (await Promise.all(
    ['ada', 'ada', 'bob'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  )) as [Person, Person, Person];
});
afterAll(stop);

interface Listed {
  readonly sessions: { id: string; kind: string; device: string; current: boolean }[];
}
const listOf = async (person: Person) =>
  ((await person.call('GET', '/api/v1/sessions')).json as unknown as Listed).sessions;

test('a person sees where they are signed in, which of it is here, and ends the rest', async () => {
  const before = await listOf(ada);
  expect(before).toHaveLength(2);
  expect(before.filter(({ current }) => current)).toHaveLength(1);
  expect(before[0]).toMatchObject({ kind: 'browser', id: expect.stringMatching(/^session_[0-9A-Z]{26}$/) });
  const other = before.find(({ current }) => !current)!;
  expect((await ada.call('DELETE', `/api/v1/sessions/${other.id}`)).status).toBe(204);
  expect((await adaToo.call('GET', '/api/v1/session')).status).toBe(401);
  expect((await ada.call('GET', '/api/v1/session')).status).toBe(200);
  expect((await ada.call('DELETE', `/api/v1/sessions/${other.id}`)).status).toBe(404);
});

test('sign-ins of another person are not there', async () => {
  const [mine] = await listOf(ada);
  expect((await bob.call('DELETE', `/api/v1/sessions/${mine!.id}`)).status).toBe(404);
  expect((await listOf(bob)).map(({ id }) => id)).not.toContain(mine!.id);
});

test('signing out ends this browser alone and takes the cookie back', async () => {
  const cookie = await signInAs('bob', people.origin);
  const again = await personWith(people, cookie);
  const out = await again.call('DELETE', '/api/v1/session');
  expect(out.status).toBe(204);
  expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
  const after = await again.call('GET', '/api/v1/session');
  expect(after.status).toBe(401);
  expect(String(after.json.message)).toContain(`Sign in at ${people.origin}/login`);
  expect((await bob.call('GET', '/api/v1/session')).status).toBe(200);
});

test('a browser that is signed out from elsewhere takes no more pushes; one that signs in anew keeps them', async () => {
  const browser = createPerson('ivy');
  const enter = async () => {
    await browser.follow(`${people.origin}/login?next=/in`, `${people.origin}/in`);
    return personWith(people, browser.cookies(people.origin));
  };
  const keys = { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: Buffer.alloc(16).toString('base64url') };
  const first = await enter();
  const body = { endpoint: 'https://push.example/ivy', keys };
  expect((await first.call('POST', '/api/v1/push/subscriptions', { body })).status).toBe(201);
  await enter();
  const elsewhere = await personWith(people, await signInAs('ivy', people.origin));
  const devices = async () =>
    ((await elsewhere.call('GET', '/api/v1/push/subscriptions')).json as unknown as { devices: unknown[] }).devices;
  expect(await devices()).toHaveLength(1);
  for (const { id, current } of await listOf(elsewhere)) {
    if (!current) await elsewhere.call('DELETE', `/api/v1/sessions/${id}`);
  }
  await expect.poll(devices).toEqual([]);
});

test('a write with the cookie needs the page’s own header', async () => {
  const bare = await people.call('POST', '/api/v1/keys', {
    headers: { cookie: bob.cookie },
    body: { name: 'x', scopes: ['work'] },
  });
  expect([bare.status, bare.json.error]).toEqual([403, 'csrf']);
});

test('a browser that is not used for a week is signed out, and any after a month', async () => {
  const far = await startPeople();
  const me = await personWith(far, await signInAs('ada', far.origin));
  for (let week = 0; week < 4; week += 1) {
    far.clock.move(6 * day);
    expect((await me.call('GET', '/api/v1/session')).status).toBe(200);
  }
  far.clock.move(6.5 * day);
  expect((await me.call('GET', '/api/v1/session')).status).toBe(401);
});

async function sessionsAlone(file = join(scratchHome(), 'cloud.db')) {
  const clock = movableClock();
  const store = await openStore({ file, migrations: identityMigrations, clock });
  onEnd(() => store.close());
  const ended: string[] = [];
  const sessions = await createSessions({
    store: createSessionStore(shareStore(store), { note: () => answered(undefined) }),
    clock,
    ids: createIds(clock),
    log: { warn() {} },
    kind: 'user',
    cookieName: 'gantry_1',
    signInAgain: 'Sign in.',
    onEnded: (id) => ended.push(id),
  });
  const as = async (secret: string, headers: Record<string, string> = { 'x-gantry-surface': 'cli' }) => {
    const request = { method: 'POST', headers: { authorization: `Bearer ${secret}`, ...headers } };
    const [, home] = sessions.authenticators;
    return home!.authenticate(request as never);
  };
  return { sessions, ended, clock, as };
}

test('a browser that was signed in before there were many people stays so', async () => {
  const file = join(scratchHome(), 'cloud.db');
  const clock = movableClock();
  const before = await openStore({ file, migrations: identityMigrations.slice(0, 1), clock });
  const secret = 'x'.repeat(43);
  await before.write((tx) => {
    const sql = 'INSERT INTO session (digest, user_id, created_at, used_at) VALUES (?, ?, ?, ?)';
    tx.run(sql, digestOf(secret), 'user_local', clock.now(), clock.now());
  });
  await before.close();
  const { sessions } = await sessionsAlone(file);
  const [browser] = sessions.authenticators;
  const request = { method: 'GET', headers: { cookie: `gantry_1=${secret}` } };
  expect(await browser!.authenticate(request as never)).toMatchObject({ userId: 'user_local', via: 'cookie' });
  const [row] = await sessions.list('user_local');
  expect(row?.id).toMatch(/^session_[\w-]{26}$/);
});

test('a paired computer speaks for its person, names the surface, and has no end but its pairing', async () => {
  const { sessions, ended, clock, as } = await sessionsAlone();
  const secret = await sessions.beginHome('user_1', 'computer_1', 'laptop');
  expect(await as(secret)).toMatchObject({ kind: 'user', userId: 'user_1', via: 'home:cli' });
  clock.move(400 * day);
  expect(await as(secret, { 'x-gantry-surface': 'browser' })).toMatchObject({ via: 'home:browser' });
  await expect(as(secret, {})).rejects.toMatchObject({ code: 'refused', status: 401 });
  await expect(as(secret, { 'x-gantry-surface': 'a b' })).rejects.toMatchObject({ status: 401 });
  const [row] = await sessions.list('user_1');
  expect(row).toMatchObject({ kind: 'home', device: 'laptop' });
  await expect(sessions.revoke(row!.id)).rejects.toMatchObject({ options: { status: 409 } });
  await sessions.endHome('computer_1');
  expect(ended).toEqual([row!.id]);
  await expect(as(secret)).rejects.toMatchObject({ status: 401 });
  await sessions.endHome('computer_1');
});

test('pairing a computer anew ends the credential it had', async () => {
  const { sessions, as } = await sessionsAlone();
  const before = await sessions.beginHome('user_1', 'computer_1', 'laptop');
  await as(before);
  const after = await sessions.beginHome('user_2', 'computer_1', 'laptop');
  await expect(as(before)).rejects.toMatchObject({ status: 401 });
  expect(await as(after)).toMatchObject({ userId: 'user_2' });
  expect(await sessions.list('user_1')).toEqual([]);
});

test('a cookie that another port of this host set locks nobody out: each of the name is tried', async () => {
  const { sessions } = await sessionsAlone();
  const good = await sessions.begin('user_1', { headers: {} } as never);
  const [browser] = sessions.authenticators;
  const admit = async (cookie: string) => browser!.authenticate({ method: 'GET', headers: { cookie } } as never);
  expect(await admit(`gantry_1=junk; gantry_1=${good}`)).toMatchObject({ userId: 'user_1', via: 'cookie' });
  expect(await admit(`gantry_1=${good}; gantry_1=junk`)).toMatchObject({ userId: 'user_1' });
  await expect(admit('gantry_1=junk; gantry_1=more')).rejects.toMatchObject({ status: 401 });
  const page = { headers: { cookie: `gantry_1=junk; gantry_1=${good}` } } as never;
  expect(await sessions.pageToken(page)).toBe(
    await sessions.pageToken({ headers: { cookie: `gantry_1=${good}` } } as never),
  );
});

test('a cookie is no credential of a computer, nor the other way round', async () => {
  const { sessions, as } = await sessionsAlone();
  const request = (cookie: string) => ({ method: 'GET', headers: { cookie } }) as never;
  const cookie = await sessions.begin('user_1', { headers: {} } as never);
  const secret = await sessions.beginHome('user_1', 'computer_1');
  const [browser] = sessions.authenticators;
  expect(browser!.authenticate(request(`gantry_1=${cookie}`))).toMatchObject({ via: 'cookie' });
  expect(() => browser!.authenticate(request(`gantry_1=${secret}`))).toThrow('no longer signed in');
  expect(await as(cookie)).toBeNull();
});

test('a browser is named as its person would', () => {
  const cases = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36 Edg/150.0',
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1 (KHTML, like Gecko) Version/19.0 Safari/605.1',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Mobile Safari/604.1',
      'Safari on iOS',
    ],
    ['Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36', 'Chrome on Android'],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/150.0 Safari/537.36', 'Chrome on Linux'],
    ['curl/8', 'Browser'],
    [undefined, 'Browser'],
  ] as const;
  for (const [header, name] of cases) expect(deviceOf(header)).toBe(name);
});
