/** The edge of a cloud of many people while no computer is linked: who gets in, what is answered, and what is kept. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../../src/contracts/common/route.ts';
import type { CatalogEvent, EdgeApp } from '../../../src/contracts/edge/routes.ts';
import { notifiableEventNames } from '../../../src/contracts/events/registry.ts';
import {
  legacyVersions,
  mcpMeta,
  mcpVersions,
  modernVersion,
  rpcCodes,
} from '../../../src/contracts/tool-server/mcp.ts';
import { keepUntilEnd, type Reply } from '../../kit/http/support.ts';
import { accessTokenOf, signInAs } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from '../identity/support.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let bob: Person;
let reader: string;
let actor: string;
beforeAll(async () => {
  people = await startPeople();
  [ada, bob] = (await Promise.all(
    ['ada', 'bob'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  )) as [Person, Person];
  reader = (await keyOf(['agents:read'], 'Reader')).secret;
  actor = (await keyOf(['bots:act'], 'Actor')).secret;
});
afterAll(stop);

const agents = '/edge/mcp';
const bot = '/edge/mcp/bots/bot_1';

async function keyOf(scopes: readonly Scope[], name: string, person = ada): Promise<{ id: string; secret: string }> {
  const made = await person.call('POST', '/api/v1/keys', { body: { name, scopes } });
  expect(made.status).toBe(201);
  const { key, secret } = made.json as never as { key: { id: string }; secret: string };
  return { id: key.id, secret };
}
async function tokenFor(path: string, scope: string, name = 'ada'): Promise<string> {
  const resource = `${people.origin}${path}`;
  return (await accessTokenOf(name, { issuer: people.provider.issuer, resource, scope })).accessToken;
}

/** As a client of 2026-07-28 asks, with every header; `null` leaves one out. */
function ask(
  path: string,
  token: string | null,
  method: string,
  params: { readonly name?: string } & Record<string, unknown> = {},
  more: Record<string, string | null> = {},
): Promise<Reply> {
  const _meta = { [mcpMeta.version]: modernVersion, [mcpMeta.clientCapabilities]: {} };
  const given = {
    'mcp-protocol-version': modernVersion,
    'mcp-method': method,
    'mcp-name': params.name ?? null,
    ...more,
  };
  const headers = Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return people.call('POST', path, { token, body, headers });
}
const resultOf = <T>(reply: Reply): T => (reply.json as never as { result: T }).result;
const appsOf = async (person: Person) =>
  ((await person.call('GET', '/api/v1/mcp/approvals')).json as never as { apps: EdgeApp[] }).apps;

interface About {
  readonly capabilities: object;
  readonly supportedVersions: string[];
}
interface Called {
  readonly isError: boolean;
  readonly structuredContent: Record<string, unknown>;
}
const eventsCapability = { events: {}, extensions: { 'io.modelcontextprotocol/events': {} } };

test('both servers say the events extension under both names, in both eras, and list while no computer is there', async () => {
  const wanted = {
    [agents]: {
      token: reader,
      tools: 'get_agent get_board get_run get_run_result list_agents list_campaigns list_runs read_transcript',
      tasks: {},
    },
    [bot]: {
      token: actor,
      tools: 'get_replies get_run get_run_result list_runs request_approval send_message',
      tasks: { 'io.modelcontextprotocol/tasks': {} },
    },
  };
  for (const [path, { token, tools: names, tasks }] of Object.entries(wanted)) {
    const discovered = resultOf<About>(await ask(path, token, 'server/discover'));
    expect(discovered.supportedVersions).toEqual(mcpVersions);
    const { extensions } = eventsCapability;
    expect(discovered.capabilities).toEqual({
      ...{ tools: {}, prompts: {}, resources: {}, events: {} },
      extensions: { ...extensions, ...tasks },
    });
    for (const protocolVersion of legacyVersions) {
      const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion } };
      const begun = await people.call('POST', path, { token, body });
      expect(resultOf(begun)).toMatchObject({ protocolVersion, capabilities: eventsCapability });
    }
    const { events } = resultOf<{ events: { name: string }[] }>(await ask(path, token, 'events/list'));
    expect(events.map(({ name }) => name)).toContain('agent.run.completed');
    expect(events.some(({ name }) => name === 'usage.threshold')).toBe(path === agents);
    const listed = resultOf<{ tools: { name: string; inputSchema: { type: string } }[] }>(
      await ask(path, token, 'tools/list'),
    );
    expect(listed.tools.map(({ name }) => name).join(' ')).toBe(names);
    expect(new Set(listed.tools.map(({ inputSchema }) => inputSchema.type))).toEqual(new Set(['object']));
  }
});

test('a call while no computer is paired, and what a tool does not take, is a result that says so', async () => {
  const nobody = resultOf<Called>(await ask(agents, reader, 'tools/call', { name: 'list_agents', arguments: {} }));
  expect([nobody.isError, nobody.structuredContent.error]).toEqual([true, 'not_found']);
  const wrong = await ask(agents, reader, 'tools/call', { name: 'get_agent', arguments: { agent: '../keys' } });
  expect(resultOf<Called>(wrong)).toMatchObject({ isError: true, structuredContent: { error: 'bad_request' } });
  const unknown = await ask(agents, reader, 'tools/call', { name: 'send_message', arguments: { text: 'hi' } });
  expect([unknown.status, unknown.json.error.code]).toEqual([200, rpcCodes.invalidParams]);
});

test('a request of 2026-07-28 without one of its headers is refused, an older one is served', async () => {
  const listAgents = { name: 'list_agents', arguments: {} };
  const lacking: [string, Promise<Reply>][] = [
    ['version', ask(agents, reader, 'tools/list', {}, { 'mcp-protocol-version': null })],
    ['method', ask(agents, reader, 'tools/list', {}, { 'mcp-method': null })],
    ['name', ask(agents, reader, 'tools/call', listAgents, { 'mcp-name': null })],
    ['another method', ask(agents, reader, 'tools/list', {}, { 'mcp-method': 'tools/call' })],
    ['another name', ask(agents, reader, 'tools/call', listAgents, { 'mcp-name': 'get_agent' })],
    ['events', ask(bot, actor, 'events/list', {}, { 'mcp-method': null })],
  ];
  for (const [what, asked] of lacking) {
    const reply = await asked;
    expect([what, reply.status, reply.json.error.code]).toEqual([what, 400, rpcCodes.headerMismatch]);
  }
  const older: Record<string, string>[] = [{}, { 'mcp-protocol-version': '2025-11-25' }];
  for (const headers of older) {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await people.call('POST', agents, { token: reader, body, headers })).status).toBe(200);
  }
});

test('a token for one of them is none for another, however the path is written, and each says where to get its own', async () => {
  const other = '/edge/mcp/bots/bot_2';
  const audiences = ['', '/mcp/server', agents, bot, other];
  const tokens = await Promise.all(audiences.map((path) => tokenFor(path, 'agents:read bots:act')));
  // `/mcp/server` has a test of its own; bad credentials have a budget.
  for (const path of [agents, bot]) {
    for (const [at, audience] of audiences.entries()) {
      const reply = await ask(path, tokens[at]!, 'server/discover');
      expect([path, audience, reply.status]).toEqual([path, audience, path === audience ? 200 : 401]);
      if (reply.status === 200) continue;
      const metadata = `${people.origin}/.well-known/oauth-protected-resource${path}`;
      expect(reply.headers['www-authenticate']).toContain(`resource_metadata="${metadata}"`);
    }
  }
  for (const path of ['/edge/mcp/bots/bot%5F1', '/edge/mc%70', '/edge/%6Dcp/bots/bot_1', '/mcp/serve%72']) {
    const { status } = await ask(path, tokens[0]!, 'ping');
    expect([path, [401, 404].includes(status)]).toEqual([path, true]);
  }
  const described = async (path: string) =>
    (await people.call('GET', `/.well-known/oauth-protected-resource${path}`)).json as never as object;
  expect(await described(agents)).toMatchObject({
    resource: people.origin + agents,
    scopes_supported: ['agents:read'],
  });
  expect(await described(bot)).toMatchObject({ resource: people.origin + bot, scopes_supported: ['bots:act'] });
});

test('who has no credential, or not the scope, is challenged for it; nothing but POST is served', async () => {
  for (const [path, scope, wrong] of [
    [agents, 'agents:read', actor],
    [bot, 'bots:act', reader],
  ] as const) {
    const nobody = await people.call('POST', path, { token: null, raw: '{"not json' });
    expect([nobody.status, nobody.headers['www-authenticate']]).toEqual([
      401,
      expect.stringContaining(`scope="${scope}"`),
    ]);
    const lacking = await ask(path, wrong, 'server/discover');
    expect([lacking.status, lacking.headers['www-authenticate']]).toEqual([
      403,
      expect.stringContaining(`error="insufficient_scope", scope="${scope}"`),
    ]);
    for (const method of ['GET', 'DELETE']) {
      const reply = await people.call(method, path, { token: reader });
      expect([reply.status, reply.headers.allow, Object.keys(reply.json)]).toEqual([
        405,
        'POST',
        ['jsonrpc', 'id', 'error'],
      ]);
    }
  }
});

test('an app is listed from its first accepted use on, to its person alone, until its key is revoked', async () => {
  const names = async () => (await appsOf(ada)).map(({ clientName }) => clientName);
  const key = await keyOf(['agents:read'], 'Brief guest');
  expect(await names()).not.toContain('Brief guest');
  expect((await ask(bot, key.secret, 'ping')).status).toBe(403);
  expect(await names()).not.toContain('Brief guest');
  await ask(agents, key.secret, 'server/discover');
  const before = (await appsOf(ada)).find(({ clientName }) => clientName === 'Brief guest');
  expect(before).toEqual({
    clientId: `key:${key.id}`,
    clientName: 'Brief guest',
    approvedAt: expect.any(String),
    scopes: ['agents:read'],
    subscriptions: [],
  });
  people.clock.move(60_000);
  await ask(agents, key.secret, 'events/list');
  expect((await appsOf(ada)).find(({ clientId }) => clientId === before?.clientId)).toEqual(before);
  expect(await appsOf(bob)).toEqual([]);
  await ada.call('DELETE', `/api/v1/keys/${key.id}`);
  expect((await ask(agents, key.secret, 'events/list')).status).toBe(401);
  expect(await names()).not.toContain('Brief guest');
});

test('a program with a token of the provider is an app by its client id; a person in person is none', async () => {
  await ask(agents, await tokenFor(agents, 'agents:read', 'bob'), 'events/list');
  expect(await appsOf(bob)).toEqual([
    expect.objectContaining({ clientId: 'tool', clientName: 'tool', scopes: ['agents:read'] }),
  ]);
  await ask(bot, await tokenFor(bot, 'bots:act agents:read', 'bob'), 'events/list');
  expect((await appsOf(bob)).map(({ scopes }) => scopes)).toEqual([['agents:read', 'bots:act']]);
  const before = (await appsOf(ada)).length;
  const own = await ada.call('POST', agents, { body: { jsonrpc: '2.0', id: 1, method: 'events/list' } });
  expect(own.status).toBe(200);
  expect((await appsOf(ada)).length).toBe(before);
  for (const path of ['/api/v1/mcp/approvals', '/api/v1/events/catalog']) {
    expect([401, 403]).toContain((await people.call('GET', path, { token: reader })).status);
  }
});

test('the catalog has every event of the registry with plain words, and is what the servers list', async () => {
  const { events } = (await ada.call('GET', '/api/v1/events/catalog')).json as never as { events: CatalogEvent[] };
  expect(events.map(({ event }) => event)).toEqual(notifiableEventNames.toSorted());
  for (const { title, description, payloadSchema } of events) {
    expect(title.length * description.length).toBeGreaterThan(0);
    expect(payloadSchema).toMatchObject({ type: 'object' });
  }
  const listed = resultOf<{ events: { name: string; payloadSchema: object }[] }>(await ask(bot, actor, 'events/list'));
  const ofBots = events.filter(({ servers }) => servers.includes('bots'));
  expect(listed.events.map(({ name, payloadSchema }) => [name, payloadSchema])).toEqual(
    ofBots.map(({ event, payloadSchema }) => [event, payloadSchema]),
  );
});

test('whoever opens its root reads addresses, versions and events, on a page that can run nothing', async () => {
  const opened = {
    accept: 'text/html,application/xhtml+xml',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  const page = await people.call('GET', '/edge', {
    token: null,
    headers: { ...opened, 'sec-fetch-site': 'cross-site' },
  });
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers['content-security-policy']).toContain("default-src 'none'");
  for (const text of [
    `${people.origin}/edge/mcp`,
    '/edge/mcp/bots/&#60;bot id&#62;',
    ...mcpVersions,
    ...notifiableEventNames,
  ]) {
    expect([text, page.text.includes(text)]).toEqual([text, true]);
  }
  expect(page.text).not.toContain('<script');
  const plain = await people.call('GET', '/edge', { token: null, headers: { accept: 'application/json' } });
  expect((plain.json as never as { servers: { url: string }[] }).servers.map(({ url }) => url)).toEqual([
    `${people.origin}/edge/mcp`,
    `${people.origin}/edge/mcp/bots/<bot id>`,
  ]);
  expect((await people.call('GET', '/edge/', { token: null })).status).toBe(404);
});
