/** What subscriptions ask connectors for, and what a server can do to them: both eras, garbage, silence, refusals, floods. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import type { Json } from '../../support/attached/behave.ts';
import { serveHttp } from '../../support/attached/http.ts';
import { type IssueTracker, startIssueTracker } from '../../support/issue-tracker/tracker.ts';
import { openConnectors } from './support.ts';

const schema = { type: 'object' };
const event = (name: string, more: Json = {}): Json => ({
  name,
  delivery: ['webhook'],
  inputSchema: schema,
  payloadSchema: schema,
  ...more,
});
type Answer = (id: unknown, params: Json, response: ServerResponse, request: IncomingMessage) => void;
const result =
  (value: unknown): Answer =>
  (id, _params, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: value }));
const fault =
  (code: number, data?: unknown, status = 200): Answer =>
  (id, _params, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: `It says ${code}.`, data } }));
const raw =
  (status: number, type: string, text: string): Answer =>
  (_id, _params, response) =>
    void response.writeHead(status, { 'content-type': type }).end(text);

interface Behaviour {
  readonly modern?: boolean;
  readonly capabilities?: Json;
  readonly methods?: Record<string, Answer>;
}

/** A server that answers methods so, and tools as usual. */
async function serveEvents({ modern = false, capabilities = { events: {} }, methods = {} }: Behaviour) {
  const all: Record<string, Answer> = { ...methods };
  const whole = { tools: {}, ...capabilities };
  if (modern) {
    all['server/discover'] = result({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: whole,
      ttlMs: 0,
      cacheScope: 'private',
    });
    all['tools/list'] = result({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' });
  } else {
    all.initialize = result({
      protocolVersion: '2025-06-18',
      capabilities: whole,
      serverInfo: { name: 'x', version: '1' },
    });
    all['tools/list'] = result({ tools: [] });
  }
  const server = await serveHttp({
    first(request, response, body) {
      const answer = body === null ? undefined : all[String(body.method)];
      if (answer === undefined || body === null) return false;
      answer(body.id, (body.params ?? {}) as Json, response, request);
      return true;
    },
  });
  onEnd(() => server.close());
  return server;
}

const stop = keepUntilEnd();
let one: Awaited<ReturnType<typeof openConnectors>>;
let tracker: IssueTracker;
let count = 0;
beforeAll(async () => {
  one = await openConnectors();
  tracker = await startIssueTracker({ apiKeys: { 'key-of-ann': 'ann' } });
});
afterAll(async () => {
  await stop();
  await tracker.close();
});

async function connected(behaviour: Behaviour) {
  const server = await serveEvents(behaviour);
  count += 1;
  const { id } = await one.connect(`server${count}`, server.url);
  await one.until(id, 'connected');
  const ask = (method = 'events/subscribe') => one.servers.ask(id, method, { name: 'a' }, one.signal());
  return { server, id, ask, events: () => one.servers.events(id, one.signal()) };
}
const namesOf = (events: readonly { name: string }[] | null) => events?.map(({ name }) => name) ?? null;

describe('what a server offers', () => {
  const extension = { extensions: { 'io.modelcontextprotocol/events': {} } };
  test.each([
    ['the older era, by its own name', false, { events: {} }],
    ['the older era, as an extension', false, extension],
    ['the newer era, by its own name', true, { events: {} }],
    ['the newer era, as an extension', true, extension],
  ])('is read in %s, over its pages, by name', async (_name, modern, capabilities) => {
    const pages: Record<string, Json> = {
      '': { events: [event('b'), event('ä')], nextCursor: 'two' },
      two: { events: [event('a', { _meta: { more: 1 } }), event('B')] },
    };
    const { events, ask, server } = await connected({
      modern,
      capabilities,
      methods: {
        // As the guides show it, without resultType.
        'events/list': (id, params, response, request) =>
          result(pages[String(params.cursor ?? '')])(id, params, response, request),
        'events/unsubscribe': result({}),
      },
    });
    expect(namesOf(await events())).toEqual(['B', 'a', 'b', 'ä']);
    expect((await events())?.[1]).toMatchObject({ name: 'a', payloadSchema: schema, _meta: { more: 1 } });
    expect(await ask('events/unsubscribe')).toMatchObject({});
    const sent = server.requests.find(({ body }) => body?.method === 'events/list');
    expect(sent?.headers['mcp-method']).toBe(modern ? 'events/list' : undefined);
    expect(server.requests.filter(({ body }) => body?.method === 'initialize')).toHaveLength(modern ? 0 : 1);
  });

  test('is null where it says nothing of events, in both eras, and its list is not asked for', async () => {
    for (const modern of [false, true]) {
      const { events, server } = await connected({ modern, capabilities: {} });
      expect(await events()).toBeNull();
      expect(server.requests.some(({ body }) => body?.method === 'events/list')).toBe(false);
    }
  });

  test('loses what cannot be used and nothing else, and ends for a server whose pages never do', async () => {
    const bad = [
      null,
      7,
      {},
      { name: 'no-schemas', delivery: ['webhook'] },
      event(''),
      event('x'.repeat(201)),
      event('two\nlines'),
      event('turned\u202eround'),
      event('no-way', { delivery: [] }),
      event('words', { inputSchema: 'text' }),
      event('good', { description: 'The second.' }),
    ];
    const first = await connected({ methods: { 'events/list': result({ events: [event('good'), ...bad] }) } });
    const events = await first.events();
    expect(namesOf(events)).toEqual(['good']);
    expect(events?.[0]?.description).toBeUndefined();
    let pages = 0;
    const endless = await connected({
      methods: {
        'events/list': (id, params, response, request) => {
          pages += 1;
          const some = Array.from({ length: 10 }, (_, index) => event(`e${pages}-${index}`));
          result({ events: some, nextCursor: `page ${pages}` })(id, params, response, request);
        },
      },
    });
    expect(await endless.events()).toHaveLength(200);
    expect(pages).toBe(20);
  });
});

describe('a server that says no', () => {
  test.each([
    [-32011, 'event_not_found'],
    [-32023, 'event_not_found'],
    [-32013, 'too_many_subscriptions'],
    [-32025, 'too_many_subscriptions'],
    [-32014, 'unsupported'],
    [-32026, 'unsupported'],
    [-32601, 'unsupported'],
    [-32602, 'invalid_arguments'],
    [-32012, 'connector_error'],
    [-32603, 'connector_error'],
    [-32000, 'connector_error'],
  ])('with %i is %s, with its number and its words', async (code, reason) => {
    const { ask } = await connected({ methods: { 'events/subscribe': fault(code) } });
    await expect(ask()).rejects.toMatchObject({ reason, code, message: `It says ${code}.` });
    // Servers answer the same with a status of HTTP.
    const other = await connected({ methods: { 'events/subscribe': fault(code, undefined, 400) } });
    await expect(other.ask()).rejects.toMatchObject({ reason, code, message: `It says ${code}.` });
  });

  test.each([
    ['challenge_failed', 'challenge_failed'],
    ['connection_refused', 'connection_refused'],
    ['timeout', 'timeout'],
    ['http_5xx', 'http_5xx'],
    ['tls_error', 'challenge_failed'],
    ['http_4xx', 'challenge_failed'],
    [undefined, 'challenge_failed'],
  ])('for it could not reach the cloud (%s) is %s', async (said, reason) => {
    for (const code of [-32015, -32027]) {
      const { ask } = await connected({ methods: { 'events/subscribe': fault(code, { reason: said }) } });
      await expect(ask()).rejects.toMatchObject({ reason, code });
    }
  });
});

describe('a server that behaves badly', () => {
  test.each([
    ['a page', raw(200, 'text/html', '<h1>Welcome</h1>'), 'connector_error', null],
    ['no JSON', raw(200, 'application/json', '<html>\u0000'), 'connector_error', null],
    ['half of it', raw(200, 'application/json', '{"jsonrpc":"2.0","id":3,"resu'), 'connector_error', null],
    ['no JSON-RPC', raw(200, 'application/json', '{"hello":1}'), 'connector_error', null],
    ['a list for a result', result([1]), 'connector_error', null],
    ['a text for a result', result('fine'), 'connector_error', null],
    ['an answer of 2 MiB', result({ filler: 'x'.repeat(2 * 1024 * 1024) }), 'connector_error', null],
    ['an answer of 9 MiB', result({ filler: 'x'.repeat(9 * 1024 * 1024) }), 'connector_error', null],
    ['that it is asked too often', raw(429, 'text/plain', 'slow down'), 'connector_unreachable', 429],
    ['that it is down', raw(503, 'text/plain', 'down'), 'http_5xx', 503],
    ['that it never heard of us', raw(410, 'text/plain', 'gone'), 'connector_error', 410],
  ])('and answers %s is told by its reason, and is asked again as before', async (_name, answer, reason, code) => {
    let good = false;
    const methods: Record<string, Answer> = {
      'events/subscribe': (...all) => (good ? result({ id: 's', resultType: 'complete' }) : answer)(...all),
    };
    for (const modern of [false, true]) {
      good = false;
      const { ask, id } = await connected({ modern, methods });
      await expect(ask()).rejects.toMatchObject({ reason, code, message: expect.stringMatching(/./) });
      good = true;
      expect(await ask()).toMatchObject({ id: 's' });
      expect((await one.read(id)).status).toBe('connected');
    }
  });

  test('and answers a list that is none, hangs, is gone, is disabled or was never there, is told by its reason', async () => {
    const odd = await connected({ methods: { 'events/list': result({ events: 'none' }) } });
    await expect(odd.events()).rejects.toMatchObject({ reason: 'connector_error' });

    const hangs = await connected({ methods: { 'events/subscribe': () => {} } });
    const soon = AbortSignal.timeout(300);
    await expect(one.servers.ask(hangs.id, 'events/subscribe', {}, soon)).rejects.toMatchObject({
      reason: 'connector_timeout',
    });

    await hangs.server.close();
    await expect(hangs.ask()).rejects.toMatchObject({ reason: 'connector_unreachable', code: null });
    await one.call('PATCH', `${one.base}/${odd.id}`, { body: { enabled: false } });
    await expect(odd.ask()).rejects.toMatchObject({
      reason: 'connector_unreachable',
      message: 'The server is disabled.',
    });
    await expect(one.servers.ask('server_none', 'events/list', {}, one.signal())).rejects.toMatchObject({
      reason: 'connector_unreachable',
    });
    expect(one.servers.find('server_none')).toBeNull();
  });

  test('and lets nobody subscribe who is not signed in, though it lists for all, is told as lost, and has its sign-in begun', async () => {
    const challenge = `Bearer resource_metadata="${tracker.origin}/.well-known/oauth-protected-resource/mcp"`;
    const { ask, id, server } = await connected({
      methods: {
        'events/list': result({ events: [event('a')] }),
        'events/subscribe': (rpc, params, response, request) => {
          if (request.headers.authorization === undefined) {
            response.writeHead(401, { 'www-authenticate': challenge }).end();
          } else result({ id: 's' })(rpc, params, response, request);
        },
      },
    });
    expect(one.told.filter((line) => line.endsWith(id))).toEqual([`back ${id}`]);
    await expect(ask()).rejects.toMatchObject({ reason: 'needs_reauth', code: 401 });
    expect(one.told.filter((line) => line.endsWith(id))).toEqual([`back ${id}`, `lost ${id}`]);
    expect(await one.read(id)).toMatchObject({ status: 'needs_reauth' });
    // Its tools and its list are there as before.
    expect(namesOf(await one.servers.events(id, one.signal()))).toEqual(['a']);
    expect(server.requests.length).toBeLessThan(20);
  });

  test('and repeats the key that it was sent does not have it shown', async () => {
    const server = await serveEvents({
      methods: {
        'events/subscribe': (id, _params, response, request) =>
          void response.writeHead(200, { 'content-type': 'application/json' }).end(
            JSON.stringify({
              jsonrpc: '2.0',
              id,
              error: { code: -32000, message: `Bad ${request.headers.authorization}` },
            }),
          ),
      },
    });
    const { id } = await one.connect('tells', server.url, { type: 'api_key', key: 'key-that-is-secret' });
    await one.until(id, 'connected');
    const asked = one.servers.ask(id, 'events/subscribe', {}, one.signal());
    await expect(asked).rejects.toMatchObject({
      reason: 'connector_error',
      message: expect.not.stringContaining('secret'),
    });
  });
});

test('the tracker is listed and subscribed to in its own words, and its misbehaviour told', async () => {
  const { id } = await one.connect('tracker', tracker.url, { type: 'api_key', key: 'key-of-ann' });
  await one.until(id, 'connected');
  expect(namesOf(await one.servers.events(id, one.signal()))).toEqual([
    'issue.closed',
    'issue.commented',
    'issue.opened',
  ]);
  const ask = (name: string) =>
    one.servers.ask(
      id,
      'events/subscribe',
      {
        name,
        arguments: { project: 'docs' },
        delivery: { mode: 'webhook', url: 'http://127.0.0.1:9/none', secret: `whsec_${'A'.repeat(43)}=` },
      },
      one.signal(),
    );
  await expect(ask('issue.nothing')).rejects.toMatchObject({ reason: 'event_not_found', code: -32011 });
  await expect(ask('issue.opened')).rejects.toMatchObject({ code: -32015 });
  tracker.faults.answerWith('rate_limited', { method: 'events/subscribe' });
  await expect(ask('issue.opened')).rejects.toMatchObject({ reason: 'connector_unreachable', code: 429 });
  tracker.faults.answerWith('wrong_shape', { method: 'events/list' });
  await expect(one.servers.events(id, one.signal())).rejects.toMatchObject({ reason: 'connector_error' });
});
