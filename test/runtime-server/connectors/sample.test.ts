/** The sample shop: started when it is asked for, attached like any other service, and back at its address after a restart. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Ticket } from '../../../src/contracts/factory/work-engine/tickets.ts';
import { startInstallation } from '../../host/paired-support.ts';
import { scratchHome } from '../../host/support.ts';

const base = '/api/v1/mcp/connectors';

test('an order at the sample shop becomes a ticket of the bot that is subscribed, also after a restart at the same address', async () => {
  const home = scratchHome();
  const team = join(home, 'ws', '.gantry', 'teams', 'shop');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - { bot: clerk, harness: shell }\n');
  const before = await startInstallation({ home });
  const started = await before.web('POST', `${base}/sample`);
  expect(started.status, started.text).toBe(200);
  // Asked again, it is the same one.
  expect((await before.web('POST', `${base}/sample`)).json).toEqual(started.json);
  const connector = await before.web('POST', base, { body: started.json });
  expect(connector.status, connector.text).toBe(201);
  const subscribed = await before.web('POST', `${base}/${connector.json.id}/events`, {
    body: { name: 'order.placed', arguments: {}, botId: 'clerk@shop' },
  });
  expect(subscribed.status, subscribed.text).toBe(200);
  const placed = await before.web('POST', `${base}/sample/orders`, { body: { item: 'paper', country: 'AT' } });
  expect([placed.status, placed.json]).toEqual([201, { number: 1 }]);
  await expect
    .poll(async () => {
      const { tickets } = (await before.engine('GET', '/api/factory/tickets')).json as never as { tickets: Ticket[] };
      return tickets.map(({ data }) => data);
    })
    .toEqual([{ order: { number: 1, item: 'paper', country: 'AT' } }]);
  await before.gantry.close({ stopBots: true });

  const after = await startInstallation({ home });
  await expect
    .poll(async () => (await after.web('GET', `${base}/${connector.json.id}`)).json)
    .toMatchObject({ url: started.json.url, status: 'connected' });
});
