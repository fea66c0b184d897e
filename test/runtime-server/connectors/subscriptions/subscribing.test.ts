/** What a person asks for, and what becomes of it: over a real database, with a server of events on HTTP. */
import { expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import {
  lastingReasons,
  type SubscriptionReason,
  transientReasons,
} from '../../../../src/contracts/connectors/subscription.ts';
import { type Answers, opened } from './events-server.ts';
import { bot, sharedStand } from './stand.ts';

const shared = sharedStand();
const minute = 60_000;

test('it is written pending before anybody is asked, and the cloud has the secret before the server', async () => {
  const stand = shared.current;
  stand.connect('order');
  let go = () => {};
  const seen: unknown[] = [];
  stand.server.answers(({ method, params }) => {
    if (method === 'events/subscribe') {
      const { secret } = params.delivery as { secret: string };
      seen.push([...stand.cloud.secrets.values()].some((live) => live[0] === secret));
    }
    return undefined;
  });
  const holding = new Promise<void>((resolve) => {
    go = resolve;
  });
  await stand.read('order');
  stand.server.holds(holding);
  const asked = stand.subscribe('order');
  expect(await stand.until('order', { status: 'pending' })).toMatchObject({ error: null, refreshBefore: null });
  go();
  expect((await asked).body.subscription.status).toBe('active');
  expect(seen).toEqual([true]);
  expect(stand.cloud.calls).toMatchObject([
    { method: 'PUT', body: { connectorId: 'order', eventName: 'issue.opened' } },
  ]);
});

test('posted again it is the same one with its secret, another bot and mode, refreshed at the server', async () => {
  const stand = shared.current;
  stand.connect('again');
  const first = await stand.subscribe('again', { arguments: { project: 'p', priority: 1 } });
  const second = await stand.subscribe('again', {
    arguments: { priority: 1.0, project: 'p' },
    botId: bot.name,
    executionMode: 'PLAN_ONLY',
  });
  expect(second).toMatchObject({
    status: 200,
    body: { subscription: { id: first.body.subscription.id, executionMode: 'PLAN_ONLY' } },
  });
  const secrets = stand.server.of('subscribe').map(({ delivery }) => (delivery as { secret: string }).secret);
  expect(secrets).toHaveLength(2);
  expect(secrets[0]).toBe(secrets[1]);
  expect(
    (await stand.subscribe('again', { arguments: { project: 'p', priority: 1 } })).body.subscription.executionMode,
  ).toBe('PLAN_ONLY');
  const { subscriptions } = await stand.read('again');
  expect(subscriptions).toHaveLength(1);
  expect(first.body.subscription.executionMode).toBe('REQUIRE_APPROVAL');
});

test('without automation rules stay as they are; with it the default rule is saved; refused, nothing is stored', async () => {
  const stand = shared.current;
  stand.connect('rules');
  const { body } = await stand.subscribe('rules');
  expect(stand.rules.saved).toEqual([]);
  await stand.subscribe('rules', { automation: { instructions: 'Look at it.' } });
  expect(stand.rules.saved).toEqual([body.subscription.id]);

  stand.connect('refused');
  stand.rules.refuses = new AppError('refused', 'It cannot.', '', { status: 409, wireCode: 'bot_not_enforceable' });
  const refused = await stand.subscribe('refused', { automation: { instructions: 'Look at it.' } });
  expect(refused).toMatchObject({ status: 409, body: { error: 'bot_not_enforceable' } });
  expect((await stand.read('refused')).subscriptions).toEqual([]);
  expect(stand.cloud.calls.filter(({ body: sent }) => sent?.connectorId === 'refused')).toEqual([]);
});

test.each([
  ['an unknown connector', 'nobody', {}, 404, 'connector_not_found'],
  ['an unknown bot', 'plain', { botId: 'nobody' }, 404, 'bot_not_found'],
  ['arguments that the server does not take', 'plain', { arguments: { colour: 1 } }, 400, 'bad_request'],
  [
    'a rule for an event that is not offered',
    'plain',
    { name: 'x', automation: { instructions: 'i' } },
    404,
    'event_not_found',
  ],
  ['a disabled connector', 'off', {}, 409, 'connector_disabled'],
])('%s is refused before anything is stored', async (_, id, body, status, error) => {
  const stand = shared.current;
  stand.connect('plain');
  stand.connect('off', { enabled: false });
  expect(await stand.subscribe(id, body)).toMatchObject({ status, body: { error } });
  expect((await stand.read('plain')).subscriptions).toEqual([]);
  expect(stand.cloud.calls).toEqual([]);
});

/** Those that a server is the cause of; the others have a test of their own. */
const ofServers = [...transientReasons, ...lastingReasons].filter(
  (reason) => !['cloud_unreachable', 'not_paired', 'terminated', 'needs_reauth', 'internal'].includes(reason),
);

/** Subscribes where it must fail, and says whether the next round tries it again by itself. */
async function failing(id: string, reason: SubscriptionReason, heal: () => void) {
  const stand = shared.current;
  const { status, body } = await stand.subscribe(id);
  expect(status).toBe(502);
  expect(body.subscription).toMatchObject({ status: 'error', error: { reason, message: expect.stringMatching(/./) } });
  expect((await stand.read(id)).subscriptions).toEqual([body.subscription]);
  heal();
  await stand.clock.advance(minute);
  await stand.round();
  const [later] = (await stand.read(id)).subscriptions;
  return { error: body.subscription.error, healed: later?.status === 'active' };
}

test.each(ofServers)(
  'refused with %s it is stored with that reason, and tried again or left as the reason says',
  async (reason) => {
    const stand = shared.current;
    stand.connect(reason);
    stand.server.answers(({ method }) => (method === 'events/subscribe' ? { fault: [reason, -32099] } : undefined));
    const { error, healed } = await failing(reason, reason, () => stand.server.answers(() => undefined));
    expect(error?.code).toBe(-32099);
    expect(healed).toBe((transientReasons as readonly string[]).includes(reason));
  },
);

test.each([
  ['that is away', () => ({ away: true }), 'cloud_unreachable', null, true],
  ['that fails', () => ({ status: 503 }), 'cloud_unreachable', 503, true],
  ['that refuses', () => ({ status: 400 }), 'internal', 400, false],
  [
    'that is full',
    () => ({ status: 409, refusal: { error: 'too_many_subscriptions' } }),
    'too_many_subscriptions',
    409,
    false,
  ],
  ['that there is not', () => ({ url: null }), 'not_paired', null, true],
] as const)('a cloud %s is a reason of its own', async (name, broken, reason, code, again) => {
  const stand = shared.current;
  stand.connect(name);
  Object.assign(stand.cloud, broken());
  const heal = () => Object.assign(stand.cloud, { away: false, status: 200, url: 'http://127.0.0.1:3010' });
  const { error, healed } = await failing(name, reason, () => void heal());
  expect(error?.code).toBe(code);
  expect(healed).toBe(again);
});

test('what a rule is for must be offered now; where the server cannot be asked, what it offered when it was subscribed to counts', async () => {
  const stand = shared.current;
  stand.connect('offers');
  const { id } = (await stand.subscribe('offers')).body.subscription;
  const offered = () => stand.subscriptions.lookup.advertised('offers', id);
  await offered();
  const lists = (answer: ReturnType<Answers>) => {
    stand.back('offers');
    stand.server.answers(({ method }) => (method === 'events/list' ? answer : undefined));
  };
  lists({ result: { events: [] } });
  await expect(offered()).rejects.toMatchObject({ status: 404, options: { wireCode: 'event_not_found' } });
  lists({ fault: ['connector_unreachable', null] });
  await offered();
  stand.connect('never');
  const never = (await stand.subscribe('never')).body.subscription;
  expect(never.status).toBe('error');
  await expect(stand.subscriptions.lookup.advertised('never', never.id)).rejects.toMatchObject({
    options: { wireCode: 'connector_unreachable' },
  });
});

test('a server elsewhere is not given an address that only this computer reaches', async () => {
  const stand = shared.current;
  stand.connect('elsewhere', { url: 'https://tracker.example/mcp' });
  const { error, healed } = await failing('elsewhere', 'not_paired', () => {
    stand.cloud.url = 'https://cloud.example';
  });
  expect(error?.message).toContain('127.0.0.1');
  expect(healed).toBe(true);
});

test.each([
  ['no object of its kind', { id: 'x' }],
  ['a time that is none', { id: 'x', refreshBefore: 'soon', truncated: false }],
])('a server that answers %s is faulty', async (name, result) => {
  const stand = shared.current;
  stand.connect(name);
  stand.server.answers(({ method }) => (method === 'events/subscribe' ? { result } : undefined));
  const { error } = await failing(name, 'connector_error', () => stand.server.answers(() => undefined));
  expect(error?.message).toContain('cannot be read');
});

test('a payload schema that cannot be used is told when it is subscribed, and one of arguments before', async () => {
  const stand = shared.current;
  const offers = (more: Record<string, unknown>) =>
    stand.server.answers(({ method }) =>
      method === 'events/list' ? { result: { events: [{ ...opened, ...more }] } } : undefined,
    );
  const remote = { $ref: 'https://schemas.example/issue.json' };
  stand.connect('schema');
  offers({ payloadSchema: remote });
  const { error } = await failing('schema', 'connector_error', () => undefined);
  expect(error?.message).toContain('payload schema');
  expect(stand.server.of('subscribe')).toEqual([]);
  stand.connect('schema2');
  offers({ inputSchema: remote });
  expect(await stand.subscribe('schema2')).toMatchObject({ status: 400, body: { error: 'bad_request' } });
});

test('a server that hangs is given up after its time, and nothing waits behind it for ever', async () => {
  const stand = shared.current;
  stand.connect('hangs');
  await stand.read('hangs');
  let go = () => {};
  stand.server.holds(
    new Promise<void>((resolve) => {
      go = resolve;
    }),
  );
  const asked = stand.subscribe('hangs');
  await stand.until('hangs', { status: 'pending' });
  let done = false;
  void asked.then(() => {
    done = true;
  });
  while (!done) await stand.clock.advance(5000);
  expect((await asked).body.subscription).toMatchObject({ status: 'error', error: { reason: 'connector_timeout' } });
  go();
});

test('what the server offers is kept for a minute, and asked anew for a name that is not among it', async () => {
  const stand = shared.current;
  stand.connect('kept');
  const lists = () => stand.server.of('list').length;
  expect(await stand.read('kept')).toMatchObject({ supported: true, error: null, events: [{ name: 'issue.opened' }] });
  await stand.read('kept');
  await stand.subscribe('kept');
  expect(lists()).toBe(1);
  await stand.subscribe('kept', { name: 'issue.closed' });
  expect(lists()).toBeGreaterThan(1);
  const before = lists();
  await stand.clock.advance(minute);
  await stand.read('kept');
  expect(lists()).toBe(before + 1);
});

test('a server that cannot be listed is said so, with its subscriptions; one without events has none', async () => {
  const stand = shared.current;
  stand.connect('list');
  await stand.subscribe('list');
  await stand.clock.advance(minute);
  stand.server.answers(({ method }) => (method === 'events/list' ? { fault: ['needs_reauth', 401] } : undefined));
  expect(await stand.read('list')).toMatchObject({
    events: [],
    error: { reason: 'needs_reauth', needsReauth: true, message: expect.stringMatching(/./) },
    subscriptions: [{ status: 'active' }],
  });
  // Pages look every few seconds; a server in trouble is not asked each time.
  const asked = stand.server.of('list').length;
  expect((await stand.read('list')).error).toMatchObject({ needsReauth: true });
  expect(stand.server.of('list')).toHaveLength(asked);
  stand.server.answers(({ method }) => (method === 'events/list' ? { result: { events: null } } : undefined));
  await stand.clock.advance(10_001);
  expect(await stand.read('list')).toMatchObject({ supported: false, events: [], error: null });
  expect((await stand.subscribe('list', { arguments: { project: 'x' } })).body.subscription.error?.reason).toBe(
    'unsupported',
  );
});

test('a server that says the secret back does not have it shown', async () => {
  const stand = shared.current;
  stand.connect('echo');
  let secret = '';
  stand.server.answers(({ method, params }) => {
    if (method !== 'events/subscribe') return undefined;
    secret = (params.delivery as { secret: string }).secret;
    return { fault: ['connector_error', -32603, `Cannot keep {"secret":"${secret}"}.`] };
  });
  const { status, body } = await stand.subscribe('echo');
  expect([status, body.subscription.error?.message]).toEqual([502, 'Cannot keep {"secret":"•••"}.']);
  expect(secret).toMatch(/^whsec_/);
});
