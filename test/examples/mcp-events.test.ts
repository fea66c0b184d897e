/** examples/mcp-events as its page says: the shop is attached, a bot is subscribed, and an order becomes its ticket. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Subscription } from '../../src/contracts/connectors/subscription.ts';
import type { Ticket } from '../../src/contracts/factory/work-engine/tickets.ts';
import { startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { onEnd } from '../kit/http/support.ts';

const program = join(import.meta.dirname, '..', '..', 'examples', 'mcp-events', 'server.mjs');

async function startShop(): Promise<string> {
  const child = spawn(process.execPath, [program, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onEnd(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return line.toString().trim();
}

test('orders of the country that a bot asked for become its tickets, once and in order, and its tool lists them all', async () => {
  const home = scratchHome();
  const team = join(home, 'ws', '.gantry', 'teams', 'shop');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - { bot: clerk, harness: shell }\n');
  const [url, installation] = await Promise.all([startShop(), startInstallation({ home })]);
  const connector = await installation.web('POST', '/api/v1/mcp/connectors', { body: { name: 'shop', url } });
  expect(connector.status, connector.text).toBe(201);
  const path = `/api/v1/mcp/connectors/${connector.json.id}/events`;
  const body = { name: 'order.placed', arguments: { country: 'AT' }, botId: 'clerk@shop' };
  const subscribed = await installation.web('POST', path, { body });
  const { subscription } = subscribed.json as never as { subscription: Subscription };
  expect([subscribed.status, subscription.status, subscription.error]).toEqual([200, 'active', null]);
  for (const [item, country] of [
    ['paper', 'AT'],
    ['ink', 'CH'],
    ['pens', 'AT'],
  ]) {
    const placed = await fetch(url.replace('/mcp', '/orders'), {
      method: 'POST',
      body: JSON.stringify({ item, country }),
    });
    expect(placed.status).toBe(201);
  }
  const items = async () => {
    const { tickets } = (await installation.engine('GET', '/api/factory/tickets')).json as never as {
      tickets: Ticket[];
    };
    return tickets.map(({ data }) => (data as { order: { item: string } }).order.item).toReversed();
  };
  await expect.poll(items).toEqual(['paper', 'pens']);
  const called = await installation.web('POST', '/api/v1/tools/shop.list_orders/call', { body: {} });
  expect(called.text).toContain('ink');
  const ended = await installation.web('DELETE', `${path}/subscriptions/${subscription.id}`);
  expect(ended.status, ended.text).toBe(204);
});
