import { randomBytes } from 'node:crypto';
import { auth, type OAuthClientInformation, type OAuthTokens } from '@ai-sdk/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startEventsApp } from '../events-app.ts';
import type { DeliveryFault } from './faults.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { type IssueTracker, startIssueTracker } from './tracker.ts';

const retries = [5, 10];
let offset = 0;
let tracker: IssueTracker;
let receiver: Receiver;
beforeAll(async () => {
  tracker = await startIssueTracker({
    now: () => Date.now() + offset,
    apiKeys: { 'key-of-ada': 'ada', 'key-of-bob': 'bob' },
    limits: { retries },
  });
  receiver = await startReceiver();
});
afterAll(async () => {
  await tracker.close();
  await receiver.close();
});
afterEach(() => {
  tracker.faults.behave();
  tracker.subscriptions.expireAll();
  receiver.answerWith(undefined);
  offset = 0;
});

let asked = 0;
async function rpc(method: string, params: object = {}, key = 'key-of-ada') {
  asked += 1;
  const answer = await fetch(tracker.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: asked, method, params }),
  });
  return { status: answer.status, body: await answer.json() };
}
const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
interface Wish {
  readonly project: string;
  readonly secret?: string;
  readonly cursor?: string | null;
  readonly name?: string;
  readonly more?: object;
}
async function subscribe({ project, secret = newSecret(), cursor, name = 'issue.opened', more = {} }: Wish) {
  const { body } = await rpc('events/subscribe', {
    name,
    arguments: { project },
    delivery: { mode: 'webhook', url: receiver.url, secret },
    ...(cursor === undefined ? {} : { cursor }),
    ...more,
  });
  return { secret, error: body.error, ...body.result };
}
/** Events that came for this subscription and hold before the oracle, as their bodies. */
function events(subscription: { id: string; secret: string }) {
  return receiver.received
    .filter(({ headers, body }) => headers['x-mcp-subscription-id'] === subscription.id && !body.includes('"type"'))
    .filter(({ headers, body }) => holds(subscription.secret, headers, body))
    .map(({ body }) => JSON.parse(body));
}
function holds(secret: string, headers: object, body: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
const titles = (subscription: { id: string; secret: string }) =>
  events(subscription).map(({ data }) => data.issue.title);

test('a client of the SDK signs in, lists what there is and opens an issue, in either era', async () => {
  for (const version of [undefined, '2025-11-25']) {
    const client = new Client(
      { name: 'test', version: '1' },
      version === undefined ? { versionNegotiation: { mode: 'auto' } } : {},
    );
    await client.connect(
      new StreamableHTTPClientTransport(new URL(tracker.url), {
        requestInit: { headers: { authorization: 'Bearer key-of-ada' } },
      }),
    );
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['close_issue', 'comment_issue', 'create_issue', 'list_issues']);
    const made = await client.callTool({ name: 'create_issue', arguments: { project: 'sdk', title: 'From a client' } });
    expect(made.structuredContent).toMatchObject({ issue: { project: 'sdk', author: 'ada' } });
    const wrong = await client.callTool({ name: 'create_issue', arguments: { project: 7 } });
    expect(wrong.isError).toBe(true);
    await client.close();
  }
});

/** A program without a browser: the person signs in at the address it prints, and it keeps the tokens it gets. */
function program() {
  const kept: { tokens?: OAuthTokens; client?: OAuthClientInformation; verifier: string; at: string } = {
    verifier: '',
    at: '',
  };
  const provider = {
    redirectUrl: 'http://127.0.0.1:1/back',
    clientMetadata: { redirect_uris: ['http://127.0.0.1:1/back'], client_name: 'A program' },
    tokens: () => kept.tokens,
    saveTokens: (tokens: OAuthTokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url: URL) => void Object.assign(kept, { at: url.href }),
    saveCodeVerifier: (verifier: string) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
    clientInformation: () => kept.client,
    saveClientInformation: (client: OAuthClientInformation) => void Object.assign(kept, { client }),
    isClientInformationDynamicallyRegistered: () => true,
  };
  async function signIn(user: string, decision = 'allow') {
    await auth(provider, { serverUrl: tracker.url });
    const page = await (await fetch(kept.at)).text();
    const form = new URLSearchParams(
      [...page.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value.replaceAll('&amp;', '&'),
      ]),
    );
    form.set('user', user);
    form.set('decision', decision);
    const back = await fetch(`${tracker.origin}/oauth/authorize`, { method: 'POST', body: form, redirect: 'manual' });
    const to = new URL(back.headers.get('location') ?? '');
    const code = to.searchParams.get('code');
    if (code === null) return to.searchParams.get('error');
    await auth(provider, {
      serverUrl: tracker.url,
      authorizationCode: code,
      callbackIssuer: to.searchParams.get('iss') ?? '',
    });
    return kept.tokens;
  }
  return { provider, signIn, clientId: () => kept.client?.client_id ?? '' };
}

test('a program signs its person in, gets events as its library checks them, and is told when its grant is gone', async () => {
  const { provider, signIn } = program();
  expect(await signIn('eve', 'deny')).toBe('access_denied');
  expect(await signIn('eve')).toMatchObject({ token_type: 'Bearer' });
  const app = await startEventsApp();
  const client = await app.connect({ url: tracker.url, authProvider: provider });
  const { events: offered } = await client.experimental_events.list();
  expect(offered.map(({ name }) => name)).toEqual(['issue.closed', 'issue.commented']);
  await client.experimental_events.subscribe({
    name: 'issue.opened',
    arguments: { project: 'oauth' },
    delivery: { mode: 'webhook', url: app.callback, allowInsecureLocalhost: true },
  });
  tracker.issues.open({ project: 'oauth', title: 'For a library' });
  await expect.poll(() => app.events.length).toBe(1);
  expect(app.events[0]?.data).toMatchObject({ issue: { title: 'For a library' } });
  tracker.revokeGrants();
  await expect.poll(() => app.ended).toMatchObject([{ error: { code: -32012 } }]);
  expect(tracker.subscriptions.list()).toEqual([]);
  await client.close();
  await app.close();
});

test('a refresh token is good once, and used twice it ends the grant; revoking one ends it too', async () => {
  const person = program();
  const first = (await person.signIn('ann')) as OAuthTokens;
  const refresh = async (token: string) => {
    const form = {
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: person.clientId(),
      resource: tracker.url,
    };
    const answer = await fetch(`${tracker.origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
    return (await answer.json()) as OAuthTokens & { error?: string };
  };
  const second = await refresh(first.refresh_token ?? '');
  expect((await rpc('ping', {}, second.access_token)).status).toBe(200);
  expect(await refresh(first.refresh_token ?? '')).toEqual({ error: 'invalid_grant' });
  expect((await rpc('ping', {}, second.access_token)).status).toBe(401);
  const again = (await program().signIn('ann')) as OAuthTokens;
  expect((await rpc('ping', {}, again.access_token)).status).toBe(200);
  const token = again.refresh_token ?? '';
  await fetch(`${tracker.origin}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token }) });
  expect((await rpc('ping', {}, again.access_token)).status).toBe(401);
});

test('who shows nothing is told where to sign in', async () => {
  const answer = await fetch(tracker.url, { method: 'POST', body: 'not json' });
  expect(answer.status).toBe(401);
  expect(answer.headers.get('www-authenticate')).toContain(
    `resource_metadata="${tracker.origin}/.well-known/oauth-protected-resource/mcp"`,
  );
});

test('events come in order, each signed, each with a cursor, and only those that were asked for', async () => {
  const subscription = await subscribe({ project: 'order' });
  expect(subscription).toMatchObject({ id: expect.stringMatching(/^sub_[0-9a-f]{24}$/), truncated: false });
  for (const title of ['one', 'two', 'three']) {
    tracker.issues.open({ project: 'order', title });
    tracker.issues.open({ project: 'another', title });
  }
  await expect.poll(() => titles(subscription)).toEqual(['one', 'two', 'three']);
  const [first] = events(subscription);
  const from = receiver.received.find(({ body }) => body.includes(first.eventId));
  expect(from?.headers['webhook-id']).toBe(first.eventId);
});

test('what a receiver does not take is sent again with the same id, until it is taken, final, or given up', async () => {
  const subscription = await subscribe({ project: 'retry' });
  let left = 2;
  receiver.answerWith(() => ({ status: left-- > 0 ? 503 : 200 }));
  tracker.issues.open({ project: 'retry', title: 'patience' });
  await expect.poll(() => titles(subscription)).toEqual(['patience', 'patience', 'patience']);
  expect(new Set(events(subscription).map(({ eventId }) => eventId)).size).toBe(1);
  receiver.answerWith(({ body }) => ({ status: body.includes('gone') ? 410 : 200 }));
  tracker.issues.open({ project: 'retry', title: 'gone' });
  tracker.issues.open({ project: 'retry', title: 'after' });
  await expect.poll(() => titles(subscription).slice(3)).toEqual(['gone', 'after']);
  receiver.answerWith(() => ({ status: 500 }));
  tracker.issues.open({ project: 'retry', title: 'lost' });
  await expect.poll(() => tracker.subscriptions.list()[0]?.gaveUp).toBe(1);
  receiver.answerWith(undefined);
  await subscribe({ project: 'retry', secret: subscription.secret, cursor: subscription.cursor });
  await expect.poll(() => titles(subscription).filter((title) => title === 'lost').length).toBe(retries.length + 2);
});

test('who comes back with a cursor gets what was missed, and is told where some of it is gone', async () => {
  const before = await subscribe({ project: 'replay' });
  tracker.subscriptions.expireAll();
  tracker.issues.open({ project: 'replay', title: 'missed' });
  const back = await subscribe({ project: 'replay', cursor: before.cursor });
  expect(back).toMatchObject({ id: before.id, truncated: false });
  await expect.poll(() => titles(back)).toEqual(['missed']);
  tracker.subscriptions.expireAll();
  tracker.issues.open({ project: 'replay', title: 'gone for good' });
  tracker.issues.forget();
  const late = await subscribe({ project: 'replay', cursor: back.cursor });
  expect(late.truncated).toBe(true);
});

test('two secrets sign for an hour after a change, then the new one alone', async () => {
  const old = await subscribe({ project: 'rotation' });
  const fresh = await subscribe({ project: 'rotation' });
  tracker.issues.open({ project: 'rotation', title: 'both' });
  await expect.poll(() => titles(fresh)).toEqual(['both']);
  expect(titles({ ...old, id: fresh.id })).toEqual(['both']);
  offset = 3_600_001;
  tracker.issues.open({ project: 'rotation', title: 'new' });
  await expect.poll(() => receiver.received.at(-1)?.body).toContain('"new"');
  const last = receiver.received.at(-1);
  expect(last?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
});

test('the time a subscription has is bounded, and after it nothing is sent', async () => {
  const day = 86_400_000;
  const near = (text: string, ms: number) => expect(Math.abs(Date.parse(text) - Date.now() - ms)).toBeLessThan(60_000);
  near((await subscribe({ project: 'ttl' })).refreshBefore, day);
  near((await subscribe({ project: 'ttl', more: { ttlMs: null } })).refreshBefore, 7 * day);
  near((await subscribe({ project: 'ttl', more: { ttlMs: 99 * day } })).refreshBefore, 7 * day);
  near((await subscribe({ project: 'ttl', more: { ttlMs: 1 } })).refreshBefore, 60_000);
  offset = 60_001;
  tracker.issues.open({ project: 'ttl', title: 'too late' });
  await expect.poll(() => tracker.subscriptions.list()).toEqual([]);
});

test('a receiver that does not say the challenge back gets nothing', async () => {
  tracker.subscriptions.forgetVerified();
  receiver.answerWith(() => ({ status: 200, body: '{"challenge":"guess"}' }));
  expect((await subscribe({ project: 'echo' })).error).toMatchObject({
    code: -32015,
    data: { reason: 'challenge_failed' },
  });
  receiver.answerWith(undefined);
  expect((await subscribe({ project: 'echo' })).error).toBeUndefined();
});

test('what cannot be subscribed to is refused with its own code', async () => {
  const codes = async (wish: object) => (await rpc('events/subscribe', wish)).body.error?.code;
  const delivery = { mode: 'webhook', url: receiver.url, secret: newSecret() };
  const right = { name: 'issue.opened', arguments: { project: 'a' }, delivery };
  expect(await codes({ ...right, name: 'issue.exploded' })).toBe(-32011);
  expect(await codes({ ...right, arguments: { project: 'a', nosuch: 1 } })).toBe(-32602);
  expect(await codes({ ...right, delivery: { ...delivery, mode: 'push' } })).toBe(-32014);
  expect(await codes({ ...right, delivery: { ...delivery, url: 'http://example.com/hook' } })).toBe(-32602);
  expect(await codes({ ...right, delivery: { ...delivery, secret: 'whsec_c2hvcnQ=' } })).toBe(-32602);
  expect(await codes({ ...right, cursor: '!' })).toBe(-32602);
});

test.each<[DeliveryFault, (sent: { headers: Record<string, unknown>; body: string }) => boolean]>([
  ['stale', ({ headers }) => Number(headers['webhook-timestamp']) < Date.now() / 1_000 - 299],
  ['from_the_future', ({ headers }) => Number(headers['webhook-timestamp']) > Date.now() / 1_000 + 299],
  ['unsigned', ({ headers }) => headers['webhook-signature'] === undefined],
  ['oversize', ({ body }) => body.length > 262_144],
  ['wrong_name', ({ body }) => body.includes('issue.exploded')],
  ['wrong_id', ({ headers, body }) => !body.includes(String(headers['webhook-id']))],
  ['bad_data', ({ body }) => body.includes('seven')],
  ['bad_time', ({ body }) => body.includes('yesterday')],
  ['wrong_signature', ({ body }) => body.includes('armed')],
  ['reserialised', ({ body }) => body.includes('\n')],
])('an attempt that is armed to be %s is, and the one after it is right', async (fault, shows) => {
  const subscription = await subscribe({ project: `armed-${fault}` });
  const from = receiver.received.length;
  let wrong = 1;
  receiver.answerWith(() => ({ status: wrong-- > 0 ? 400 : 200 }));
  tracker.faults.deliverWith(fault);
  tracker.issues.open({ project: `armed-${fault}`, title: 'armed' });
  await expect.poll(() => receiver.received.length).toBe(from + 2);
  const [first, second] = receiver.received.slice(from);
  if (first === undefined || second === undefined) throw new Error('two attempts came');
  expect(shows(first)).toBe(true);
  const broken = ['wrong_signature', 'reserialised', 'unsigned', 'stale', 'from_the_future'].includes(fault);
  expect(holds(subscription.secret, first.headers, first.body)).toBe(!broken);
  expect(holds(subscription.secret, second.headers, second.body)).toBe(true);
});

test('an event armed to be re-sent comes twice with its id', async () => {
  const subscription = await subscribe({ project: 'twice' });
  tracker.faults.deliverWith('resent');
  const { happening } = tracker.issues.open({ project: 'twice', title: 'twice' });
  await expect
    .poll(() => events(subscription).map(({ eventId }) => eventId))
    .toEqual([happening.eventId, happening.eventId]);
});

test('a gap and an end are told, signed', async () => {
  const subscription = await subscribe({ project: 'control' });
  const control = (type: string) =>
    receiver.received.filter(
      ({ headers, body }) =>
        String(headers['webhook-id']).startsWith(`msg_${type}_`) && holds(subscription.secret, headers, body),
    );
  tracker.subscriptions.gap(subscription.id);
  await expect
    .poll(() => control('gap').map(({ body }) => JSON.parse(body)))
    .toEqual([{ type: 'gap', cursor: expect.any(String) }]);
  tracker.subscriptions.terminate(subscription.id, {
    code: -32014,
    message: 'Unsupported',
    data: { reason: 'schema_changed' },
  });
  await expect.poll(() => control('terminated').map(({ body }) => JSON.parse(body).error.code)).toEqual([-32014]);
  expect(tracker.subscriptions.list()).toEqual([]);
});

test('an answer that is armed to be wrong is, once', async () => {
  const ask = () =>
    fetch(tracker.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-bob' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/list' }),
      signal: AbortSignal.timeout(300),
    });
  tracker.faults.answerWith('rate_limited', { method: 'events/list' });
  expect((await ask()).status).toBe(429);
  tracker.faults.answerWith('garbage');
  await expect((await ask()).json()).rejects.toThrow();
  tracker.faults.answerWith('hang');
  await expect(ask()).rejects.toThrow();
  expect((await ask()).status).toBe(200);
});

test('people open issues on its page, with their own words as words', async () => {
  const form = new URLSearchParams({ project: 'page', title: '<b>bold</b>', labels: 'bug, urgent' });
  const made = await fetch(`${tracker.origin}/issues`, { method: 'POST', body: form });
  expect(await made.text()).toContain('&lt;b&gt;bold');
  expect(tracker.issues.list({ project: 'page' })).toMatchObject([{ labels: ['bug', 'urgent'] }]);
});
