/** From a subscription to a ticket: the thinnest way through, over a real database and a server on HTTP. */
import { expect, test } from 'vitest';
import { bot, sharedStand } from './stand.ts';

const shared = sharedStand();

test('a subscription becomes active, and what the cloud relays of it becomes one ticket that the bot is told of', async () => {
  const stand = shared.current;
  stand.connect('c1');
  const { status, body } = await stand.subscribe('c1', { arguments: { project: 'gantry' } });
  expect(status).toBe(200);
  const { subscription } = body;
  expect(subscription).toMatchObject({
    connectorId: 'c1',
    status: 'active',
    error: null,
    botId: bot.id,
    eventCount: 0,
  });
  const [asked] = stand.server.of('subscribe') as { delivery: { url: string; secret: string; mode: string } }[];
  expect(asked?.delivery).toEqual({
    mode: 'webhook',
    url: expect.stringContaining(subscription.id),
    secret: stand.cloud.secrets.get(subscription.id)?.[0],
  });

  const event = { eventId: 'e1', name: 'issue.opened', timestamp: '2026-01-02T03:04:05Z', data: { number: 7 } };
  const deliver = () => stand.deliver(subscription.id, { event });
  const first = await deliver();
  expect(first.body).toEqual({ status: 'triggered', eventId: 'e1', ticketId: expect.stringMatching(/^ticket_/) });
  expect((await deliver()).body).toEqual({ status: 'duplicate' });
  expect(stand.told).toEqual([
    {
      bot: bot.id,
      key: `ticket:${first.body.ticketId}`,
      text: `New ticket: issue.opened from Tracker c1\nRead it: gantry workspace tickets ${first.body.ticketId}`,
    },
  ]);
  const rows = await stand.ledger.query({ subject: `subscription:${subscription.id}`, order: 'ascending', limit: 10 });
  expect(rows).toMatchObject([
    { type: 'connector.event.received', actor: bot.id, idemKey: `mcp-event:${subscription.id}:e1` },
  ]);
});
