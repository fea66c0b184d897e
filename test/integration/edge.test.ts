/**
 * The edge with everything behind it: a cloud of many people, two people's computers with bots, and clients that others
 * wrote. One bot's connector reaches neither another bot nor another person.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { request as ask, createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEvent as Event,
  type Experimental_MCPEventSubscription as Subscription,
} from '@ai-sdk/mcp';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../src/contracts/common/route.ts';
import type { EdgeApp } from '../../src/contracts/edge/routes.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import { defaultPushSettings } from '../../src/host/push-settings.ts';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { type Installation, pairUp, signIn, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { runScenario } from '../support/mcp/conformance.ts';
import { text } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';

const stop = keepUntilEnd();
const info = { name: 'test', version: '1.0.0' };
let people: People;
let ada: Person;
let installation: Installation;
let bots: Record<'helper' | 'other' | 'front' | 'theirs', Agent>;
let keys: Record<'ada' | 'bob', string>;
beforeAll(async () => {
  const model = await startModelServer();
  onEnd(() => model.close());
  model.script(({ lastUser }) => text(`You said: ${lastUser.split('\n').at(-1)}`));
  const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-test-0123456789' };
  people = await startPeople({ settings: { push: { ...defaultPushSettings, allow: ['127.0.0.1'] } } });
  const withBots = async (name: string, team: string, names: readonly string[]) => {
    const home = scratchHome();
    const folder = join(home, 'ws', '.gantry', 'teams', team);
    mkdirSync(folder, { recursive: true });
    const kinds = { hosted: 'binding: hosted, model: claude-haiku-4-5', front: 'binding: vendor, vendor: desk' };
    const lines = names.map((bot) => `  - { bot: ${bot}, ${bot === 'front' ? kinds.front : kinds.hosted} }`);
    writeFileSync(join(folder, 'team.yaml'), `bots:\n${lines.join('\n')}\n`);
    const [its, person] = await Promise.all([startInstallation({ home, env }), signIn(people, name)]);
    await pairUp(its, people, person);
    expect((await its.web('POST', `/api/factory/teams/${team}/up`, { body: {} })).status).toBe(200);
    const { agents } = (await its.web('GET', '/api/factory/agents')).json as never as { agents: Agent[] };
    return { installation: its, person, agents };
  };
  const hers = await withBots('ada', 'ops', ['helper', 'other', 'front']);
  const his = await withBots('bob', 'his', ['theirs']);
  ({ installation, person: ada } = hers);
  const all = [...hers.agents, ...his.agents];
  const named = (slug: string) => all.find((one) => one.slug === slug)!;
  bots = { helper: named('helper'), other: named('other'), front: named('front'), theirs: named('theirs') };
  keys = {
    ada: await keyOf(ada, ['agents:read', 'bots:act']),
    bob: await keyOf(his.person, ['agents:read', 'bots:act']),
  };
}, 60_000);
afterAll(stop);

async function keyOf(person: Person, scopes: readonly Scope[], name = 'app'): Promise<string> {
  const made = await person.call('POST', '/api/v1/keys', { body: { name, scopes } });
  return (made.json as never as { secret: string }).secret;
}
const agentsUrl = () => `${people.origin}/edge/mcp`;
const botUrl = (id: string) => `${agentsUrl()}/bots/${id}`;

interface Called<T> {
  readonly isError: boolean;
  readonly structuredContent: T & { readonly error?: string };
}
async function callOver<T>(url: string, key: string, name: string, args: object = {}): Promise<Called<T>> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  return ((await answer.json()) as { result: Called<T> }).result;
}
/** By ada's key, at her bot's connector unless told. */
const said = <T>(name: string, args: object = {}, url = botUrl(bots.helper.id), key = keys.ada) =>
  callOver<T>(url, key, name, args);

interface Sent {
  readonly threadId: string;
  readonly id: string;
  readonly state: string;
}
interface Replies {
  readonly replies: { text: string; from: string }[];
}
interface Runs {
  readonly runs: { id: string; botId: string; status: string }[];
}

/** Has said it, and waits for the answer. */
async function talk(words: string, more: object = {}): Promise<Sent> {
  const sent = (await said<Sent>('send_message', { text: words, ...more })).structuredContent;
  const replies = async () =>
    (await said<Replies>('get_replies', { threadId: sent.threadId })).structuredContent.replies.map((one) => one.text);
  await expect.poll(replies).toContain(`You said: ${words}`);
  return sent;
}

test('an app reads a person’s bots, their words, runs and boards', async () => {
  await talk('hello');
  const read = <T>(name: string, args: object = {}) => said<T>(name, args, agentsUrl());
  const { agents } = (await read<{ agents: Agent[] }>('list_agents')).structuredContent;
  expect(agents.map(({ slug }) => slug).toSorted()).toEqual(['front', 'helper', 'other']);
  for (const agent of [bots.helper.id, bots.helper.address]) {
    expect((await read('get_agent', { agent })).structuredContent).toMatchObject({ id: bots.helper.id });
  }
  const { chunks } = (await read<{ chunks: { text: string }[] }>('read_transcript', { agent: bots.helper.id }))
    .structuredContent;
  expect(chunks.map((chunk) => chunk.text).join('')).toContain('You said: hello');
  const { runs } = (await read<Runs>('list_runs', { agent: bots.helper.address, status: 'completed' }))
    .structuredContent;
  const run = runs.at(-1)!.id;
  expect((await read('get_run', { run })).structuredContent).toMatchObject({ id: run, botId: bots.helper.id });
  expect((await read('get_run', { run })).structuredContent).not.toHaveProperty('output');
  expect((await read('get_run_result', { run })).structuredContent).toMatchObject({
    status: 'completed',
    output: 'You said: hello',
    error: null,
  });
  expect((await read('list_campaigns')).structuredContent).toEqual({ campaigns: [] });
  const made = await installation.web('POST', '/api/factory/campaigns', {
    body: { title: 'Moon', intent: 'Get there' },
  });
  const campaign = (made.json as never as { id: string }).id;
  expect((await read('get_board', { campaign })).structuredContent).toMatchObject({ campaign: { title: 'Moon' } });
  expect(await read('get_board', { campaign: 'nowhere' })).toMatchObject({
    isError: true,
    structuredContent: { error: 'not_found' },
  });
});

test('boards and runs are resources at the edge as at the tool server, and a connector of one bot shows its runs alone', async () => {
  await talk('for the list');
  const made = await installation.web('POST', '/api/factory/campaigns', {
    body: { title: 'Mars', intent: 'Get there' },
  });
  const campaign = (made.json as never as { id: string }).id;
  interface Answer {
    readonly result: {
      prompts: object[];
      resources: { uri: string }[];
      resourceTemplates: object[];
      contents: { text: string }[];
    };
    readonly error?: { code: number };
  }
  const ask = async (url: string, method: string, params: object = {}): Promise<Answer> => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys.ada}`,
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await answer.json()) as Answer;
  };
  const listed = async (url: string) => (await ask(url, 'resources/list')).result.resources.map(({ uri }) => uri);
  const read = async (url: string, uri: string) => {
    const { result, error } = await ask(url, 'resources/read', { uri });
    return error === undefined ? (JSON.parse(result.contents[0]?.text ?? '') as object) : error.code;
  };
  for (const url of [agentsUrl(), botUrl(bots.helper.id)])
    expect((await ask(url, 'prompts/list')).result.prompts).toEqual([]);
  const all = await listed(agentsUrl());
  expect(all).toEqual(all.toSorted());
  expect(all).toContain(`gantry://boards/${campaign}`);
  expect(await read(agentsUrl(), `gantry://boards/${campaign}`)).toMatchObject({ campaign: { title: 'Mars' } });
  const [run] = all.filter((uri) => uri.startsWith('gantry://runs/'));
  expect(await read(agentsUrl(), run!)).toMatchObject({ botId: bots.helper.id });
  expect(await read(botUrl(bots.helper.id), run!)).toMatchObject({ botId: bots.helper.id });
  expect((await listed(botUrl(bots.helper.id))).every((uri) => uri.startsWith('gantry://runs/'))).toBe(true);
  // Another bot's run, a board and a file are as unknown to a connector as what never was.
  expect(await listed(botUrl(bots.other.id))).toEqual([]);
  for (const uri of [run!, `gantry://boards/${campaign}`, 'file:///etc/passwd', 'gantry://runs/%']) {
    expect([uri, await read(botUrl(bots.other.id), uri)]).toEqual([uri, -32002]);
  }
  expect((await ask(agentsUrl(), 'resources/templates/list')).result.resourceTemplates).toHaveLength(2);
  expect((await ask(botUrl(bots.helper.id), 'resources/templates/list')).result.resourceTemplates).toHaveLength(1);
});

test('an app talks to its bot in a thread of its own, and a message with a key is sent once', async () => {
  const first = await talk('one', { idempotencyKey: 'k1' });
  const again = (await said<Sent>('send_message', { text: 'one', idempotencyKey: 'k1' })).structuredContent;
  expect([again.id, again.threadId]).toEqual([first.id, first.threadId]);
  const next = await talk('two', { threadId: first.threadId });
  expect(next.threadId).toBe(first.threadId);
  const { replies } = (await said<Replies>('get_replies', { threadId: first.threadId })).structuredContent;
  expect(replies.map((one) => one.text)).toEqual(['You said: two', 'You said: one']);
  expect(new Set(replies.map(({ from }) => from))).toEqual(new Set([bots.helper.address]));
  // The same key of another app is another message.
  const other = await keyOf(ada, ['bots:act'], 'another app');
  const apart = await said<Sent>('send_message', { text: 'one', idempotencyKey: 'k1' }, botUrl(bots.helper.id), other);
  expect(apart.structuredContent.id).not.toBe(first.id);
});

test('the app of a vendor’s bot hears of a ticket, reads what was written, and answers as the bot in that thread alone', async () => {
  const at = botUrl(bots.front.id);
  const events: Event[] = [];
  const { client } = await subscribing(at, 'Front', { onEvent: async ({ event }) => void events.push(event) });
  await client.subscribe('vendor.ticket.created');
  const opened = await installation.web('POST', '/api/factory/threads', {
    body: { title: 'A question', bot: bots.front.id },
  });
  const { id: threadId } = opened.json as never as { id: string };
  await installation.web('POST', '/api/factory/send', {
    body: { to: bots.front.address, text: 'Are you open?', threadId },
  });
  await expect.poll(() => events.length).toBe(1);
  expect(events[0]?.data).toMatchObject({ threadId, botId: bots.front.id });
  const { replies } = (await said<Replies>('get_replies', { threadId }, at)).structuredContent;
  expect(replies).toMatchObject([{ text: 'Are you open?', from: 'owner' }]);
  const answer = { text: 'Until six.', threadId, idempotencyKey: 'a1' };
  for (const _ of [1, 2]) expect(await said('send_message', answer, at)).toMatchObject({ isError: false });
  const messages = async () => {
    const { json } = await installation.web('GET', `/api/factory/threads/${threadId}/messages`);
    return (json as never as { messages: object[] }).messages;
  };
  expect(await messages()).toMatchObject([
    { text: 'Until six.', from: bots.front.address, direction: 'out' },
    { text: 'Are you open?', direction: 'in' },
  ]);
  expect(await said('send_message', { text: 'Hello?' }, at)).toMatchObject({
    isError: true,
    structuredContent: { error: 'bad_request' },
  });
  // Nobody speaks as a bot that has a voice of its own, or where that bot was never written to.
  const elsewhere = (await said<Sent>('send_message', { text: 'hi' })).structuredContent.threadId;
  expect(await said('send_message', { text: 'hi', threadId: elsewhere }, at)).toMatchObject({ isError: true });
  const as = async (bot: Agent, to: string) =>
    (await installation.web('POST', '/api/factory/send', { body: { to, text: 'x', as: bot.id } })).status;
  expect(await as(bots.helper, `channel:${elsewhere}`)).toBe(403);
  expect(await as(bots.front, `channel:${elsewhere}`)).toBe(404);
  expect(await as(bots.front, bots.helper.id)).toBe(400);
  expect(await messages()).toHaveLength(2);
});

describe('the connector of one bot', () => {
  const notFound = { isError: true, structuredContent: { error: 'not_found' } };

  test('reaches no other bot of its person', async () => {
    const opened = await installation.web('POST', '/api/factory/threads', {
      body: { title: 'other', bot: bots.other.address },
    });
    const threadId = String((opened.json as never as { id: string }).id);
    await installation.web('POST', '/api/factory/send', { body: { to: bots.other.id, text: 'secret', threadId } });
    const runsOf = async (agent: string) =>
      (await said<Runs>('list_runs', { agent, status: 'completed' }, agentsUrl())).structuredContent.runs;
    await expect.poll(async () => (await runsOf(bots.other.id)).length).toBeGreaterThan(0);
    const [run] = await runsOf(bots.other.id);
    expect(await said('get_run', { run: run!.id })).toMatchObject(notFound);
    expect(await said('get_run_result', { run: run!.id })).toMatchObject(notFound);
    expect(await said('get_replies', { threadId })).toMatchObject(notFound);
    expect(await said('send_message', { text: 'hi', threadId })).toMatchObject(notFound);
    const { runs } = (await said<Runs>('list_runs', {})).structuredContent;
    expect(new Set(runs.map(({ botId }) => botId))).toEqual(new Set([bots.helper.id]));
    expect(await said('list_runs', { agent: bots.other.id })).toMatchObject({
      isError: true,
      structuredContent: { error: 'bad_request' },
    });
    for (const name of ['list_agents', 'read_transcript', 'get_board']) {
      expect(await said(name, { agent: bots.other.id })).toBeUndefined();
    }
  });

  test('shows of a thread with its bot what that bot wrote alone', async () => {
    const { threadId } = await talk('mine');
    await installation.web('POST', '/api/factory/send', { body: { to: bots.other.id, text: 'aside', threadId } });
    const all = async () => {
      const { json } = await installation.web('GET', `/api/factory/threads/${threadId}/messages`);
      return (json as never as { messages: { from: string }[] }).messages.map(({ from }) => from);
    };
    await expect.poll(all).toContain(bots.other.address);
    const { replies } = (await said<Replies>('get_replies', { threadId })).structuredContent;
    expect(replies.map((one) => one.text)).toEqual(['You said: mine']);
  });

  test('reaches no bot of another person, and nothing at all by an address or a made-up id', async () => {
    const { threadId } = await talk('hers');
    const run = (await said<Runs>('list_runs', {})).structuredContent.runs[0]!.id;
    const calls = [
      ['send_message', { text: 'hi' }],
      ['get_replies', { threadId }],
      ['list_runs', {}],
      ['get_run', { run }],
    ] as const;
    for (const [name, args] of calls) {
      expect(await said(name, args, botUrl(bots.helper.id), keys.bob)).toMatchObject(notFound);
      expect(await said(name, args, botUrl(bots.theirs.id), keys.ada)).toMatchObject(notFound);
    }
    // His own bot is his, and still nothing of hers is.
    for (const [name, args] of calls.filter(([, args]) => 'run' in args || 'threadId' in args)) {
      expect(await said(name, args, botUrl(bots.theirs.id), keys.bob)).toMatchObject(notFound);
    }
    for (const id of [bots.helper.address, `channel:${threadId}`, 'bot_nowhere']) {
      expect(await said('send_message', { text: 'hi' }, botUrl(id))).toMatchObject(notFound);
    }
    const named = `${botUrl(bots.helper.id)}?computer=${(await installation.pairing()).computerId}`;
    expect(await said('list_runs', {}, named, keys.bob)).toMatchObject(notFound);
    expect(await said('list_runs', {}, named)).toMatchObject({ isError: false });
  });
});

describe('clients that nobody here wrote', () => {
  const requestInit = () => ({ headers: { authorization: `Bearer ${keys.ada}` } });
  const list = { name: 'list_runs', arguments: {} };

  test.each([
    ['auto', '2026-07-28'],
    [{ pin: '2026-07-28' }, '2026-07-28'],
    ['legacy', '2025-11-25'],
  ] as const)('the official client, version 2 (%j)', async (mode, version) => {
    for (const url of [agentsUrl(), botUrl(bots.helper.id)]) {
      const client = new Client2(info, { versionNegotiation: { mode } });
      await client.connect(new Transport2(new URL(url), { requestInit: requestInit() }));
      expect(client.getNegotiatedProtocolVersion()).toBe(version);
      // Before 2026-07-28 tasks are a capability of their own.
      const asExtension = url !== agentsUrl() && version === '2026-07-28';
      expect(client.getServerCapabilities()?.extensions).toEqual({
        'io.modelcontextprotocol/events': {},
        ...(asExtension ? { 'io.modelcontextprotocol/tasks': {} } : {}),
      });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get_run');
      expect(await client.callTool(list)).toMatchObject({ isError: false, structuredContent: { nextCursor: null } });
      await client.close();
    }
  });

  test('the official client, version 1', async () => {
    for (const url of [agentsUrl(), botUrl(bots.helper.id)]) {
      const client = new Client1(info);
      await client.connect(new Transport1(new URL(url), { requestInit: requestInit() }));
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get_run');
      expect(await client.callTool(list)).toMatchObject({ isError: false, structuredContent: { nextCursor: null } });
      await client.close();
    }
  });

  test('the AI SDK’s client subscribes, its receiver takes what happens, and hears when the owner ends it', async () => {
    const events: Event[] = [];
    const ended: unknown[] = [];
    const { client, rows } = await subscribing(botUrl(bots.helper.id), 'AI SDK', {
      onEvent: async ({ event }) => void events.push(event),
      onTerminated: async ({ termination }) => void ended.push(termination),
    });
    expect(await client.names()).toContain('agent.run.completed');
    const subscribed = await client.subscribe('agent.run.completed');
    expect(await client.refresh(subscribed.id)).toMatchObject({ id: subscribed.id });
    await talk('tell them');
    await expect.poll(() => events.length).toBeGreaterThan(0);
    expect(events[0]).toMatchObject({
      name: 'agent.run.completed',
      data: { botId: bots.helper.id, status: 'completed' },
    });
    const apps = async () =>
      ((await ada.call('GET', '/api/v1/mcp/approvals')).json as never as { apps: EdgeApp[] }).apps.find(
        ({ clientName }) => clientName === 'AI SDK',
      )?.subscriptions;
    expect(await apps()).toEqual([
      expect.objectContaining({ id: subscribed.id, server: `bots/${bots.helper.id}`, status: 'active' }),
    ]);
    const path = `/api/v1/mcp/events/subscriptions/${subscribed.id}`;
    expect((await ada.call('DELETE', path)).status).toBe(204);
    await expect.poll(() => ended.length).toBe(1);
    expect(ended[0]).toMatchObject({ type: 'terminated', error: { code: -32012 } });
    expect(await apps()).toEqual([]);
    expect((await ada.call('DELETE', path)).status).toBe(404);
    expect(rows.size).toBe(0);
  });
});

/** Scenarios of the protocol's own suite that need no prompts, resources or tools of theirs; where one asks for such a tool besides, it says so. */
const needsItsTool = 'Not testable: server does not list the diagnostic tool';
const scenarios = {
  '2026-07-28': ['server-stateless', 'http-header-validation'],
  '2025-11-25': ['server-initialize', 'tools-list'],
} as const;
test.each(Object.entries(scenarios).flatMap(([version, names]) => names.map((name) => [version, name] as const)))(
  'the protocol’s suite of %s finds nothing wrong with either server: %s',
  async (version, scenario) => {
    const urls = [agentsUrl(), botUrl(bots.helper.id)];
    const results = await Promise.all(urls.map(async (url) => runScenario(scenario, version, await withKey(url))));
    const faults = results.flatMap((result) => result.faults);
    expect(faults.filter((fault) => !fault.includes(needsItsTool))).toEqual([]);
  },
);

test('while the computer is away events and lists are answered, and a call says since when', async () => {
  await installation.gantry.close({ stopBots: true });
  const away = () => said('list_agents', {}, agentsUrl());
  await expect.poll(async () => (await away()).structuredContent.error).toBe('computer_unavailable');
  expect((await away()).structuredContent).toMatchObject({ since: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(await said('send_message', { text: 'hi' })).toMatchObject({ isError: true });
  for (const method of ['events/list', 'tools/list']) {
    const answer = await fetch(botUrl(bots.helper.id), {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.ada}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    });
    expect([method, Object.keys((await answer.json()) as object)]).toEqual([method, ['jsonrpc', 'id', 'result']]);
  }
});

/** An app made of the AI SDK: its client with a key of ada's, and its receiver at an address of its own. */
async function subscribing(
  at: string,
  name: string,
  heard: Omit<Parameters<typeof createWebhook>[0], 'store'>,
): Promise<{
  rows: ReadonlyMap<string, Subscription>;
  client: {
    names(): Promise<string[]>;
    subscribe(event: string): Promise<{ id: string }>;
    refresh(id: string): Promise<{ id: string }>;
  };
}> {
  const rows = new Map<string, Subscription>();
  const store = {
    get: async (key: string) => rows.get(key),
    getById: async (id: string) => [...rows.values()].find((row) => row.id === id),
    set: async (row: Subscription) => void rows.set(row.key, row),
    update: async (key: string, patch: Partial<Subscription>) => void rows.set(key, { ...rows.get(key)!, ...patch }),
    delete: async (key: string) => void rows.delete(key),
  };
  const url = await serveWebhook(createWebhook({ store, ...heard }));
  const key = await keyOf(ada, ['bots:act'], name);
  const client = await createMCPClient({
    transport: { type: 'http', url: at, headers: { authorization: `Bearer ${key}` } },
    experimental_events: { store },
  });
  onEnd(() => client.close());
  const { experimental_events: events } = client;
  const delivery = { mode: 'webhook' as const, url, allowInsecureLocalhost: true };
  return {
    rows,
    client: {
      names: async () => (await events.list()).events.map((event) => event.name),
      subscribe: (event) => events.subscribe({ name: event, delivery }),
      refresh: (id) => events.refresh({ id }),
    },
  };
}

/** The receiver at an address of its own. */
async function serveWebhook(receive: (request: Request) => Promise<Response>): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const body = await bytesOf(incoming);
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const url = `http://127.0.0.1${incoming.url}`;
    const answer = await receive(new Request(url, { method: 'POST', headers, body: new Uint8Array(body) }));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

/** The suite sends no credential: it asks this address, which adds one. */
async function withKey(url: string): Promise<string> {
  const target = new URL(url);
  const server = createServer(async (incoming, outgoing) => {
    const body = await bytesOf(incoming);
    const headers = { ...incoming.headers, authorization: `Bearer ${keys.ada}`, host: target.host };
    const options = {
      host: target.hostname,
      port: target.port,
      path: target.pathname,
      method: incoming.method,
      headers,
    };
    ask(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`;
}

async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
