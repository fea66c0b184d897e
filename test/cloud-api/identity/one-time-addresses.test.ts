import { expect, test } from 'vitest';
import { localPath } from '../../../src/cloud-api/identity/model.ts';
import { movableClock, scratchHome, signIn, startPair } from '../../host/support.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

test('a one-time address sets a cookie no page can read and leads to the web interface', async () => {
  const pair = await startPair({});
  const { url, expiresAt } = await pair.web.openUrl();
  expect(url.startsWith(`http://127.0.0.1:${pair.webPort}/open?t=`)).toBe(true);
  expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now() + 9 * minute);
  const reply = await pair.callWeb('GET', url.slice(pair.web.origin.length), { token: null });
  expect([reply.status, reply.headers.location]).toEqual([303, '/']);
  const cookie = reply.headers['set-cookie']?.[0] ?? '';
  expect(cookie).toMatch(
    new RegExp(`^gantry_${pair.webPort}=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=\\d+$`),
  );
  expect(reply.headers['referrer-policy']).toBe('no-referrer');

  const me = await pair.callWeb('GET', '/api/v1/session', { token: null, headers: { cookie: cookie.split(';')[0]! } });
  expect(me.json).toMatchObject({ user: 'user_local', name: 'Ada', via: 'cookie', computer: pair.computer });
});

test('of many who open one address at once, exactly one gets in', async () => {
  const pair = await startPair({});
  const { url } = await pair.web.openUrl();
  const path = url.slice(pair.web.origin.length);
  const replies = await Promise.all(Array.from({ length: 20 }, () => pair.callWeb('GET', path, { token: null })));
  expect(replies.filter((reply) => reply.status === 303)).toHaveLength(1);
  expect(replies.filter((reply) => reply.status === 410)).toHaveLength(19);
  expect(replies.filter((reply) => reply.headers['set-cookie'] !== undefined)).toHaveLength(1);
});

test('a spent, old, wrong or missing code answers a page that says how to get a new address', async () => {
  const clock = movableClock();
  const pair = await startPair({ clock });
  const { url } = await pair.web.openUrl();
  clock.move(11 * minute);
  for (const path of [url.slice(pair.web.origin.length), '/open?t=wrong', '/open']) {
    const reply = await pair.callWeb('GET', path, { token: null });
    expect([path, reply.status]).toEqual([path, 410]);
    expect(reply.headers['content-type']).toContain('text/html');
    expect(reply.text).toContain('press Enter in the terminal');
    expect(reply.text).toContain('gantry open');
    expect(reply.headers['content-security-policy']).toContain("default-src 'none'");
    expect(reply.headers['set-cookie']).toBeUndefined();
  }
});

test('opening the address again in a browser that is signed in simply leads on', async () => {
  const pair = await startPair({});
  const { url } = await pair.web.openUrl('/bots?team=demo');
  const path = url.slice(pair.web.origin.length);
  const first = await pair.callWeb('GET', path, { token: null });
  const cookie = first.headers['set-cookie']![0]!.split(';')[0]!;
  const again = await pair.callWeb('GET', path, { token: null, headers: { cookie } });
  expect([again.status, again.headers.location]).toEqual([303, '/bots?team=demo']);
});

test('next leads only to a path of this server', () => {
  for (const [given, path] of [
    ['/bots?x=1#y', '/bots?x=1#y'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
    // What is left of these once dots are resolved would be another host.
    ['/.//evil.example', '/'],
    ['/a/..//evil.example', '/'],
    ['/%2e//evil.example', '/'],
    ['/a\r\nset-cookie: x', '/'],
    ['', '/'],
    [undefined, '/'],
  ] as const) {
    expect(localPath(given)).toBe(path);
  }
});

test('codes and sessions are kept only as hashes', async () => {
  const home = scratchHome();
  const pair = await startPair({ home });
  const { url } = await pair.web.openUrl();
  const cookie = await signIn(pair);
  await pair.close();
  const { readFileSync } = await import('node:fs');
  const bytes = readFileSync(pair.places.cloudDb);
  expect(bytes.includes('session')).toBe(true);
  expect(bytes.includes(url.split('t=')[1]!)).toBe(false);
  expect(bytes.includes(cookie.split('=')[1]!)).toBe(false);
});

test('a write with the cookie needs the page’s own header; the token of the file does not', async () => {
  const pair = await startPair({});
  const cookie = await signIn(pair);
  const me = await pair.callWeb('GET', '/api/v1/session', { token: null, headers: { cookie } });
  const create = (headers: Record<string, string>, token: string | null = null) =>
    pair.callWeb('POST', '/api/v1/open-codes', { token, headers, body: {} });
  expect((await create({ cookie })).status).toBe(403);
  expect((await create({ cookie, 'x-platform-csrf': 'wrong' })).status).toBe(403);
  expect((await create({ cookie, 'x-platform-csrf': String(me.json.csrf) })).status).toBe(201);
  expect((await create({}, pair.ownerToken)).status).toBe(201);
});

test('signing out ends the session at once and removes the cookie', async () => {
  const pair = await startPair({});
  const cookie = await signIn(pair);
  const me = await pair.callWeb('GET', '/api/v1/session', { token: null, headers: { cookie } });
  const headers = { cookie, 'x-platform-csrf': String(me.json.csrf) };
  const out = await pair.callWeb('DELETE', '/api/v1/session', { token: null, headers });
  expect(out.status).toBe(204);
  expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
  const after = await pair.callWeb('GET', '/api/v1/session', { token: null, headers: { cookie } });
  expect([after.status, after.json.error]).toEqual([401, 'unauthorized']);
  expect(String(after.json.message)).toContain('press Enter in the terminal'.replace('press', 'Press'));
});

test('a session outlives a restart and ends after a week unused or a month in any case', async () => {
  const home = scratchHome();
  const clock = movableClock();
  const first = await startPair({ home, clock });
  const cookie = await signIn(first);
  const value = cookie.split('=')[1];
  await first.close();

  const second = await startPair({ home, clock });
  const ask = () =>
    second.callWeb('GET', '/api/v1/session', {
      token: null,
      headers: { cookie: `gantry_${second.webPort}=${value}` },
    });
  expect((await ask()).status).toBe(200);
  for (let week = 0; week < 4; week += 1) {
    clock.move(6 * day);
    expect((await ask()).status).toBe(200);
  }
  clock.move(7 * day);
  expect((await ask()).status).toBe(401);
  expect((await ask()).status).toBe(401);
});

test('a cookie of another port is no credential here', async () => {
  const pair = await startPair({});
  const cookie = await signIn(pair);
  const other = cookie.replace(/^gantry_\d+/, 'gantry_1');
  expect((await pair.callWeb('GET', '/api/v1/session', { token: null, headers: { cookie: other } })).status).toBe(401);
});
