/**
 * A server that nobody here wrote, through the whole product: its events become tickets, what it does wrong becomes a reason that is
 * shown, and the end of a connector is heard there.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConnectorEvents, Subscription, TrailEvent } from '../../src/contracts/connectors/subscription.ts';
import type { Ticket } from '../../src/contracts/factory/work-engine/tickets.ts';
import { type Installation, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import type { DeliveryFault } from '../support/issue-tracker/faults.ts';
import { type IssueTracker, startIssueTracker } from '../support/issue-tracker/tracker.ts';

const stop = keepUntilEnd();
const waiting = { timeout: 30_000, interval: 50 };
let tracker: IssueTracker;
let installation: Installation;
beforeAll(async () => {
  tracker = await startIssueTracker({ apiKeys: { 'key-of-ada': 'ada' }, limits: { retries: [20, 20, 20] } });
  onEnd(() => tracker.close());
  const home = scratchHome();
  const folder = join(home, 'ws', '.gantry', 'teams', 'ops');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: triage, binding: hosted, model: claude-haiku-4-5 }\n');
  installation = await startInstallation({ home });
}, 60_000);
afterAll(stop);

let made = 0;
/** A connector of its own with one subscription to the issues of one project. */
async function subscribed(project: string) {
  made += 1;
  const connector = await installation.engine('POST', '/api/v1/mcp/connectors', {
    body: { name: `tracker-${made}`, url: `${tracker.url}?n=${made}`, auth: { type: 'api_key', key: 'key-of-ada' } },
  });
  expect(connector.status, connector.text).toBe(201);
  const path = `/api/v1/mcp/connectors/${connector.json.id}`;
  const body = { name: 'issue.opened', arguments: { project }, botId: 'triage@ops' };
  const subscribe = async () => {
    const answer = await installation.engine('POST', `${path}/events`, { body });
    return {
      status: answer.status,
      subscription: (answer.json as never as { subscription: Subscription }).subscription,
    };
  };
  const list = async () => (await installation.web('GET', `${path}/events`)).json as never as ConnectorEvents;
  return { path, subscribe, list, body };
}

const ticketsOf = async (id: string) => {
  const { tickets } = (await installation.engine('GET', '/api/factory/tickets?limit=200')).json as never as {
    tickets: Ticket[];
  };
  return tickets.filter(({ source }) => source.kind === 'connector' && source.ref.startsWith(`${id}/`));
};
const trailOf = async (path: string, id: string) =>
  (
    (await installation.web('GET', `${path}/events/subscriptions/${id}/events`)).json as never as {
      events: TrailEvent[];
    }
  ).events;

/** One at which no ticket may come: what was armed is sent, then an honest one that everybody waits for. */
async function afterOpening(project: string, id: string, titles: readonly string[]) {
  for (const title of titles) tracker.issues.open({ project, title });
  const titlesOf = async () =>
    (await ticketsOf(id)).map(({ data }) => (data as { issue: { title: string } }).issue.title).reverse();
  await expect.poll(async () => (await titlesOf()).at(-1), waiting).toBe(titles.at(-1));
  return titlesOf();
}

test('issues become tickets in their order, and the trail says so at both doors', async () => {
  const { path, subscribe, list } = await subscribed('one');
  expect((await list()).events.map(({ name }) => name)).toEqual(['issue.closed', 'issue.commented', 'issue.opened']);
  const { status, subscription } = await subscribe();
  expect([status, subscription.status, subscription.error]).toEqual([200, 'active', null]);
  expect(await afterOpening('one', subscription.id, ['a', 'b', 'c'])).toEqual(['a', 'b', 'c']);
  const trail = await trailOf(path, subscription.id);
  expect(trail.map(({ status: is, ticketId, receivedAt }) => [is, ticketId !== null, receivedAt !== null])).toEqual(
    Array(3).fill(['ticket', true, true]),
  );
  const short = await installation.engine(
    'GET',
    `${path.replace('/api/v1', '')}/events/subscriptions/${subscription.id}/events`,
  );
  expect((short.json as never as { events: TrailEvent[] }).events.map(({ eventId }) => eventId)).toEqual(
    trail.map(({ eventId }) => eventId),
  );
  expect((await list()).subscriptions).toMatchObject([{ eventCount: 3, lastEventId: trail[0]?.eventId }]);
});

/** Refused at the callback: the tracker sends it again, as it should have been. */
const refusedFirst: DeliveryFault[] = [
  'wrong_signature',
  'unsigned',
  'stale',
  'from_the_future',
  'reserialised',
  'resent',
  'wrong_id',
];
/** Well signed, and never to be taken. */
const dead: [DeliveryFault, string][] = [
  ['wrong_name', 'is called'],
  ['bad_data', 'schema'],
  ['bad_time', 'RFC 3339'],
];

test.each(refusedFirst)('a delivery that is %s makes no ticket beside the one of its event', async (fault) => {
  const { path, subscribe } = await subscribed(fault);
  const { subscription } = await subscribe();
  tracker.faults.deliverWith(fault);
  const titles = await afterOpening(fault, subscription.id, ['first', 'second']);
  expect(titles).toEqual(['first', 'second']);
  expect((await trailOf(path, subscription.id)).map(({ status }) => status)).toEqual(['ticket', 'ticket']);
});

test.each(dead)('a delivery with %s is dead, the trail says why, and the next one is taken', async (fault, reason) => {
  const { path, subscribe } = await subscribed(fault);
  const { subscription } = await subscribe();
  tracker.faults.deliverWith(fault);
  expect(await afterOpening(fault, subscription.id, ['first', 'second'])).toEqual(['second']);
  expect(await trailOf(path, subscription.id)).toMatchObject([
    { status: 'ticket' },
    { status: 'dead', ticketId: null, reason: expect.stringContaining(reason) },
  ]);
});

test.each([
  ['garbage', 'connector_error'],
  ['cut_short', 'connector_error'],
  ['rate_limited', 'connector_unreachable'],
  ['unavailable', 'http_5xx'],
  ['wrong_shape', 'connector_error'],
] as const)('a server that answers %s is the reason %s, and the same post heals it', async (fault, reason) => {
  const { subscribe, list } = await subscribed(`answers-${fault}`);
  await list();
  tracker.faults.answerWith(fault, { method: 'events/subscribe', times: 50 });
  const refused = await subscribe();
  tracker.faults.behave();
  expect([refused.status, refused.subscription.status, refused.subscription.error?.reason]).toEqual([
    502,
    'error',
    reason,
  ]);
  const healed = await subscribe();
  expect(healed).toMatchObject({ status: 200, subscription: { id: refused.subscription.id, status: 'active' } });
});

test('a connector that is deleted is heard of at the server, and nothing is taken for it any more', async () => {
  const { path, subscribe } = await subscribed('last');
  const { subscription } = await subscribe();
  const there = () => tracker.subscriptions.list().filter(({ arguments: given }) => given.project === 'last');
  const [before] = there();
  expect(before).toBeDefined();
  expect((await installation.web('DELETE', path)).status).toBe(204);
  await expect.poll(async () => (await installation.engine('GET', `${path}/events`)).status, waiting).toBe(404);
  await expect
    .poll(async () => (await fetch(before?.url ?? '', { method: 'POST', body: '{}' })).status, waiting)
    .toBe(410);
  expect(await ticketsOf(subscription.id)).toEqual([]);
});
