/** Events of a computer that pairs with another cloud: what servers knew of before still comes, and what waits at home shows at the desk. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Subscription, TrailEvent } from '../../../src/contracts/connectors/subscription.ts';
import { pairUp, signIn, startInstallation } from '../../host/paired-support.ts';
import { scratchHome } from '../../host/support.ts';
import { onEnd } from '../../kit/http/support.ts';
import { startIssueTracker } from '../../support/issue-tracker/tracker.ts';
import { startPeople } from '../identity/support.ts';
import { eventText, signed } from './support.ts';

test('while it is paired its old callbacks take events, and its trail at the desk and at home is the one of home', async () => {
  const tracker = await startIssueTracker({ anonymous: 'ada', limits: { retries: [20, 50, 100] } });
  onEnd(() => tracker.close());
  const home = scratchHome();
  const folder = join(home, 'ws', '.gantry', 'teams', 'ops');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: clerk, harness: shell }\n');
  const people = await startPeople();
  const installation = await startInstallation({ home });
  const { agents } = (await installation.web('GET', '/api/factory/agents')).json as never as {
    agents: { id: string }[];
  };
  const made = await installation.web('POST', '/api/v1/mcp/connectors', {
    body: { name: 'tracker', url: tracker.url },
  });
  const events = `/api/v1/mcp/connectors/${made.json.id}/events`;
  const body = { name: 'issue.opened', arguments: { project: 'p' }, botId: agents[0]!.id };
  const subscribed = await installation.web('POST', events, { body });
  const { subscription } = subscribed.json as never as { subscription: Subscription };
  expect(subscription.status).toBe('active');
  const there = () => tracker.subscriptions.list().at(-1)!;
  const secretOf = (id: string) => `whsec_${tracker.subscriptions.keyOf(id)!.toString('base64')}`;
  const before = there();
  const secretBefore = secretOf(before.id);
  const url = `${tracker.origin}/issues/1`;
  const data = { issue: { number: 1, project: 'p', title: 'T', state: 'open', url } };
  const post = async (callback: string, secret: string, id: string, given: object = data) => {
    const text = eventText(id, { data: given });
    return (await fetch(callback, { method: 'POST', body: text, headers: signed(secret, id, text) })).status;
  };

  const ada = await signIn(people);
  await pairUp(installation, people, ada);
  await expect.poll(() => new URL(there().url).origin).toBe(people.origin);
  expect(await post(before.url, secretBefore, 'old_way')).toBe(202);
  expect(await post(there().url, secretOf(there().id), 'new_way')).toBe(202);
  expect(await post(there().url, secretOf(there().id), 'wrong', { issue: 7 })).toBe(202);
  const path = `${events}/subscriptions/${subscription.id}/events`;
  const trail = async (call: typeof installation.web) =>
    ((await call('GET', path)).json as never as { events: TrailEvent[] }).events;
  await expect
    .poll(async () => (await trail(installation.web)).map(({ eventId }) => eventId).toSorted())
    .toEqual(['new_way', 'old_way', 'wrong']);
  await expect
    .poll(async () => (await trail(installation.web)).map(({ status }) => status).toSorted())
    .toEqual(['dead', 'ticket', 'ticket']);
  expect(await trail(ada.call as never)).toEqual(await trail(installation.web));

  await installation.gantry.close({ stopBots: true });
  const waits = await post(there().url, secretOf(there().id), 'waits');
  expect(waits).toBe(202);
});
