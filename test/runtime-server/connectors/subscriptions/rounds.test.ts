/** The loop, and what connectors tell between: refreshes, retries, lost sign-ins, removals that are owed. Time is moved by hand. */
import { expect, test } from 'vitest';
import { bot, sharedStand, soon } from './stand.ts';

const shared = sharedStand();
const minute = 60_000;
const day = 24 * 60 * minute;

const secretOf = (params: Record<string, unknown> | undefined) =>
  (params?.delivery as { secret: string } | undefined)?.secret ?? '';
const urlOf = (params: Record<string, unknown> | undefined) =>
  (params?.delivery as { url: string } | undefined)?.url ?? '';
const refused =
  (reason: 'connector_unreachable' | 'needs_reauth' | 'invalid_arguments') => (asked: { method: string }) =>
    asked.method === 'events/subscribe' ? { fault: [reason, null] as ['needs_reauth', null] } : undefined;

async function subscribed(id: string, more = {}) {
  shared.current.connect(id);
  const { body } = await shared.current.subscribe(id, more);
  expect(body.subscription.status).toBe('active');
  return body.subscription;
}

test('a refresh is due within 15 minutes of its end: the cloud gets a new secret first, and knows the one before still', async () => {
  const stand = shared.current;
  const { id, refreshBefore } = await subscribed('due');
  const [first] = stand.server.of('subscribe');
  await stand.clock.advance(day - 16 * minute);
  await stand.round();
  expect(stand.server.of('subscribe')).toHaveLength(1);
  await stand.clock.advance(minute);
  const known: unknown[] = [];
  stand.server.answers(({ method, params }) => {
    if (method === 'events/subscribe') known.push([secretOf(params), secretOf(first)]);
    if (method === 'events/subscribe') expect(stand.cloud.secrets.get(id)).toEqual(known[0]);
    return undefined;
  });
  await stand.round();
  expect(known).toHaveLength(1);
  const again = await stand.until('due', { status: 'active' });
  expect(Date.parse(again.refreshBefore ?? '')).toBeGreaterThan(Date.parse(refreshBefore ?? ''));
  expect(secretOf(stand.server.of('subscribe')[1])).not.toBe(secretOf(first));
});

test('a window shorter than half an hour is refreshed at its half', async () => {
  const stand = shared.current;
  stand.server.answers(({ method }) =>
    method === 'events/subscribe'
      ? {
          result: { id: 'x', refreshBefore: new Date(stand.clock.now() + 10 * minute).toISOString(), truncated: false },
        }
      : undefined,
  );
  await subscribed('half');
  await stand.clock.advance(5 * minute - 1);
  await stand.round();
  expect(stand.server.of('subscribe')).toHaveLength(1);
  await stand.clock.advance(1);
  await stand.round();
  expect(stand.server.of('subscribe')).toHaveLength(2);
});

test('the loop looks every minute by itself, and once more where it is told to', async () => {
  const stand = shared.current;
  stand.connect('loop');
  stand.server.answers(refused('connector_unreachable'));
  await stand.subscribe('loop');
  stand.subscriptions.start();
  await soon(() => expect(stand.server.of('subscribe')).toHaveLength(2));
  await stand.until('loop', { status: 'error' });
  await stand.round();
  const before = stand.server.of('subscribe').length;
  await stand.clock.advance(minute);
  await soon(() => expect(stand.server.of('subscribe').length).toBeGreaterThan(before));
  stand.server.answers(() => undefined);
  await stand.clock.advance(minute);
  await stand.until('loop', { status: 'active', error: null });
  await stand.restart();
});

test('a server that did not take the new secret gets the same one again: the cloud keeps the one that it signs with', async () => {
  const stand = shared.current;
  const { id } = await subscribed('kept');
  const signsWith = secretOf(stand.server.of('subscribe')[0]);
  await stand.clock.advance(day - 10 * minute);
  stand.server.answers(refused('connector_unreachable'));
  for (let round = 0; round < 4; round += 1) {
    await stand.round();
    await stand.clock.advance(minute);
  }
  expect(stand.cloud.secrets.get(id)).toContain(signsWith);
  await stand.restart();
  stand.server.answers(() => undefined);
  await stand.round();
  expect(secretOf(stand.server.of('subscribe').at(-1))).toBe(stand.cloud.secrets.get(id)?.[0]);
  expect(stand.cloud.secrets.get(id)).toContain(signsWith);
  await stand.until('kept', { status: 'active' });
});

test('what was pending when the program ended goes on after it', async () => {
  const stand = shared.current;
  stand.connect('crash');
  await stand.read('crash');
  stand.server.holds(new Promise(() => {}));
  void stand.subscribe('crash').catch(() => undefined);
  await stand.until('crash', { status: 'pending' });
  await soon(() => expect(stand.server.of('subscribe')).toHaveLength(1));
  await stand.restart();
  stand.server.holds(null);
  await stand.until('crash', { status: 'pending' });
  await stand.round();
  await stand.until('crash', { status: 'active', botId: bot.id });
  expect(secretOf(stand.server.of('subscribe').at(-1))).toBe(secretOf(stand.server.of('subscribe')[0]));
});

test('one that always fails keeps neither others of its connector nor other connectors waiting', async () => {
  const stand = shared.current;
  stand.connect('many');
  stand.server.answers(refused('connector_unreachable'));
  for (const project of ['good', 'bad', 'better']) {
    await stand.subscribe('many', { arguments: { project } });
    await stand.clock.advance(1);
  }
  stand.connect('well');
  await stand.subscribe('well');
  stand.server.answers(({ method, params }) =>
    method === 'events/subscribe' && (params.arguments as { project?: string }).project === 'bad'
      ? { fault: ['connector_unreachable', null] }
      : undefined,
  );
  await stand.clock.advance(minute);
  await stand.round();
  await stand.until('well', { status: 'active' });
  await stand.clock.advance(minute);
  await stand.round();
  const { subscriptions } = await stand.read('many');
  expect(subscriptions.map(({ status, arguments: given }) => [given.project, status])).toEqual([
    ['good', 'active'],
    ['bad', 'error'],
    ['better', 'active'],
  ]);
});

test('a sign-in that is lost ends it everywhere and is told once; back, it begins anew with a new secret', async () => {
  const stand = shared.current;
  const { id } = await subscribed('login');
  const before = secretOf(stand.server.of('subscribe')[0]);
  stand.lose('login');
  stand.lose('login');
  const lost = await stand.until('login', { status: 'needs_reauth', refreshBefore: null });
  expect(lost.error).toMatchObject({ reason: 'needs_reauth', message: expect.stringContaining('Sign in') });
  await soon(() => expect(stand.cloud.calls.at(-1)).toMatchObject({ method: 'DELETE', id }));
  await soon(() => expect(stand.server.of('unsubscribe')).toHaveLength(1));
  expect(stand.server.of('unsubscribe')).toMatchObject([
    { name: 'issue.opened', delivery: { url: expect.any(String) } },
  ]);
  const data = { botId: bot.id, botName: bot.name, subscriptionId: id, connectorId: 'login', name: 'issue.opened' };
  expect(stand.emitted).toMatchObject([{ type: 'subscription.login_needed', data }]);
  await stand.round();
  expect(stand.server.of('subscribe')).toHaveLength(1);

  stand.back('login');
  await stand.until('login', { id, status: 'active', error: null });
  const now = secretOf(stand.server.of('subscribe').at(-1));
  expect(now).not.toBe(before);
  expect(stand.cloud.secrets.get(id)).toEqual([now]);
  await stand.round();
  expect(stand.cloud.calls.at(-1)?.method).toBe('PUT');
  expect(stand.emitted).toMatchObject([
    { type: 'subscription.login_needed' },
    { type: 'subscription.signed_in', data },
  ]);
  expect(new Set(stand.emitted.map((event) => event.id)).size).toBe(2);
});

test('a sign-in that is back while the server refuses is an error first, and told once it works', async () => {
  const stand = shared.current;
  await subscribed('refuses');
  stand.lose('refuses');
  await stand.until('refuses', { status: 'needs_reauth' });
  stand.server.answers(refused('connector_unreachable'));
  stand.back('refuses');
  await stand.until('refuses', { status: 'error' });
  expect(stand.emitted.map(({ type }) => type)).toEqual(['subscription.login_needed']);
  stand.server.answers(() => undefined);
  await stand.clock.advance(minute);
  await stand.round();
  expect(stand.emitted.map(({ type }) => type)).toEqual(['subscription.login_needed', 'subscription.signed_in']);
});

test('a lost sign-in is found by a refresh too; a person who subscribes sees it and is not told', async () => {
  const stand = shared.current;
  await subscribed('found');
  await stand.clock.advance(day);
  stand.server.answers(refused('needs_reauth'));
  await stand.round();
  await stand.until('found', { status: 'needs_reauth' });
  expect(stand.emitted).toHaveLength(1);
  const { status, body } = await stand.subscribe('found');
  expect([status, body.subscription.status]).toEqual([502, 'needs_reauth']);
  stand.connect('seen');
  expect((await stand.subscribe('seen')).body.subscription.status).toBe('needs_reauth');
  expect(stand.emitted).toHaveLength(1);
  expect(stand.cloud.calls.at(-1)?.method).toBe('DELETE');
});

test('a connector that works again without what it needs for events is not told of once more', async () => {
  const stand = shared.current;
  await subscribed('half-back');
  stand.lose('half-back');
  await stand.until('half-back', { status: 'needs_reauth' });
  stand.server.answers(refused('needs_reauth'));
  const before = stand.server.of('subscribe').length;
  stand.back('half-back');
  await soon(() => expect(stand.server.of('subscribe').length).toBeGreaterThan(before));
  await stand.until('half-back', { status: 'needs_reauth' });
  expect(stand.emitted.map(({ type }) => type)).toEqual(['subscription.login_needed']);
});

test('a connector that is deleted takes its subscriptions along, and the cloud is told until it has taken it', async () => {
  const stand = shared.current;
  const { id } = await subscribed('gone');
  stand.cloud.away = true;
  stand.remove('gone');
  await soon(() => expect(stand.rules.ended).toEqual([id]));
  const asked = await stand.call('listConnectorEvents', { id: 'gone' });
  expect(asked).toMatchObject({ status: 404, body: { error: 'connector_not_found' } });
  await stand.restart();
  await stand.round();
  stand.cloud.away = false;
  stand.cloud.status = 500;
  await stand.round();
  expect(stand.cloud.secrets.has(id)).toBe(true);
  stand.cloud.status = 200;
  await stand.round();
  expect(stand.cloud.secrets.has(id)).toBe(false);
  stand.cloud.calls.length = 0;
  await stand.round();
  expect(stand.cloud.calls).toEqual([]);
});

test.each([
  ['disabled', { enabled: false }],
  ['moved to another address', { url: 'http://127.0.0.1:1/other' }],
])('a connector that is %s has none any more', async (name, more) => {
  const stand = shared.current;
  const { id } = await subscribed(name);
  stand.connect(name, more);
  await stand.round();
  expect((await stand.read(name)).subscriptions).toEqual([]);
  expect(stand.cloud.secrets.has(id)).toBe(false);
});

test('the connector counts as there while a subscription is left', async () => {
  const stand = shared.current;
  await subscribed('left');
  let go = () => {};
  stand.server.holds(
    new Promise<void>((resolve) => {
      go = resolve;
    }),
  );
  stand.server.asked.length = 0;
  // It says goodbye to the server, which takes its time.
  const connector = stand.connectors.get('left');
  stand.remove('left');
  expect(await stand.read('left')).toMatchObject({ error: { reason: 'connector_not_found' }, subscriptions: [{}] });
  expect(connector).toBeDefined();
  go();
  await soon(async () => expect((await stand.call('listConnectorEvents', { id: 'left' })).status).toBe(404));
});

test('one that is ended is ended at the server, at the cloud and here, also where neither can be asked', async () => {
  const stand = shared.current;
  const { id } = await subscribed('end');
  expect((await stand.end('end', id)).status).toBe(200);
  expect(stand.server.of('unsubscribe')).toHaveLength(1);
  expect(stand.cloud.secrets.has(id)).toBe(false);
  expect(await stand.end('end', id)).toMatchObject({ status: 404, body: { error: 'subscription_not_found' } });

  const other = await subscribed('end2');
  stand.cloud.away = true;
  stand.server.answers(() => ({ fault: ['connector_unreachable', null] }));
  expect((await stand.end('end2', other.id)).status).toBe(200);
  expect((await stand.subscriptions.counts()).get('end2')).toBe(undefined);
  // Wanted again before the cloud was told: it is not taken away afterwards.
  stand.cloud.away = false;
  stand.server.answers(() => undefined);
  expect((await stand.subscribe('end2')).body.subscription.id).toBe(other.id);
  await stand.round();
  expect(stand.cloud.secrets.has(other.id)).toBe(true);
});

test('of the stopped ones the newest 20 that have runs are shown', async () => {
  const stand = shared.current;
  stand.connect('shelf');
  const ids: string[] = [];
  for (let n = 0; n < 22; n += 1) {
    const { body } = await stand.subscribe('shelf', { arguments: { project: `p${n}` } });
    ids.push(body.subscription.id);
    if (n !== 5) stand.rules.withRuns.add(body.subscription.id);
    await stand.clock.advance(1);
    await stand.end('shelf', body.subscription.id);
  }
  const shown = (await stand.read('shelf')).archivedSubscriptions;
  expect(shown.map((one) => one.id)).toEqual(ids.filter((_, n) => n !== 5 && n > 0).reverse());
  expect(shown[0]).toEqual({ id: ids[21], name: 'issue.opened' });
  await stand.subscribe('shelf', { arguments: { project: 'p21' } });
  expect((await stand.read('shelf')).archivedSubscriptions.map((one) => one.id)).not.toContain(ids[21]);
});

test('another home is told of everything, the server gets its address, and the one before is owed the removal', async () => {
  const stand = shared.current;
  const { id } = await subscribed('moves');
  const before = urlOf(stand.server.of('subscribe')[0]);
  Object.assign(stand.cloud, { at: 'home_2', url: 'https://cloud.example' });
  stand.cloud.calls.length = 0;
  await stand.round();
  await stand.until('moves', { status: 'active' });
  expect(urlOf(stand.server.of('subscribe').at(-1))).toMatch(/^https:\/\/cloud\.example\//);
  const left = stand.server.of('unsubscribe').map(urlOf);
  expect(left.filter((url) => url.endsWith(id))).toEqual([before]);
  expect(stand.cloud.calls.filter((call) => call.id === id).map(({ method }) => method)).toEqual(['PUT']);
  expect(secretOf(stand.server.of('subscribe').at(-1))).not.toBe(secretOf(stand.server.of('subscribe')[0]));

  await stand.end('moves', id);
  stand.cloud.calls.length = 0;
  Object.assign(stand.cloud, { at: 'home_1', url: 'http://127.0.0.1:3010' });
  await stand.round();
  expect(stand.cloud.calls.filter((call) => call.id === id).map(({ method }) => method)).toEqual(['DELETE']);
});

test('secrets are sealed where they are kept', async () => {
  const stand = shared.current;
  const { id } = await subscribed('sealed');
  const secret = stand.cloud.secrets.get(id)?.[0] ?? '';
  const row = await stand.store.read((tx) => tx.get('SELECT * FROM connector_subscription WHERE id = ?', id));
  expect(secret).toMatch(/^whsec_/);
  expect(JSON.stringify(row)).not.toContain(secret);
  expect(row?.secret).toMatch(/^v1:/);
});
