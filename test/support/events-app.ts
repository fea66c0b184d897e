/** Another vendor's app that receives events: the AI SDK's client and receiver, which validate everything they get. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEvent as Event,
  type MCPClient,
  type MCPClientConfig,
  type Experimental_MCPEventSubscription as Saved,
} from '@ai-sdk/mcp';

type Transport = Extract<MCPClientConfig['transport'], { readonly url: string }>;

export interface EventsApp {
  /** Where it is posted to. */
  readonly callback: string;
  readonly port: number;
  /** What it took as signed by its server. */
  readonly events: readonly Event[];
  /** How its subscriptions ended, by the messages it received, in full. */
  readonly ended: readonly unknown[];
  /** What it answered each post with. */
  readonly answers: readonly number[];
  /** A client whose subscriptions come here. The caller closes it. */
  connect(transport: Omit<Transport, 'type'>): Promise<MCPClient>;
  close(): Promise<void>;
}

export async function startEventsApp(): Promise<EventsApp> {
  const saved = new Map<string, Saved>();
  const store = {
    get: async (key: string) => saved.get(key),
    getById: async (id: string) => [...saved.values()].find((one) => one.id === id),
    set: async (one: Saved) => void saved.set(one.key, one),
    update: async (key: string, patch: Partial<Saved>) => {
      const before = saved.get(key);
      if (before !== undefined) saved.set(key, { ...before, ...patch });
    },
    delete: async (key: string) => void saved.delete(key),
  };
  const events: Event[] = [];
  const ended: unknown[] = [];
  const answers: number[] = [];
  const hook = createWebhook({
    store,
    onEvent: async ({ event }) => void events.push(event),
    onTerminated: async ({ termination }) => void ended.push(termination),
  });
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const answer = await hook(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? 'POST',
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(parts),
      }),
    );
    answers.push(answer.status);
    response.writeHead(answer.status).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    events,
    ended,
    answers,
    callback: `http://127.0.0.1:${port}/hook`,
    connect: (transport) =>
      createMCPClient({ transport: { ...transport, type: 'http' }, experimental_events: { store } }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
