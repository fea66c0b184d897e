/**
 * The walk over every route of a cloud of many people (`gantry cloud`): every kind of credential meets the table of each route, and
 * a stranger meets everything that somebody else has. `route-walk.test.ts` is the same for one person's computer.
 */
import { createECDH, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PrincipalKind, type RouteScope, type Scope, scopes } from '../../src/contracts/common/route.ts';
import type { PairingGrant } from '../../src/contracts/link/pairings.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { signedHeaders, signingKey } from '../../src/kit/signing/signature.ts';
import { type People, type Person, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { type CallOptions, keepUntilEnd, onEnd, type Reply, steadyCaller } from '../kit/http/support.ts';
import { accessTokenOf, signInAs } from '../support/oidc-provider.ts';
import { startSimulator } from '../support/phone/simulator.ts';

interface Row {
  readonly op: string;
  readonly method: string;
  readonly path: string;
  readonly auth: readonly PrincipalKind[];
  readonly scope: RouteScope;
  readonly owner: unknown;
}
const walk: readonly Row[] = serverTables.find(({ name }) => name === 'cloud')!.routes;
const closed = walk.filter(({ auth }) => !auth.includes('public'));
/** The guard stands before all routes, and `route-walk.test.ts` walks them all: here those that only a cloud serves. */
const ofTheCloud = closed.filter(({ path }) => !path.startsWith('/api/factory/'));

/** One way of being known, with what the table must know of it. */
interface Credential {
  readonly name: string;
  readonly kind: PrincipalKind;
  readonly scopes: readonly Scope[];
  /** Rights are counted in scopes: what takes a person is never among them. */
  readonly counted: boolean;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
}

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let bob: Person;
let grant: PairingGrant;
let credentials: Credential[];
beforeAll(async () => {
  const { sim, ...simulated } = await startSimulator();
  onEnd(async () => simulated[Symbol.asyncDispose]());
  const { apiKey, publicKey, url } = sim;
  const phone = { carrier: 'simulator', connectionId: '1', webhookUrl: null, apiKey, publicKey, url } as const;
  const started = await startPeople({ settings: { phone } });
  people = { ...started, call: steadyCaller(started.port, null) };
  [ada, bob] = (await Promise.all(
    ['ada', 'bob'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  )) as [Person, Person];
  // A project without hosted computers is refused before scopes are checked, so every caller would get the same answer.
  const shop = { id: 'shop', userId: ada.id, hostedDriverEnabled: true };
  await people.call('POST', '/api/v1/admin/projects', { token: people.internalToken, body: shop });
  grant = await pairComputer(ada);
  credentials = await everyCredential();
});
afterAll(stop);

/** A computer of that person, which is away: nothing that is passed on to it hangs. */
async function pairComputer(person: Person): Promise<PairingGrant> {
  const computerId = `computer_${'A'.repeat(26)}`;
  const begun = await people.call('POST', '/api/v1/pairings', { body: { computerId, name: 'desk', version: '1' } });
  const { deviceCode, userCode } = begun.json as unknown as { deviceCode: string; userCode: string };
  expect((await person.call('POST', `/api/v1/pairings/${userCode}/approve`)).status).toBe(200);
  const reply = await people.call('POST', '/api/v1/pairings/token', { body: { deviceCode } });
  return reply.json as unknown as PairingGrant;
}

const signed = (method: string, path: string, body?: unknown) => {
  const text = body === undefined ? '' : JSON.stringify(body);
  const signer = { runtimeId: grant.computerId, key: signingKey(grant.deviceToken), now: () => people.clock.now() };
  const headers = signedHeaders(signer, { method, path, body: Buffer.from(text) });
  // A moment on: a request that is signed twice in one second is refused the second time.
  people.clock.move(1000);
  return people.call(method, path, { headers, ...(text === '' ? {} : { raw: text }) });
};

async function everyCredential(): Promise<Credential[]> {
  const bearer = (token: string, headers: Record<string, string> = {}): Credential['call'] => {
    return (method, path, body) => people.call(method, path, { token, headers, body });
  };
  const keyOf = async (scope: Scope): Promise<Credential> => {
    const made = await people.call('POST', '/api/v1/admin/keys', {
      token: people.internalToken,
      body: { userId: ada.id, name: `only ${scope.replace(':', ' ')}`, scopes: [scope] },
    });
    const { secret } = made.json as unknown as { secret: string };
    return { name: `key with ${scope}`, kind: 'key', scopes: [scope], counted: true, call: bearer(secret) };
  };
  const { accessToken } = await accessTokenOf('ada', {
    issuer: people.provider.issuer,
    resource: people.origin,
    scope: 'bots:act compute',
  });
  const internal = { kind: 'internal', scopes, counted: false } as const;
  return [
    {
      name: 'cookie',
      kind: 'user',
      scopes,
      counted: false,
      call: (method, path, body) => ada.call(method, path, { body }),
    },
    {
      name: 'paired computer’s own server',
      kind: 'user',
      scopes,
      counted: false,
      call: bearer(grant.homeCredential, { 'x-gantry-surface': 'cli' }),
    },
    {
      name: 'access token',
      kind: 'user',
      scopes: ['bots:act', 'compute'],
      counted: true,
      call: bearer(accessToken),
    },
    ...(await Promise.all(scopes.map(keyOf))),
    { name: 'service token', ...internal, call: bearer(people.internalToken) },
    {
      name: 'service token for somebody',
      ...internal,
      call: bearer(people.internalToken, { 'x-platform-user-id': ada.id }),
    },
    { name: 'device', kind: 'device', scopes: [], counted: false, call: signed },
  ];
}

const pathOf = ({ path }: Row, id = 'nothing_1') =>
  path
    .replace(/:event\b/, 'Stop')
    .replace(/:\w+/g, id)
    .replace('*', 'x');

/** What a caller is told whom the table does not let in. */
const refusal = /is not enough to [A-Z]+ \/|lacks the scope|is enough for this/;
/** These end the credential that calls them; they have tests of their own. */
const ends = new Set(['endSession', 'unpairDevice', 'rotateDevice']);
/** These answer for ever whoever is let in; the same. */
const endless = new Set(['streamTasks', 'streamTasksV1']);

/** They take tokens of their own alone. */
const takesOwnTokens = new Set(['mcpServer', 'edgeAgents', 'edgeBot']);

test.each(closed)('$op: who is let in is who the table names, with the scope it names', async (route) => {
  for (const credential of credentials) {
    const { name, kind, counted } = credential;
    const mayCall =
      route.auth.includes(kind) &&
      (route.scope === null ? !counted : route.scope === 'any' || credential.scopes.includes(route.scope));
    if (mayCall && (ends.has(route.op) || endless.has(route.op))) continue;
    const path = pathOf(route);
    // Where a peer is reached by a device, its signature is not the credential: queries cannot be signed.
    if (kind === 'device' && route.auth.includes('device') && route.scope !== null) continue;
    if (name === 'access token' && takesOwnTokens.has(route.op)) continue;
    const reply = await credential.call(route.method, path);
    const refused = reply.status === 401 || (reply.status === 403 && refusal.test(reply.text));
    expect([name, reply.text.slice(0, 200), refused]).toEqual([name, reply.text.slice(0, 200), !mayCall]);
    expect(reply.status).not.toBe(500);
    if (!mayCall) expect([name, reply.status]).toEqual([name, 403]);
  }
});

test.each(closed)('$op: nobody, junk, and what is no credential here are refused', async (route) => {
  const path = pathOf(route);
  const tries: CallOptions[] = [
    {},
    { token: 'junk' },
    { token: `${people.internalToken}x` },
    { token: grant.deviceToken },
    { token: grant.homeCredential },
    { headers: { cookie: `gantry_${people.port}=${grant.homeCredential}` } },
    { headers: { 'x-platform-user-id': ada.id } },
    { headers: { 'x-platform-runtime-id': grant.computerId } },
  ];
  for (const [index, options] of tries.entries()) {
    const reply = await people.call(route.method, path, options);
    // The budget for bad credentials is spent on the way: from then on 429.
    expect([index, reply.status === 401 || reply.status === 429]).toEqual([index, true]);
  }
  const inQuery = await people.call(route.method, `${path}?token=${people.internalToken}`);
  expect([401, 429]).toContain(inQuery.status);
  const writes = route.method !== 'GET' && route.auth.includes('user');
  if (!writes) return;
  const bare = await people.call(route.method, path, { headers: { cookie: ada.cookie } });
  expect([bare.status, bare.text]).toEqual([403, expect.stringContaining('x-platform-csrf')]);
});

test.each(ofTheCloud)('$op: another Host, another page and another site are refused', async (route) => {
  const path = pathOf(route);
  const status = async (headers: Record<string, string>) => (await ada.call(route.method, path, { headers })).status;
  expect(await status({ host: `localhost:${people.port}` })).toBe(421);
  expect(await status({ host: 'evil.example' })).toBe(421);
  expect(await status({ origin: 'http://evil.example' })).toBe(403);
  expect(await status({ origin: 'null' })).toBe(403);
  expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  const led = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect(await status(led)).toBe(403);
});

/** Something of Ada's for each noun that the cloud itself keeps. */
async function thingsOfAda(): Promise<Record<string, string>> {
  const first = async (path: string, list: string) => {
    const reply = await ada.call('GET', path);
    return (reply.json as unknown as Record<string, { id: string }[]>)[list]![0]!.id;
  };
  const times = { requestedAt: new Date(people.clock.now()).toISOString(), expiresAt: '2099-01-01T00:00:00.000Z' };
  const question = { kind: 'tool_call', title: 'x', summary: 'x', risk: 'low', source: 'gate', agentId: null };
  const approval = await signed('PUT', '/api/v1/runtime/approvals/apr_of_ada', {
    ...question,
    ...times,
    engineId: 'engine_1',
    ledgerId: '1',
  });
  expect(approval.status).toBe(200);
  const subscriber = createECDH('prime256v1');
  const subscribed = await ada.call('POST', '/api/v1/push/subscriptions', {
    body: {
      endpoint: 'https://push.example/of-ada',
      keys: {
        p256dh: subscriber.generateKeys().toString('base64url'),
        auth: randomBytes(16).toString('base64url'),
      },
    },
  });
  expect([subscribed.status, subscribed.text]).toEqual([201, expect.anything()]);
  const plus = { token: people.internalToken, body: { plan: 'plus' } };
  expect((await people.call('PATCH', `/api/v1/admin/users/${ada.id}`, plus)).status).toBe(200);
  const bought = await ada.call('POST', '/api/v1/phone/numbers', {
    body: { e164: '+19705550150', runtimeId: grant.computerId, botId: 'bot_1' },
  });
  expect([bought.status, bought.text]).toEqual([201, expect.anything()]);
  return {
    session: await first('/api/v1/sessions', 'sessions'),
    key: await first('/api/v1/keys', 'keys'),
    computer: grant.computerId,
    approval: 'apr_of_ada',
    device: await first('/api/v1/push/subscriptions', 'devices'),
    phoneNumber: await first('/api/v1/phone/numbers', 'numbers'),
  };
}

const bodies: Record<string, unknown> = {
  resolveApproval: { decision: 'approve' },
  updateComputer: { name: 'mine' },
  movePhoneNumber: { botId: 'bot_of_bob' },
  correctPhonePort: { details: {} },
  submitPhoneRegistration: {},
  recordPhoneConsent: { e164: '+12025550123', source: 'x', evidence: 'x' },
  addPhoneOptOut: { e164: '+12025550123', evidence: 'x' },
};

test('what is somebody else’s is not there, and does not differ from what is nobody’s', async () => {
  const things = await thingsOfAda();
  const asked: string[] = [];
  for (const route of closed) {
    const { owner } = route;
    if (typeof owner !== 'object' || owner === null || !('noun' in owner)) continue;
    const id = things[String(owner.noun)];
    if (id === undefined || !route.auth.includes('user')) continue;
    asked.push(route.op);
    const ask = (which: string) => bob.call(route.method, pathOf(route, which), { body: bodies[route.op] });
    const [foreign, unknown] = [await ask(id), await ask('nothing_1')];
    expect([route.op, foreign.status]).toEqual([route.op, 404]);
    expect(foreign.text.replaceAll(id, '<id>')).toBe(unknown.text.replaceAll('nothing_1', '<id>'));
  }
  // Each of these names something that one person has.
  expect(asked).toEqual(
    expect.arrayContaining([
      'revokeSession',
      'revokeKey',
      'resolveApproval',
      'updateComputer',
      'revokeComputer',
      'releasePhoneNumber',
    ]),
  );
  for (const path of [
    '/api/v1/sessions',
    '/api/v1/keys',
    '/api/v1/computers',
    '/api/factory/approvals',
    '/api/v1/push/subscriptions',
    '/api/v1/phone/numbers',
  ]) {
    const text = (await bob.call('GET', path)).text;
    for (const id of Object.values(things)) expect([path, text.includes(id)]).toEqual([path, false]);
  }
});

test('no route of the factory leads a stranger to somebody else’s computer, however it is named', async () => {
  const passed = closed.filter(({ path, auth }) => path.startsWith('/api/factory/') && auth.includes('user'));
  expect(passed.length).toBeGreaterThan(80);
  for (const route of passed) {
    if (route.path.startsWith('/api/factory/approvals')) continue;
    const path = pathOf(route);
    for (const named of [grant.computerId, grant.cloudId]) {
      const byHeader = await bob.call(route.method, path, { headers: { 'x-gantry-computer': named } });
      const byQuery = await bob.call(route.method, `${path}?computer=${named}`);
      expect([route.op, byHeader.status, byQuery.status]).toEqual([route.op, 404, 404]);
    }
    // Its own person is told that it is away.
    const own = await ada.call(route.method, path, { headers: { 'x-gantry-computer': grant.computerId } });
    expect([route.op, own.status]).toEqual([route.op, 502]);
  }
});

test('a person who is shut out is refused on every route of the cloud, with whatever they hold', async () => {
  const shut = (disabled: boolean) =>
    people.call('PATCH', `/api/v1/admin/users/${ada.id}`, { token: people.internalToken, body: { disabled } });
  await shut(true);
  for (const route of ofTheCloud) {
    for (const { name, kind, call } of credentials) {
      if (kind === 'internal') continue;
      const reply = await call(route.method, pathOf(route));
      expect([route.op, name, [401, 403, 429].includes(reply.status)]).toEqual([route.op, name, true]);
    }
  }
  await shut(false);
  expect((await ada.call('GET', '/api/v1/session')).status).toBe(200);
});
