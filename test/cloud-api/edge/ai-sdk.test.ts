/** The client and the receiver of `@ai-sdk/mcp` against the edge: a whole life of a subscription, over both eras' requests. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  experimental_createMCPClient as createClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEvent as McpEvent,
  type Experimental_MCPEventSubscription as Subscription,
} from '@ai-sdk/mcp';
import { expect, test } from 'vitest';
import { onEnd } from '../../support/at-end.ts';
import { sqliteIn } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { openWorld, until } from './support.ts';

function memoryStore(): EventStore & { readonly rows: Map<string, Subscription> } {
  const rows = new Map<string, Subscription>();
  return {
    rows,
    get: async (key) => rows.get(key),
    getById: async (id) => [...rows.values()].find((row) => row.id === id),
    set: async (row) => void rows.set(row.key, row),
    update: async (key, patch) => void rows.set(key, { ...rows.get(key)!, ...patch }),
    delete: async (key) => void rows.delete(key),
  };
}

test('its client lists, subscribes, refreshes and unsubscribes, and its receiver takes events and the end by the owner', async () => {
  const world = await openWorld({ place: sqliteIn(scratchFolder()) });
  const store = memoryStore();
  const events: McpEvent[] = [];
  const ends: unknown[] = [];
  const faults: unknown[] = [];
  const webhook = createWebhook({
    store,
    onEvent: async ({ event }) => void events.push(event),
    onTerminated: async ({ termination }) => void ends.push(termination),
    onError: (fault) => void faults.push(fault),
  });
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    const url = `http://${request.headers.host}${request.url}`;
    const answer = await webhook(new Request(url, { method: 'POST', headers, body: Buffer.concat(chunks) }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = await createClient({
    transport: {
      type: 'http',
      url: `http://127.0.0.1:${world.port}/edge/mcp`,
      headers: { authorization: 'Bearer user_1.app_1' },
    },
    experimental_events: { store },
  });
  onEnd(() => client.close());
  const offered = (await client.experimental_events.list()).events;
  expect(offered.map(({ name }) => name)).toContain('agent.run.completed');
  const delivery = {
    mode: 'webhook',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    allowInsecureLocalhost: true,
  } as const;
  const one = await client.experimental_events.subscribe({ name: 'agent.run.completed', delivery });
  const two = await client.experimental_events.subscribe({ name: 'call.ended', delivery });
  await world.run('run_1');
  await until(() => events.length === 1);
  expect(events[0]).toMatchObject({ name: 'agent.run.completed', data: { runId: 'run_1' } });
  await client.experimental_events.refresh({ id: one.id });
  await world.run('run_2');
  await until(() => events.length === 2);
  await client.experimental_events.unsubscribe({ id: two.id });
  expect([...(await world.edge.subscriptionsOf('user_1')).values()].flat()).toMatchObject([{ id: one.id }]);
  await world.rest('DELETE', `/api/v1/mcp/events/subscriptions/${one.id}`);
  await until(() => ends.length === 1);
  expect(ends).toMatchObject([{ type: 'terminated', reason: 'ended_by_owner', error: { code: -32012 } }]);
  await until(() => store.rows.size === 0);
  expect(faults).toEqual([]);
});
