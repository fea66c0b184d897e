/** What outsiders post becomes a ticket, through the real cloud API, its lane and the real engine. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Ticket } from '../../src/contracts/factory/work-engine/tickets.ts';
import { largestTriggerBody } from '../../src/contracts/factory/work-engine/triggers.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { maxOpenTickets } from '../../src/runtime-server/tickets/tickets.ts';
import { scratchHome } from '../host/support.ts';
import { caller, onEnd } from '../kit/http/support.ts';
import { waitFor } from '../runtime-server/engine.ts';
import { agreeToAll } from '../support/trust.ts';

test('what is posted to a trigger becomes one ticket of its bot, also when it is posted twice or the address is gone', async () => {
  const home = scratchHome();
  const workspace = join(home, 'ws');
  mkdirSync(join(workspace, '.gantry', 'teams', 'ops'), { recursive: true });
  writeFileSync(
    join(workspace, '.gantry', 'teams', 'ops', 'team.yaml'),
    'bots:\n  - {bot: op, harness: shell}\n  - {bot: other, harness: shell}\n',
  );
  const env = { ...process.env, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  const gantry = await startCombined({
    env,
    settings: readSettings(env),
    gantry: 'gantry',
    workspace,
    answers: 'throw',
  });
  onEnd(() => gantry.close({ stopBots: true }));
  const port = Number(new URL(gantry.origin).port);
  const owner = caller(port, readFileSync(placesIn(home).token, 'utf8').trim());
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  await agreeToAll(`${gantry.engineUrl}/api/factory`, { authorization: `Bearer ${token}` });
  const stranger = async (url: string, body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, { method: 'POST', body, headers });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const tickets = async (query = '') =>
    ((await owner('GET', `/api/factory/tickets${query}`)).json as never as { tickets: Ticket[] }).tickets;

  expect((await owner('POST', '/api/factory/teams/ops/up', { body: {} })).status).toBe(200);
  const given = { botId: 'op@ops', title: 'Deploy failed' };
  const dry = await owner('POST', '/api/factory/triggers', { body: { ...given, dryRun: true } });
  expect(dry.json).toMatchObject({ dryRun: true, plan: { records: ['trigger.created'] } });
  expect((await owner('POST', '/api/factory/triggers', { body: { ...given, botId: 'x@y' } })).status).toBe(404);
  const made = (await owner('POST', '/api/factory/triggers', { body: given })).json as never as {
    id: string;
    key: string;
    url: string;
  };
  expect(made.url).toBe(`${gantry.origin}/webhooks/triggers/${made.key}`);
  expect(made.key.startsWith('computer_')).toBe(true);

  const json = { 'content-type': 'application/json', 'webhook-id': 'delivery-1' };
  const first = await stranger(made.url, '{"build": 7}', json);
  expect(first).toMatchObject({ status: 202, body: { status: 'accepted' } });
  const opened = await waitFor(tickets, (all) => all.length === 1);
  expect(opened[0]).toMatchObject({
    source: { kind: 'webhook' },
    title: 'Deploy failed',
    data: { build: 7 },
    status: 'open',
    threadId: null,
    closedAt: null,
  });
  // Its title is told in the pane; what was posted is not.
  const capture = await waitFor(
    () => owner('GET', '/api/factory/agents/op@ops/capture'),
    ({ text }) => text.includes(opened[0]?.id ?? 'none'),
  );
  expect(capture.text).toContain('Deploy failed');
  expect(capture.text).not.toContain('build');

  expect((await stranger(made.url, '{"build": 7}', json)).body).toEqual(first.body);
  const slack = { 'x-slack-signature': 'v0=ab' };
  const asked = await stranger(made.url, '{"type": "url_verification", "challenge": "c1"}', slack);
  expect(asked).toEqual({ status: 200, body: { challenge: 'c1' } });
  expect((await stranger(made.url, 'just <b>text</b>')).status).toBe(202);
  const both = await waitFor(tickets, (all) => all.length >= 2);
  expect(both.map((one) => one.data)).toEqual([{ text: 'just <b>text</b>' }, { build: 7 }]);
  expect(await tickets('?bot=other@ops')).toEqual([]);
  const id = both[1]?.id;
  const closeOnce = await owner('POST', `/api/factory/tickets/${id}/close`, { body: { note: 'redeployed' } });
  const closeTwice = await owner('POST', `/api/factory/tickets/${id}/close`, { body: {} });
  expect(closeOnce.json).toMatchObject({ status: 'closed' });
  expect(closeTwice.json).toEqual(closeOnce.json);
  expect((await tickets('?status=open')).map((one) => one.id)).toEqual([both[0]?.id]);

  const list = await owner('GET', '/api/factory/triggers');
  expect(list.json).toMatchObject({ triggers: [{ id: made.id, tickets: 2 }] });
  expect(list.text).not.toContain(made.key);
  expect((await stranger(made.url, 'x'.repeat(largestTriggerBody + 1))).status).toBe(413);
  for (const key of ['nothing', `computer_${'0'.repeat(26)}~${'a'.repeat(43)}`, made.key.slice(0, -1)]) {
    expect((await stranger(`${gantry.origin}/webhooks/triggers/${key}`, '{}')).status).toBe(404);
  }
  // A wrong secret for a computer that there is: accepted, and dropped where the key is known.
  const forged = `${made.key.slice(0, -43)}${'a'.repeat(43)}`;
  expect((await stranger(`${gantry.origin}/webhooks/triggers/${forged}`, '{}')).status).toBe(202);
  expect((await owner('DELETE', `/api/factory/triggers/${made.id}?dryRun=1`)).status).toBe(200);
  expect((await owner('DELETE', `/api/factory/triggers/${made.id}`)).status).toBe(200);
  expect((await stranger(made.url, '{"late": true}')).status).toBe(202);
  expect((await owner('DELETE', `/api/factory/triggers/${made.id}`)).status).toBe(404);
  // Lanes are in order: once this one is there, those before it were settled.
  const last = (await owner('POST', '/api/factory/triggers', { body: given })).json as never as { url: string };
  await stranger(last.url, '"last"');
  expect((await waitFor(tickets, (all) => all.some((one) => one.data === 'last'))).length).toBe(3);

  // As large as it may be, and six times that once it is escaped.
  const largest = '\u0001'.repeat(largestTriggerBody);
  expect((await stranger(last.url, largest)).status).toBe(202);
  const [newest] = await waitFor(tickets, (all) => all.length === 4);
  expect(newest?.data).toEqual({ text: largest });

  // A bot with more open tickets than anybody reads gets no more; others do.
  const database = new Database(placesIn(home).runtimeDb);
  const like = `INSERT INTO engine_ticket SELECT id || '-' || n, workspace, bot_id, source_kind, source_ref || n, title, '0', 'open', NULL,
    created_at, NULL FROM engine_ticket, (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) SELECT n FROM c) WHERE id = ?`;
  database.prepare(like).run(maxOpenTickets, newest?.id);
  database.close();
  const free = await owner('POST', '/api/factory/triggers', { body: { ...given, botId: 'other@ops' } });
  expect((await stranger(last.url, '"too much"')).status).toBe(202);
  expect((await stranger((free.json as never as { url: string }).url, '"for another"')).status).toBe(202);
  expect(
    (
      await waitFor(
        () => tickets('?bot=other@ops'),
        (all) => all.length === 1,
      )
    )[0]?.data,
  ).toBe('for another');
  expect((await tickets()).map((one) => one.data)).not.toContain('too much');
});
