/**
 * A server of events that shares no code with the product, and behaves badly when told to, is connected to a whole Gantry: what becomes
 * of each delivery and each answer is what its person reads in the trail and in the subscription.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Connector } from '../../src/contracts/connectors/connector.ts';
import type { ConnectorEvents, Subscription, TrailEvent } from '../../src/contracts/connectors/subscription.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { Ticket } from '../../src/contracts/factory/work-engine/tickets.ts';
import { type Installation, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import type { AnswerFault, DeliveryFault } from '../support/issue-tracker/faults.ts';
import type { EventShape } from '../support/issue-tracker/shapes.ts';
import { type IssueTracker, startIssueTracker } from '../support/issue-tracker/tracker.ts';

const stop = keepUntilEnd();
const waiting = { timeout: 20_000 };
/** Schemas that no server should have; each is an event that a project has once in a while. */
const nested = (depth: number): object => (depth === 0 ? { type: 'string' } : { properties: { a: nested(depth - 1) } });
const hostile = (name: string, payloadSchema: Record<string, unknown>): EventShape => ({
  name,
  description: 'Hostile.',
  payloadSchema,
  inputSchema: { type: 'object', properties: { project: { type: 'string' } } },
});

let tracker: IssueTracker;
let installation: Installation;
let bot: Agent;
let events: string;
let projects = 0;
beforeAll(async () => {
  tracker = await startIssueTracker({
    apiKeys: { 'key-of-ada': 'ada' },
    limits: { retries: [20, 50, 100] },
    pageSize: 3,
    moreEvents: [
      hostile('hostile.remote', { $ref: 'http://127.0.0.1:9/schema.json' }),
      hostile('hostile.pattern', { properties: { word: { type: 'string', pattern: '^(a+)+$' } }, required: ['word'] }),
      hostile('hostile.deep', nested(1_500) as Record<string, unknown>),
    ],
  });
  onEnd(() => tracker.close());
  const home = scratchHome();
  const folder = join(home, 'ws', '.gantry', 'teams', 'ops');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: clerk, harness: shell }\n');
  installation = await startInstallation({ home });
  const { agents } = (await installation.web('GET', '/api/factory/agents')).json as never as { agents: Agent[] };
  bot = agents[0]!;
  const made = await installation.web('POST', '/api/v1/mcp/connectors', {
    body: { name: 'tracker', url: tracker.url, auth: { type: 'api_key', key: 'key-of-ada' } },
  });
  expect(made.status, made.text).toBe(201);
  events = `/api/v1/mcp/connectors/${made.json.id}/events`;
}, 60_000);
afterAll(stop);
afterEach(() => tracker.faults.behave());

async function post(project: string, name = 'issue.opened') {
  const { status, json } = await installation.web('POST', events, {
    body: { name, arguments: { project }, botId: bot.id },
  });
  return { status, subscription: (json as never as { subscription?: Subscription }).subscription, json };
}
/** To a project of its own. */
async function subscribe(name?: string): Promise<{ project: string; id: string }> {
  projects += 1;
  const project = `project-${projects}`;
  const { subscription } = await post(project, name);
  expect(subscription).toMatchObject({ status: 'active', error: null });
  return { project, id: subscription!.id };
}
async function read(id: string): Promise<Subscription | undefined> {
  const { subscriptions } = (await installation.web('GET', events)).json as never as ConnectorEvents;
  return subscriptions.find((one) => one.id === id);
}
async function trail(id: string): Promise<TrailEvent[]> {
  return (
    (await installation.web('GET', `${events}/subscriptions/${id}/events`)).json as never as { events: TrailEvent[] }
  ).events;
}
/** Titles of the issues of a project that became tickets, oldest first. */
async function tickets(project: string): Promise<string[]> {
  const { tickets: all } = (await installation.web('GET', '/api/factory/tickets?limit=200')).json as never as {
    tickets: Ticket[];
  };
  return all
    .filter(({ source }) => source.kind === 'connector')
    .map(({ data }) => (data as { issue: { project: string; title: string } }).issue)
    .filter((issue) => issue?.project === project)
    .map(({ title }) => title)
    .toReversed();
}
const open = (project: string, title: string) => tracker.issues.open({ project, title });
const posts = (id: string) =>
  tracker.subscriptions
    .deliveries()
    .filter((one) => one.webhookId === id)
    .map(({ status }) => status);

test('every event of a page-wise list is offered, and an issue is one ticket', async () => {
  const { events: offered } = (await installation.web('GET', events)).json as never as ConnectorEvents;
  expect(offered.map(({ name }) => name)).toEqual([
    ...['hostile.deep', 'hostile.pattern', 'hostile.remote'],
    ...['issue.closed', 'issue.commented', 'issue.opened'],
  ]);
  const { project, id } = await subscribe();
  const { happening } = open(project, 'first');
  await expect.poll(() => tickets(project), waiting).toEqual(['first']);
  expect(await trail(id)).toMatchObject([{ eventId: happening.eventId, status: 'ticket', name: 'issue.opened' }]);
  expect(await read(id)).toMatchObject({ eventCount: 1, lastEventId: happening.eventId });
});

test.each<[DeliveryFault, number]>([
  ['wrong_signature', 401],
  ['unsigned', 401],
  ['stale', 401],
  ['from_the_future', 401],
  ['reserialised', 401],
  ['wrong_id', 400],
])('a delivery that is armed to be %s is refused, and the right one after it is one ticket', async (fault, code) => {
  const { project, id } = await subscribe();
  tracker.faults.deliverWith(fault);
  const { happening } = open(project, fault);
  await expect.poll(() => tickets(project), waiting).toEqual([fault]);
  // The ticket may be there before the tracker has read the answer to its post.
  const posted = () => tracker.subscriptions.deliveries().filter((one) => one.kind === 'event');
  await expect
    .poll(() =>
      posted()
        .slice(-2)
        .map(({ status }) => status),
    )
    .toEqual([code, 202]);
  expect((await trail(id)).map(({ eventId, status }) => [eventId, status])).toEqual([[happening.eventId, 'ticket']]);
});

test('a delivery that is too long is refused for good', async () => {
  const { project, id } = await subscribe();
  tracker.faults.deliverWith('oversize');
  const { happening } = open(project, 'too long');
  open(project, 'after it');
  await expect.poll(() => tickets(project), waiting).toEqual(['after it']);
  expect(posts(happening.eventId)).toEqual([413]);
  expect((await trail(id)).map(({ status }) => status)).toEqual(['ticket']);
});

test.each<[DeliveryFault, RegExp]>([
  ['wrong_name', /issue\.exploded/],
  ['bad_data', /schema/],
  ['bad_time', /yesterday/],
])('an event that is armed to have %s makes no ticket, and the trail says why', async (fault, why) => {
  const { project, id } = await subscribe();
  tracker.faults.deliverWith(fault);
  const { happening } = open(project, fault);
  open(project, 'after it');
  await expect.poll(() => tickets(project), waiting).toEqual(['after it']);
  const dead = (await trail(id)).find(({ eventId }) => eventId === happening.eventId);
  expect(dead).toMatchObject({ status: 'dead', ticketId: null, reason: expect.stringMatching(why) });
});

test('an event that is sent twice is one ticket', async () => {
  const { project } = await subscribe();
  tracker.faults.deliverWith('resent');
  const { happening } = open(project, 'twice');
  open(project, 'after it');
  await expect.poll(() => tickets(project), waiting).toEqual(['twice', 'after it']);
  expect(posts(happening.eventId)).toEqual([202, 202]);
});

test('a gap and a lost history are told, and an end is shown until the person subscribes again', async () => {
  const { project, id } = await subscribe();
  const there = tracker.subscriptions.list().find(({ arguments: given }) => given.project === project)!;
  tracker.subscriptions.gap(there.id);
  await expect.poll(async () => (await trail(id)).map(({ status }) => status), waiting).toEqual(['gap']);
  expect((await read(id))?.historyLostAt).not.toBeNull();
  const error = { code: -32014, message: 'Unsupported', data: { reason: 'schema_changed' } };
  tracker.subscriptions.terminate(there.id, error);
  await expect.poll(async () => (await read(id))?.error?.reason, waiting).toBe('terminated');
  open(project, 'nobody listens');
  expect((await post(project)).subscription).toMatchObject({ id, status: 'active', error: null });
  await expect.poll(() => tickets(project), waiting).toEqual(['nobody listens']);
});

/** As a person does in a browser: the tracker's page, its form, and the way back. */
async function signIn(authorizeUrl: string): Promise<void> {
  const page = await (await fetch(authorizeUrl)).text();
  const form = new URLSearchParams();
  for (const [, name = '', value = ''] of page.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g))
    form.set(name, value.replaceAll('&amp;', '&'));
  form.set('user', 'ada');
  form.set('decision', 'allow');
  expect((await fetch(`${tracker.origin}/oauth/authorize`, { method: 'POST', body: form })).status).toBe(200);
}

test('a grant that is revoked is asked for at once, and what came without it is there after a new one', async () => {
  const base = '/api/v1/mcp/connectors';
  const made = await installation.web('POST', base, {
    body: { name: 'signed', url: tracker.url, auth: { type: 'oauth' } },
  });
  const { id } = made.json as never as Connector;
  const connector = async () => (await installation.web('GET', `${base}/${id}`)).json as never as Connector;
  const authorizeUrl = async () => (await connector()).authorizeUrl ?? '';
  const until = (status: Connector['status']) =>
    expect.poll(async () => (await connector()).status, waiting).toBe(status);
  await until('needs_reauth');
  await signIn(await authorizeUrl());
  await until('connected');
  projects += 1;
  const project = `project-${projects}`;
  const body = { name: 'issue.opened', arguments: { project }, botId: bot.id };
  const { json } = await installation.web('POST', `${base}/${id}/events`, { body });
  expect(json).toMatchObject({ subscription: { status: 'active' } });
  const standing = async () => {
    const { subscriptions } = (await installation.web('GET', `${base}/${id}/events`)).json as never as ConnectorEvents;
    return subscriptions.map(({ status }) => status);
  };
  tracker.revokeGrants();
  open(project, 'missed');
  await until('needs_reauth');
  await expect.poll(standing, waiting).toEqual(['needs_reauth']);
  await signIn(await authorizeUrl());
  await expect.poll(standing, waiting).toEqual(['active']);
  await expect.poll(() => tickets(project), waiting).toEqual(['missed']);
  expect((await installation.web('DELETE', `${base}/${id}`)).status).toBe(204);
});

test.each<[AnswerFault, string[]]>([
  ['garbage', ['connector_error', 'connector_unreachable']],
  ['cut_short', ['connector_error', 'connector_unreachable']],
  ['wrong_shape', ['connector_error']],
  ['rate_limited', ['connector_unreachable']],
  ['unavailable', ['http_5xx', 'connector_unreachable']],
])(
  'a subscription that is answered by something that is armed to be %s is kept with the reason',
  async (fault, reasons) => {
    projects += 1;
    const project = `project-${projects}`;
    tracker.faults.answerWith(fault, { method: 'events/subscribe', times: 5 });
    const { status, subscription } = await post(project);
    expect(status).toBe(502);
    expect(subscription).toMatchObject({ status: 'error', error: { message: expect.stringMatching(/\w/) } });
    expect(reasons).toContain(subscription?.error?.reason);
    tracker.faults.behave();
    expect((await post(project)).subscription).toMatchObject({ id: subscription?.id, status: 'active', error: null });
    open(project, 'heard');
    await expect.poll(() => tickets(project), waiting).toEqual(['heard']);
  },
);

test.each([
  ['refers to somewhere else', 'hostile.remote', /127\.0\.0\.1:9/],
  ['is nested too deep', 'hostile.deep', /deep|nest|level/],
])('a schema of theirs that %s is told, and its event is not subscribed to', async (_what, name, why) => {
  projects += 1;
  const { status, subscription } = await post(`project-${projects}`, name);
  expect(status).toBe(502);
  expect(subscription).toMatchObject({ status: 'error', error: { reason: 'connector_error' } });
  expect(subscription?.error?.message).toMatch(why);
  expect(tracker.subscriptions.list().some((one) => one.name === name)).toBe(false);
});

test('a pattern of theirs that takes for ever elsewhere is answered, and keeps nobody waiting', async () => {
  const { project, id } = await subscribe('hostile.pattern');
  const well = await subscribe();
  tracker.issues.happen('hostile.pattern', project, { word: `${'a'.repeat(60)}!` });
  open(well.project, 'meanwhile');
  await expect.poll(() => tickets(well.project), waiting).toEqual(['meanwhile']);
  await expect.poll(async () => (await trail(id)).map(({ status }) => status), waiting).toEqual(['dead']);
});
