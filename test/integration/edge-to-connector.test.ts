/**
 * Our edge serves our connector: what one bot did becomes a ticket for another, by the public ways alone — subscribe, challenge, signed
 * delivery, callback, relay — and the owner's end of it shows at the computer.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Subscription, TrailEvent } from '../../src/contracts/connectors/subscription.ts';
import type { EdgeApp } from '../../src/contracts/edge/routes.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import { defaultPushSettings } from '../../src/host/push-settings.ts';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { type Installation, pairUp, signIn, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { text } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let installation: Installation;
let bots: readonly Agent[];
beforeAll(async () => {
  const model = await startModelServer();
  onEnd(() => model.close());
  model.script(() => text('Done.'));
  people = await startPeople({ settings: { push: { ...defaultPushSettings, allow: ['127.0.0.1'] } } });
  const home = scratchHome();
  const folder = join(home, 'ws', '.gantry', 'teams', 'ops');
  mkdirSync(folder, { recursive: true });
  const lines = ['doer', 'watcher'].map((bot) => `  - { bot: ${bot}, binding: hosted, model: claude-haiku-4-5 }`);
  writeFileSync(join(folder, 'team.yaml'), `bots:\n${lines.join('\n')}\n`);
  const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-test-0123456789' };
  [installation, ada] = await Promise.all([startInstallation({ home, env }), signIn(people, 'ada')]);
  await pairUp(installation, people, ada);
  await installation.web('POST', '/api/factory/teams/ops/up', { body: {} });
  ({ agents: bots } = (await installation.web('GET', '/api/factory/agents')).json as never as { agents: Agent[] });
}, 60_000);
afterAll(stop);

const named = (slug: string) => bots.find((bot) => bot.slug === slug)!;
const waiting = { timeout: 30_000 };

test('a run of one bot is a ticket of another, over the edge and back', async () => {
  const made = await ada.call('POST', '/api/v1/keys', { body: { name: 'my own computer', scopes: ['agents:read'] } });
  const { secret } = made.json as never as { secret: string };
  const connector = await installation.engine('POST', '/api/v1/mcp/connectors', {
    body: { name: 'gantry', url: `${people.origin}/edge/mcp`, auth: { type: 'api_key', key: secret } },
  });
  expect(connector.status, connector.text).toBe(201);
  const events = `/api/v1/mcp/connectors/${connector.json.id}/events`;
  const subscribed = await installation.engine('POST', events, {
    // Of the other bot alone: a ticket has its bot run, and that would be the next event.
    body: { name: 'agent.run.completed', arguments: { botId: named('doer').id }, botId: named('watcher').id },
  });
  expect(subscribed.status, subscribed.text).toBe(200);
  const { subscription } = subscribed.json as never as { subscription: Subscription };
  expect(subscription).toMatchObject({ status: 'active', error: null });

  await installation.engine('POST', '/api/factory/send', { body: { to: 'doer@ops', text: 'Do it.' } });
  const trail = async () =>
    (
      (await installation.engine('GET', `${events}/subscriptions/${subscription.id}/events`)).json as never as {
        events: TrailEvent[];
      }
    ).events;
  await expect.poll(async () => (await trail()).length, waiting).toBe(1);
  const tickets = await installation.engine('GET', `/api/factory/tickets?bot=${named('watcher').id}`);
  const [event] = await trail();
  expect(event).toMatchObject({ status: 'ticket', name: 'agent.run.completed' });
  const { tickets: found } = tickets.json as never as { tickets: { id: string }[] };
  expect(found).toMatchObject([{ id: event!.ticketId }]);
  expect(tickets.text).toContain(event!.eventId);

  const apps = async () => ((await ada.call('GET', '/api/v1/mcp/approvals')).json as never as { apps: EdgeApp[] }).apps;
  const [app] = await apps();
  expect(app).toMatchObject({
    clientName: 'my own computer',
    subscriptions: [{ event: 'agent.run.completed', server: 'agents', status: 'active' }],
  });
  const path = `/api/v1/mcp/events/subscriptions/${app!.subscriptions[0]!.id}`;
  expect((await ada.call('DELETE', path)).status).toBe(204);
  const state = async () => {
    const { subscriptions } = (await installation.engine('GET', events)).json as never as {
      subscriptions: Subscription[];
    };
    return subscriptions.find(({ id }) => id === subscription.id)?.error?.reason;
  };
  await expect.poll(state, waiting).toBe('terminated');
  expect((await apps())[0]?.subscriptions).toEqual([]);
}, 90_000);
