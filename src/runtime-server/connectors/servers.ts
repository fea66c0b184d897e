/**
 * Connectors as subscriptions see them: attached servers on HTTP, whose events are read over the connection that their tools use. Must not know
 * subscriptions, nor how a server is reached.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { EventDefinition } from '../../contracts/connectors/subscription.ts';
import { eventMethods, eventsCapability } from '../../contracts/tool-server/mcp-events.ts';
import type { AttachedServer } from '../../contracts/tool-server/servers.ts';
import type { AttachedPort } from './attached.ts';
import { eventFaultOf } from './event-faults.ts';
import { type ConnectorRef, type ConnectorServers, EventFault, type JsonObject } from './ports.ts';

/** Deadline of one request, milliseconds: a server verifies the cloud's address before it answers a subscription. */
const askMs = 30_000;
/** The largest answer, as JSON, characters. */
const maxAnswerLength = 1024 * 1024;
const maxPages = 20;
const maxEvents = 500;
const maxNameLength = 200;

export function createConnectorServers(attached: Pick<AttachedPort, 'all' | 'upstreams'>): ConnectorServers {
  const { upstreams } = attached;
  const connector = (id: string) => attached.all().find((server) => server.id === id && isConnector(server)) ?? null;

  /** Throws {@link EventFault}. */
  async function told<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof EventFault) throw error;
      if (error instanceof AppError) throw new EventFault('connector_unreachable', null, error.fact, error);
      const failure = upstreams.explain(id, error);
      if (failure === null) throw error;
      throw eventFaultOf(failure, error);
    }
  }

  const ask: ConnectorServers['ask'] = (id, method, params, signal) =>
    told(id, async () => {
      const answer = await upstreams.ask(id, method, params, { signal, timeoutMs: askMs });
      if (JSON.stringify(answer).length <= maxAnswerLength) return answer;
      throw new EventFault('connector_error', null, `The server’s answer has more than ${maxAnswerLength} characters.`);
    });

  async function page(id: string, cursor: string | null, signal: AbortSignal) {
    const answer = await ask(id, eventMethods.list, cursor === null ? {} : { cursor }, signal);
    if (!Array.isArray(answer.events)) {
      throw new EventFault('connector_error', null, 'The server answered events/list without a list.');
    }
    const next = typeof answer.nextCursor === 'string' ? answer.nextCursor : null;
    return { events: answer.events as readonly unknown[], next };
  }

  return {
    find(id) {
      const server = connector(id);
      return server === null ? null : refOf(server);
    },
    async events(id, signal) {
      const can = await told(id, () => upstreams.capabilities(id, signal));
      if (!offersEvents(can)) return null;
      const found = new Map<string, EventDefinition>();
      let cursor: string | null = null;
      for (let pages = 0; pages < maxPages && found.size < maxEvents; pages += 1) {
        const { events, next } = await page(id, cursor, signal);
        for (const event of events) {
          const read = EventDefinition.safeParse(event);
          // One that cannot be used must not cost the others.
          if (read.success && isUsable(read.data) && !found.has(read.data.name)) found.set(read.data.name, read.data);
        }
        if (next === null || next === cursor) break;
        cursor = next;
      }
      return [...found.values()].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    },
    ask,
    onLost: (listener) =>
      upstreams.onCredential((id, is) => {
        if (is === 'lost' && connector(id) !== null) listener(id);
      }),
    onBack: (listener) =>
      upstreams.onCredential((id, is) => {
        if (is === 'back' && connector(id) !== null) listener(id);
      }),
    onGone: (listener) =>
      upstreams.onGone((server) => {
        if (isConnector(server)) listener(refOf(server));
      }),
  };
}

export type HttpServer = AttachedServer & { readonly transport: { readonly type: 'http' } };

/** A local program is nobody else's system. */
export const isConnector = (server: AttachedServer): server is HttpServer => server.transport.type === 'http';

function refOf({ id, name, transport, enabled }: AttachedServer): ConnectorRef {
  return { id, name, url: transport.type === 'http' ? transport.url : '', enabled };
}

function offersEvents(capabilities: JsonObject): boolean {
  const extensions = capabilities.extensions as JsonObject | undefined;
  return capabilities[eventsCapability.key] !== undefined || extensions?.[eventsCapability.extension] !== undefined;
}

/** A name is shown on one line: one that would break it, or reorder the text around it, is invalid. */
const isUsable = ({ name, delivery }: EventDefinition) =>
  name !== '' && name.length <= maxNameLength && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name) && delivery.length > 0;
