import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placesIn } from '../../../src/host/places.ts';
import { keepUntilEnd, rawRequest } from '../../kit/http/support.ts';
import { freePort } from '../../support/free-port.ts';
import { createPerson, signInAs } from '../../support/oidc-provider.ts';
import { type People, personWith, startPeople } from './support.ts';

const stop = keepUntilEnd();
let people: People;
beforeAll(async () => {
  people = await startPeople();
});
afterAll(stop);

test('a person signs in at the provider and is known by name, with the smallest plan', async () => {
  const ada = await personWith(people, await signInAs('ada', people.origin));
  const me = await ada.call('GET', '/api/v1/session');
  expect(me.json).toEqual({
    user: expect.stringMatching(/^user_[0-9A-Z]{26}$/),
    name: 'Ada',
    plan: 'free',
    mode: 'headless',
    via: 'cookie',
    computer: null,
    version: expect.any(String),
    csrf: expect.stringMatching(/^[\w-]{43}$/),
  });
});

test('the same person is the same user each time; another is another', async () => {
  const [once, again, other] = await Promise.all(
    ['bob', 'bob', 'cid'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  );
  expect(once?.id).toBe(again?.id);
  expect(once?.cookie).not.toBe(again?.cookie);
  expect(other?.id).not.toBe(once?.id);
});

test('the sign-in leads to the path that was asked for, and to no other site', async () => {
  const person = createPerson('dot');
  const end = await person.follow(`${people.origin}/login?next=/bots%3Fteam=demo`, `${people.origin}/bots`);
  expect(end).toBe(`${people.origin}/bots?team=demo`);
  for (const next of ['//evil.example', 'https://evil.example/', '/\\evil.example', 'javascript:alert(1)']) {
    const dot = createPerson('dot');
    const start = `${people.origin}/login?next=${encodeURIComponent(next)}`;
    const back = await dot.follow(start, `${people.origin}/login/callback`);
    const response = await dot.ask(back);
    expect([next, response.status, response.headers.get('location')]).toEqual([next, 303, '/']);
  }
});

test('what travels through the browser is bound by PKCE, state and nonce, and the secret of them only in a cookie', async () => {
  const begun = await fetch(`${people.origin}/login`, { redirect: 'manual' });
  const to = new URL(begun.headers.get('location')!);
  expect(begun.status).toBe(303);
  expect(begun.headers.get('referrer-policy')).toBe('no-referrer');
  expect(Object.fromEntries(to.searchParams)).toMatchObject({
    response_type: 'code',
    scope: 'openid profile email',
    code_challenge_method: 'S256',
    redirect_uri: `${people.origin}/login/callback`,
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
  });
  const [cookie] = begun.headers.getSetCookie();
  expect(cookie).toMatch(/^gantry_\d+_login=[\w-]{43}\.Lw; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  for (const name of ['state', 'nonce', 'code_challenge']) expect(cookie).not.toContain(to.searchParams.get(name));
});

/** Follows a sign-in up to the provider's way back, without taking it. */
async function backOf(name: string): Promise<{ back: URL; cookie: string }> {
  const person = createPerson(name);
  const back = await person.follow(`${people.origin}/login`, `${people.origin}/login/callback`);
  return { back: new URL(back), cookie: person.cookies(people.origin) };
}
const take = (back: URL, cookie: string) =>
  people.call('GET', back.pathname + back.search, { headers: cookie === '' ? {} : { cookie } });

test('a way back that was tampered with signs nobody in and says what is wrong', async () => {
  const { back, cookie } = await backOf('eve');
  const changed = (name: string, value: string) => {
    const url = new URL(back);
    url.searchParams.set(name, value);
    return url;
  };
  const other = await backOf('eve');
  const cases: [URL, string, number, string][] = [
    [back, '', 400, 'This sign-in was not started here'],
    [back, other.cookie, 400, 'cannot be trusted'],
    [changed('state', 'x'.repeat(43)), cookie, 400, 'cannot be trusted'],
    [changed('iss', 'https://evil.example'), cookie, 400, 'cannot be trusted'],
    [changed('code', 'guessed'), cookie, 502, 'The provider refused this sign-in'],
    [new URL(`${people.origin}/login/callback`), cookie, 400, 'cannot be trusted'],
  ];
  for (const [url, with_, status, says] of cases) {
    const reply = await take(url, with_);
    expect([says, reply.status]).toEqual([says, status]);
    expect(reply.text).toContain(says);
    expect(reply.text).toContain('<a href="/login">Sign in again</a>');
    expect(reply.headers['content-security-policy']).toContain("default-src 'none'");
    // Only the cookie of the attempt is taken back: nobody is signed in.
    expect(reply.headers['set-cookie']?.map((line) => line.split('=')[0])).toEqual([`gantry_${people.port}_login`]);
  }
});

test('what the provider says against a sign-in is shown as text, never as a page of its own', async () => {
  const { cookie, back } = await backOf('fay');
  const url = new URL(`${people.origin}/login/callback`);
  url.search = new URLSearchParams({
    error: 'access_denied',
    error_description: '<script>alert(1)</script>',
    state: back.searchParams.get('state')!,
    iss: people.provider.issuer,
  }).toString();
  const reply = await take(url, cookie);
  expect(reply.status).toBe(403);
  expect(reply.text).toContain('access_denied');
  expect(reply.text).not.toContain('<script>');
});

test('a code of the provider signs in once', async () => {
  const { back, cookie } = await backOf('gus');
  expect((await take(back, cookie)).status).toBe(303);
  expect((await take(back, cookie)).status).toBe(502);
});

test('a new sign-in of one browser ends the session that it had', async () => {
  const person = createPerson('hal');
  await person.follow(`${people.origin}/login`, `${people.origin}/login/callback`).then((url) => person.ask(url));
  const first = person.cookies(people.origin);
  expect((await people.call('GET', '/api/v1/session', { headers: { cookie: first } })).status).toBe(200);
  await person.follow(`${people.origin}/login`, `${people.origin}/login/callback`).then((url) => person.ask(url));
  const second = person.cookies(people.origin);
  expect(second).not.toBe(first);
  expect((await people.call('GET', '/api/v1/session', { headers: { cookie: first } })).status).toBe(401);
  expect((await people.call('GET', '/api/v1/session', { headers: { cookie: second } })).status).toBe(200);
});

test('a cloud of many people has no one-time addresses: a page says where one signs in', async () => {
  const reply = await people.call('GET', '/open?t=x');
  expect(reply.status).toBe(404);
  expect(reply.text).toContain('<a href="/login">');
});

test('while the provider is away, the page says so', async () => {
  const port = await freePort();
  const away = await startPeople({
    settings: { oidc: { issuer: `http://127.0.0.1:${port}`, clientId: 'gantry', clientSecret: null } },
  });
  const reply = await away.call('GET', '/login');
  expect(reply.status).toBe(502);
  expect(reply.text).toContain(`http://127.0.0.1:${port} cannot be reached`);
});

test('behind a proxy only the public address is served, and its cookies are bound to it', async () => {
  const behind = await startPeople({ baseUrl: 'https://gantry.example', provider: people.provider });
  const host = { host: 'gantry.example' };
  const begun = await behind.call('GET', '/login', { headers: host });
  expect(begun.status).toBe(303);
  expect(begun.headers['set-cookie']?.[0]).toMatch(/^__Host-gantry_login=.*; Path=\/; HttpOnly; .*; Secure$/);
  expect(new URL(begun.headers.location!).searchParams.get('redirect_uri')).toBe(
    'https://gantry.example/login/callback',
  );
  for (const other of [
    `127.0.0.1:${behind.port}`,
    'gantry.example:443',
    'evil.example',
    'gantry.example.evil.example',
  ]) {
    expect([other, (await behind.call('GET', '/login', { headers: { host: other } })).status]).toEqual([other, 421]);
  }
  const two = await rawRequest(
    behind.port,
    'GET /login HTTP/1.1\r\nHost: gantry.example\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
  );
  expect(two).toMatch(/^HTTP\/1\.1 (400|421) /);
  const page = await behind.call('GET', '/api/v1/session', { headers: { ...host, origin: 'http://gantry.example' } });
  expect(page.status).toBe(403);
});

test('another site may lead a person to a page and back from the provider, and to nothing else', async () => {
  const from = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const status = async (path: string, headers: Record<string, string>) =>
    (await people.call('GET', path, { headers })).status;
  expect(await status('/login', from)).toBe(303);
  expect(await status('/login/callback', from)).toBe(400);
  expect(await status('/bots', from)).not.toBe(403);
  expect(await status('/api/v1/session', from)).toBe(403);
  expect(await status('/login', { ...from, 'sec-fetch-dest': 'iframe' })).toBe(403);
  expect(await status('/login', { ...from, 'sec-fetch-mode': 'no-cors' })).toBe(403);
});

test('sessions and what a sign-in needs on its way are nowhere in the data folder', async () => {
  const cookie = await signInAs('ida', people.origin);
  const places = placesIn(people.home);
  const bytes = Buffer.concat([readFileSync(places.cloudDb), readFileSync(`${places.cloudDb}-wal`)]);
  expect(bytes.includes('sign_in')).toBe(true);
  for (const pair of cookie.split('; ')) {
    const value = pair.slice(pair.indexOf('=') + 1);
    if (value.length >= 40) expect(bytes.includes(value)).toBe(false);
  }
});
