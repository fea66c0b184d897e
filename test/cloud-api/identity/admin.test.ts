import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPair } from '../../host/support.ts';
import { type Call, keepUntilEnd } from '../../kit/http/support.ts';
import { signInAs } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from './support.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let bob: Person;
let admin: Call;
beforeAll(async () => {
  people = await startPeople();
  [ada, bob] = (await Promise.all(
    ['ada', 'bob'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  )) as [Person, Person];
  admin = (method, path, options = {}) =>
    people.call(method, `/api/v1/admin${path}`, { token: people.internalToken, ...options });
});
afterAll(stop);

test('people are listed with what is known of them', async () => {
  const { users } = (await admin('GET', '/users')).json as unknown as { users: Record<string, unknown>[] };
  expect(users).toHaveLength(2);
  expect(users.find(({ id }) => id === ada.id)).toEqual({
    id: ada.id,
    issuer: people.provider.issuer,
    subject: 'ada',
    email: 'ada@example.com',
    name: 'Ada',
    plan: 'free',
    createdAt: expect.any(String),
    disabledAt: null,
  });
  const one = await admin('GET', `/users/${ada.id}`);
  expect(one.json).toMatchObject({ user: { name: 'Ada' }, sessions: 1, keys: 0 });
  expect((await admin('GET', '/users/user_nobody')).status).toBe(404);
});

test('a plan holds at once, and from the next sign-in on as well', async () => {
  expect((await admin('PATCH', `/users/${ada.id}`, { body: { plan: 'super' } })).status).toBe(200);
  expect((await ada.call('GET', '/api/v1/session')).json).toMatchObject({ plan: 'super' });
  await signInAs('ada', people.origin);
  expect((await ada.call('GET', '/api/v1/session')).json).toMatchObject({ plan: 'super' });
  expect((await admin('PATCH', `/users/${ada.id}`, { body: { plan: 'gold' } })).status).toBe(400);
});

test('who is shut out is refused by cookie, key and provider, and comes back by being let in', async () => {
  const made = await bob.call('POST', '/api/v1/keys', { body: { name: 'k', scopes: ['agents:read'] } });
  const { secret } = made.json as unknown as { secret: string };
  const byKey = () => people.call('GET', '/api/factory/approvals', { token: secret });
  expect((await byKey()).status).toBe(200);
  const shut = await admin('PATCH', `/users/${bob.id}`, { body: { disabled: true } });
  expect(shut.json).toMatchObject({ disabledAt: expect.any(String) });
  expect((await byKey()).status).toBe(403);
  const page = await bob.call('GET', '/api/v1/session');
  expect([page.status, page.json.error]).toEqual([403, 'account_disabled']);
  await expect(signInAs('bob', people.origin)).rejects.toThrow('disabled');
  const acting = await people.call('GET', '/api/v1/admin/users', {
    token: people.internalToken,
    headers: { 'x-platform-user-id': bob.id },
  });
  expect(acting.status).toBe(403);
  await admin('PATCH', `/users/${bob.id}`, { body: { disabled: false } });
  expect((await byKey()).status).toBe(200);
  expect((await bob.call('GET', '/api/v1/session')).status).toBe(200);
});

test('projects carry flags and caps, once per id', async () => {
  const body = { id: 'site', userId: ada.id };
  const made = await admin('POST', '/projects', { body });
  expect([made.status, made.json]).toEqual([
    201,
    {
      id: 'site',
      userId: ada.id,
      name: 'site',
      hostedDriverEnabled: false,
      spendCapCents: null,
      createdAt: expect.any(String),
    },
  ]);
  expect((await admin('POST', '/projects', { body })).status).toBe(409);
  expect((await admin('POST', '/projects', { body: { id: 'x', userId: 'user_nobody' } })).status).toBe(404);
  const set = await admin('PATCH', '/projects/site', { body: { hostedDriverEnabled: true, spendCapCents: 500 } });
  expect(set.json).toMatchObject({ hostedDriverEnabled: true, spendCapCents: 500, name: 'site' });
  const uncapped = await admin('PATCH', '/projects/site', { body: { spendCapCents: null } });
  expect(uncapped.json).toMatchObject({ hostedDriverEnabled: true, spendCapCents: null });
  expect((await admin('PATCH', '/projects/none', { body: {} })).status).toBe(404);
  const { projects } = (await admin('GET', '/projects')).json as unknown as { projects: unknown[] };
  expect(projects).toHaveLength(1);
});

test('a price keeps its fractions of a cent', async () => {
  for (const cents of [0.000_001, 1.25, 0, 99_999.999_999]) {
    const set = await admin('PUT', '/prices/computer_minute', { body: { cents } });
    expect(set.json).toMatchObject({ name: 'computer_minute', cents });
  }
  const { prices } = (await admin('GET', '/prices')).json as unknown as { prices: unknown[] };
  expect(prices).toEqual([{ name: 'computer_minute', cents: 99_999.999_999, updatedAt: expect.any(String) }]);
  expect((await admin('PUT', '/prices/Computer-Minute', { body: { cents: 1 } })).status).toBe(404);
  expect((await admin('PUT', '/prices/computer_minute', { body: { cents: -1 } })).status).toBe(400);
});

test('a key with the scope admin administers; who it is of cannot make another', async () => {
  const body = { userId: ada.id, name: 'ops', scopes: ['admin'] };
  const made = await admin('POST', '/keys', { body });
  expect(made.status).toBe(201);
  const { key, secret } = made.json as unknown as { key: { id: string }; secret: string };
  const withKey = (method: string, path: string, body_?: unknown) =>
    people.call(method, `/api/v1/admin${path}`, { token: secret, body: body_ });
  expect((await withKey('GET', '/users')).status).toBe(200);
  const listed = (await withKey('GET', `/keys?user=${ada.id}`)).json as unknown as { keys: Record<string, unknown>[] };
  expect(listed.keys).toEqual([expect.objectContaining({ id: key.id, userId: ada.id, revokedAt: null })]);
  const revoked = await withKey('DELETE', `/keys/${key.id}`);
  expect(revoked.json).toMatchObject({ id: key.id, revokedAt: expect.any(String) });
  expect((await withKey('GET', '/users')).status).toBe(401);
  expect((await admin('DELETE', '/keys/key_none')).status).toBe(404);
});

test('a dry run says what would be, and nothing is', async () => {
  const cases: [string, string, unknown][] = [
    ['PATCH', `/users/${ada.id}`, { plan: 'ultra', disabled: true, dryRun: true }],
    ['POST', '/projects', { id: 'dry', userId: ada.id, dryRun: true }],
    ['PATCH', '/projects/site', { name: 'Other', dryRun: true }],
    ['PUT', '/prices/dry', { cents: 1, dryRun: true }],
    ['POST', '/keys', { userId: ada.id, name: 'dry', scopes: ['work'], dryRun: true }],
  ];
  for (const [method, path, body] of cases) {
    const reply = await admin(method, path, { body });
    expect([path, reply.json]).toEqual([path, { dryRun: true, plan: expect.any(Object) }]);
  }
  expect((await admin('GET', `/users/${ada.id}`)).json).toMatchObject({ user: { plan: 'super', disabledAt: null } });
  expect((await admin('GET', '/projects')).text).not.toMatch(/dry|Other/);
  expect((await admin('GET', '/prices')).text).not.toContain('dry');
  expect((await admin('GET', '/keys')).text).not.toContain('dry');
});

test('administration is for the service token and for keys with the scope: never for a person, never for other keys', async () => {
  const made = await ada.call('POST', '/api/v1/keys', { body: { name: 'wide', scopes: ['agents:read', 'work'] } });
  const { secret } = made.json as unknown as { secret: string };
  for (const [method, path] of [
    ['GET', '/users'],
    ['GET', `/users/${ada.id}`],
    ['GET', '/projects'],
    ['GET', '/prices'],
    ['GET', '/keys'],
  ] as const) {
    expect([path, (await ada.call(method, `/api/v1/admin${path}`)).status]).toEqual([path, 403]);
    expect((await people.call(method, `/api/v1/admin${path}`, { token: secret })).status).toBe(403);
    expect((await people.call(method, `/api/v1/admin${path}`)).status).toBe(401);
  }
});

test('for whom the service token acts counts for it alone, and only when it is somebody', async () => {
  const as = (token: string | null, user: string, cookie?: string) =>
    people.call('GET', '/api/v1/admin/users', {
      token,
      headers: { 'x-platform-user-id': user, ...(cookie === undefined ? {} : { cookie }) },
    });
  expect((await as(people.internalToken, ada.id)).status).toBe(200);
  expect((await as(people.internalToken, 'user_nobody')).status).toBe(403);
  expect((await as(people.internalToken, '')).status).toBe(403);
  // A person may not even say who they are by it.
  const self = await people.call('GET', '/api/v1/session', {
    headers: { cookie: ada.cookie, 'x-platform-user-id': ada.id },
  });
  expect(self.status).toBe(403);
  expect((await as(null, ada.id)).status).toBe(401);
});

test('on one’s own computer the owner administers, with the largest plan from the start', async () => {
  const pair = await startPair({});
  const reply = await pair.callWeb('GET', '/api/v1/admin/users');
  expect(reply.json).toMatchObject({ users: [{ id: 'user_local', issuer: 'local', name: 'Ada', plan: 'ultra' }] });
});
