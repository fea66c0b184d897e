/** What `events/list`, `events/subscribe` and `events/unsubscribe` answer, above all to what is wrong. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { createPoster } from '../../../src/cloud-api/edge/post.ts';
import { type SubscriptionKey, subscriptionId } from '../../../src/cloud-api/edge/subscriptions.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createEgress } from '../../../src/kit/egress/egress.ts';
import type { Lookup } from '../../../src/kit/egress/lookup.ts';
import { onEnd } from '../../support/at-end.ts';
import { sqliteIn } from '../../support/engines.ts';
import { loopbackCertificate } from '../../support/loopback-certificate.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { newSecret, startReceiver } from './receiver.ts';
import { app, moving, openWorld, until, type WorldOptions } from './support.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const world = (options: Partial<WorldOptions> = {}) => openWorld({ place: sqliteIn(scratchFolder()), ...options });

test('events are listed by name with both schemas, for a bot without what no bot does', async () => {
  const { rpc } = await world();
  const { events } = (await rpc('events/list')).result;
  expect(events).toHaveLength(11);
  expect(events.map(({ name }) => name)).toEqual(events.map(({ name }) => String(name)).toSorted());
  expect(events.find(({ name }) => name === 'agent.run.completed')).toEqual({
    name: 'agent.run.completed',
    title: 'A run has ended',
    description: expect.any(String),
    delivery: ['webhook'],
    inputSchema: {
      type: 'object',
      properties: { botId: expect.objectContaining({ type: 'string' }) },
      additionalProperties: false,
    },
    payloadSchema: expect.objectContaining({
      type: 'object',
      required: ['runId', 'status', 'title'],
      additionalProperties: {},
    }),
  });
  const ofBot = (await rpc('events/list', { cursor: null }, { server: '/bots/bot_1' })).result.events;
  expect(ofBot).toHaveLength(10);
  expect(ofBot.map(({ name }) => name)).not.toContain('usage.threshold');
  expect(ofBot[0]?.inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  expect((await rpc('events/list', { cursor: 'x' })).error.code).toBe(-32602);
});

test('what is delivered fits the schema that was listed, and would with a member more', async () => {
  const [receiver, { rpc, subscribe, run }] = [await startReceiver(), await world()];
  await subscribe(receiver);
  await run('run_1');
  await until(() => receiver.events().length === 1);
  const { data } = receiver.events()[0]!.body as { data: Record<string, unknown> };
  for (const { name, payloadSchema, inputSchema } of (await rpc('events/list')).result.events) {
    const ajv = new Ajv2020({ strict: true });
    expect(ajv.validate(inputSchema as AnySchema, {})).toBe(true);
    const fits = ajv.compile(payloadSchema as AnySchema);
    if (name !== 'agent.run.completed') continue;
    expect(fits(data) && fits({ ...data, new: 1 })).toBe(true);
    expect(fits({ ...data, runId: 3 })).toBe(false);
  }
});

describe('what is wrong with a subscription is said, and nobody is asked for a challenge', () => {
  const good = { url: 'https://93.184.216.34/hook', secret: newSecret() };
  const delivery = (more: Record<string, unknown>) => ({ delivery: { mode: 'webhook', ...good, ...more } });
  test.each([
    ['an unknown event', { name: 'nothing.happened' }, -32011, { kind: 'event' }],
    ['a mode that is not offered', delivery({ mode: 'poll' }), -32014, { feature: 'deliveryMode', value: 'poll' }],
    ['no delivery', { delivery: null }, -32602, undefined],
    ['an unknown argument', { arguments: { bot: 'x' } }, -32602, undefined],
    ['an argument of the wrong type', { arguments: { botId: 3 } }, -32602, undefined],
    ['arguments that are no object', { arguments: [] }, -32602, undefined],
    ['no address', delivery({ url: undefined }), -32602, undefined],
    ['what is no address', delivery({ url: 'hook' }), -32602, undefined],
    ['an address over http', delivery({ url: 'http://93.184.216.34/hook' }), -32602, undefined],
    ['a credential in the address', delivery({ url: 'https://a:b@93.184.216.34/' }), -32602, undefined],
    ['a fragment', delivery({ url: 'https://93.184.216.34/#x' }), -32602, undefined],
    ['an empty fragment', delivery({ url: 'https://93.184.216.34/#' }), -32602, undefined],
    ['a private address', delivery({ url: 'https://10.0.0.1/hook' }), -32602, undefined],
    ['this machine', delivery({ url: 'https://127.0.0.1/hook' }), -32602, undefined],
    ['this machine in IPv6', delivery({ url: 'https://[::ffff:127.0.0.1]/hook' }), -32602, undefined],
    ['a service of the cloud it runs on', delivery({ url: 'https://169.254.169.254/hook' }), -32602, undefined],
    ['a private address as one number', delivery({ url: 'https://2130706433/hook' }), -32602, undefined],
    ['an address that is too long', delivery({ url: `https://93.184.216.34/${'x'.repeat(2000)}` }), -32602, undefined],
    ['a short secret', delivery({ secret: newSecret(23) }), -32602, undefined],
    ['a long secret', delivery({ secret: newSecret(65) }), -32602, undefined],
    ['a secret without its prefix', delivery({ secret: newSecret().slice(6) }), -32602, undefined],
    ['a secret that is no base64', delivery({ secret: `whsec_${'!'.repeat(43)}=` }), -32602, undefined],
    ['no secret', delivery({ secret: undefined }), -32602, undefined],
    ['a negative age', { maxAgeMs: -1 }, -32602, undefined],
    ['a life that is no number', { ttlMs: 'long' }, -32602, undefined],
  ])('%s', async (_, more, code, data) => {
    const { rpc, store } = await world({ allow: [] });
    const { error } = await rpc('events/subscribe', {
      name: 'agent.run.completed',
      arguments: {},
      ...delivery({}),
      ...more,
    });
    expect(error).toMatchObject({ code, message: expect.stringMatching(/\.$/) });
    expect(error.data).toEqual(data);
    expect(await store.all('SELECT * FROM edge_subscription')).toEqual([]);
  });

  test('a caller who is no app', async () => {
    const { rpc } = await world();
    const nobody = { by: { userId: 'user_1', clientId: 'person' } };
    for (const method of ['events/subscribe', 'events/unsubscribe']) {
      expect((await rpc(method, {}, nobody)).error.code).toBe(-32012);
    }
  });
});

describe('an address that does not answer the challenge is not subscribed', () => {
  const refused = async (
    url: string,
    answer: () => number | null = () => null,
    options: Partial<WorldOptions> = {},
  ) => {
    const [receiver, { subscribe, store }] = [await startReceiver(), await world(options)];
    receiver.answer = answer;
    const { error } = await subscribe(receiver, { url: url.replace('HOST', receiver.host) });
    expect(await store.all('SELECT * FROM edge_subscription')).toEqual([]);
    return { error, receiver };
  };

  test.each([500, 404, 204, 302])('as it answers %i', async (status) => {
    const { error, receiver } = await refused('http://HOST/', () => status);
    expect(error).toMatchObject({ code: -32015, data: { reason: 'challenge_failed' } });
    expect(receiver.received).toHaveLength(1);
  });

  test('as it echoes something else', async () => {
    const [receiver, { subscribe }] = [await startReceiver(), await world()];
    receiver.answer = ({ body }) => {
      body.challenge = `${String(body.challenge)}x`;
      return 200;
    };
    expect((await subscribe(receiver)).error).toMatchObject({ code: -32015, data: { reason: 'challenge_failed' } });
  });

  test('as nobody listens, or only without TLS', async () => {
    expect((await refused('http://127.0.0.1:1/')).error.data).toEqual({ reason: 'connection_refused' });
    expect((await refused('https://HOST/')).error.data).toEqual({ reason: 'tls_error' });
  });

  test('as its name leads into our network, which looks as if nobody listened', async () => {
    const lookup: Lookup = (_name, _options, done) => done(null, [{ address: '127.0.0.2', family: 4 }]);
    const { error, receiver } = await refused('https://inside.example/', undefined, { allow: [], lookup });
    expect(error).toMatchObject({ code: -32015, data: { reason: 'connection_refused' } });
    expect(receiver.received).toEqual([]);
  });
});

test('a name that leads into our network later gets nothing', async () => {
  const clock = createTestClock();
  let address = '127.0.0.1';
  const lookup: Lookup = (_name, _options, done) => done(null, [{ address, family: 4 }]);
  const [receiver, { subscribe, run, store }] = [
    await startReceiver(),
    await world({ clock, lookup, plain: true, allow: ['127.0.0.1/32'] }),
  ];
  receiver.answer = ({ response }) => {
    response.setHeader('connection', 'close');
    return null;
  };
  const { result } = await subscribe(receiver, { url: receiver.url.replace('127.0.0.1', 'rebinding.example') });
  expect(result.id).toMatch(/^sub_/);
  address = '127.0.0.2';
  await run('run_1');
  const failed = async () => (await store.get<{ last_error: string }>('SELECT last_error FROM edge_subscription'))!;
  await until(async () => (await failed()).last_error === 'connection_refused');
  expect(receiver.received).toHaveLength(1);
  address = '127.0.0.1';
  await moving(clock, 1000, () => receiver.events().length === 1);
});

test.each([
  [undefined, day],
  [null, 7 * day],
  [1, 5 * minute],
  [-5, 5 * minute],
  [30 * minute, 30 * minute],
  [365 * day, 7 * day],
])('a life of %s milliseconds is granted as %i', async (ttlMs, granted) => {
  const clock = createTestClock();
  const [receiver, { subscribe }] = [await startReceiver(), await world({ clock })];
  const { result } = await subscribe(receiver, { ttlMs });
  expect(Date.parse(result.refreshBefore!) - clock.now()).toBe(granted);
});

test('an app may have 100 subscriptions, renew each, and have another when one is gone; another app has its own', async () => {
  const [receiver, { subscribe, rpc }] = [await startReceiver(), await world()];
  const url = (n: number) => `${receiver.url}&n=${n}`;
  for (let n = 0; n < 100; n += 1) expect((await subscribe(receiver, { url: url(n) })).error).toBeUndefined();
  const refused = await subscribe(receiver, { url: url(100) });
  expect(refused.error).toMatchObject({ code: -32013, data: { limit: 'subscriptions', max: 100 } });
  expect(receiver.control('verification')).toHaveLength(100);
  expect((await subscribe(receiver, { url: url(7) })).error).toBeUndefined();
  expect((await subscribe(receiver, { url: url(100), by: { ...app, clientId: 'app_2' } })).error).toBeUndefined();
  const key = { name: 'agent.run.completed', arguments: {}, delivery: { url: url(7) } };
  expect((await rpc('events/unsubscribe', key)).result).toEqual({});
  expect((await subscribe(receiver, { url: url(100) })).error).toBeUndefined();
});

test('an app that knocks at too many doors within a minute waits', async () => {
  const clock = createTestClock();
  const [receiver, { subscribe }] = [await startReceiver(), await world({ clock })];
  receiver.answer = () => 500;
  const url = (n: number) => `${receiver.url}&n=${n}`;
  for (let n = 0; n < 120; n += 1) expect((await subscribe(receiver, { url: url(n) })).error.code).toBe(-32015);
  receiver.answer = () => null;
  const late = await subscribe(receiver, { url: url(120) });
  expect(late.error).toMatchObject({ code: -32013, data: { limit: 'verifications', retryAfterMs: minute } });
  await clock.advance(minute);
  expect((await subscribe(receiver, { url: url(120) })).error).toBeUndefined();
});

test('whoever unsubscribes gets nothing more; twice is once, and what is not theirs stays', async () => {
  const clock = createTestClock();
  const [receiver, { subscribe, rpc, run, store }] = [await startReceiver(), await world({ clock })];
  await subscribe(receiver);
  await subscribe(receiver, { by: { ...app, clientId: 'app_2' } });
  receiver.answer = () => 503;
  await run('run_1');
  await until(() => receiver.received.length === 4);
  const key = { name: 'agent.run.completed', arguments: {}, delivery: { url: receiver.url } };
  for (let times = 0; times < 2; times += 1) expect((await rpc('events/unsubscribe', key)).result).toEqual({});
  receiver.answer = () => null;
  await moving(clock, minute, async () => (await store.all('SELECT * FROM lane_item')).length === 0);
  expect(receiver.events()).toHaveLength(1);
  expect(receiver.control('terminated')).toEqual([]);
  expect((await rpc('events/unsubscribe', { ...key, arguments: { bot: 'x' } })).error.code).toBe(-32602);
  expect(await store.all('SELECT client_id FROM edge_subscription')).toEqual([{ client_id: 'app_2' }]);
});

test('a bot’s server, and the argument botId, tell only of that bot', async () => {
  const [all, one, ofBot, world_] = [
    await startReceiver(),
    await startReceiver(),
    await startReceiver(),
    await world(),
  ];
  await world_.subscribe(all);
  await world_.subscribe(one, { arguments: { botId: 'bot_2' } });
  await world_.subscribe(ofBot, { server: '/bots/bot_3' });
  await world_.subscribe(ofBot, { server: '/bots/undefined' });
  await world_.emit('agent.run.completed', 'of nobody', { runId: 'of nobody', status: 'completed', title: 'A run' });
  for (const bot of ['bot_1', 'bot_2', 'bot_3']) await world_.run(`run of ${bot}`, bot);
  await until(() => all.events().length === 4 && one.events().length === 1 && ofBot.events().length === 1);
  expect(one.events()).toMatchObject([{ body: { data: { botId: 'bot_2' } } }]);
  expect(ofBot.events()).toMatchObject([{ body: { data: { botId: 'bot_3' } } }]);
});

test('the id of a subscription depends on each part of it, and not on the order of arguments', () => {
  const key: SubscriptionKey = {
    userId: 'user_1',
    clientId: 'app_1',
    server: 'agents' as const,
    event: 'agent.run.completed',
    url: 'https://example.com/hook?a=1',
    arguments: { a: 1, b: { c: [1, 2], d: null } },
  };
  const id = subscriptionId(key);
  expect(id).toMatch(/^sub_[0-9a-f]{24}$/);
  expect(subscriptionId({ ...key, arguments: { b: { d: null, c: [1, 2] }, a: 1 } })).toBe(id);
  const others: readonly Partial<SubscriptionKey>[] = [
    { userId: 'user_2' },
    { clientId: 'app_2' },
    { server: 'bots/bot_1' },
    { event: 'call.ended' },
    { url: 'https://example.com/hook?a=2' },
    { arguments: {} },
  ];
  expect(new Set([id, ...others.map((other) => subscriptionId({ ...key, ...other }))]).size).toBe(7);
});

test('what went wrong with a post is one of a few words', async () => {
  const egress = createEgress({ allow: ['127.0.0.0/8'] });
  onEnd(() => egress.close());
  // The ten seconds of a test.
  const poster = createPoster({
    clock: systemClock,
    egress: { request: (request) => egress.request({ ...request, timeoutMs: 200 }) },
  });
  const post = (url: string) =>
    poster.post({ url, subscriptionId: 'sub_1', messageId: 'event_1', keys: [Buffer.alloc(24)], body: {} });
  const hanging = await startReceiver();
  hanging.answer = () => 0;
  expect(await post(hanging.url)).toEqual({ answered: false, fault: 'timeout' });
  const secure = createServer(loopbackCertificate, (_, response) => response.end());
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  onEnd(() => void secure.close());
  expect(await post(`https://127.0.0.1:${(secure.address() as AddressInfo).port}/`)).toEqual({
    answered: false,
    fault: 'tls_error',
  });
  const talkative = await startReceiver();
  talkative.answer = ({ response }) => {
    response.write('x'.repeat(1_000_000));
    return 0;
  };
  expect(await post(talkative.url)).toMatchObject({ answered: true, status: 200 });
});
