/**
 * Connectors as subscriptions see them: attached servers on HTTP, whose events are read over the connection that their tools use. Must not know
 * subscriptions, nor how a server is reached.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { EventDefinition, type SubscriptionReason } from '../../contracts/connectors/subscription.ts';
import { draftEventCodes, eventCodes, eventMethods, eventsCapability } from '../../contracts/tool-server/mcp-events.ts';
import type { AttachedServer } from '../../contracts/tool-server/servers.ts';
import type { AttachedPort, Failure } from './attached.ts';
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

/** The reason of a server's refusal or failure, as a subscription shows it. Pure. */
const invalidParams = -32602;
const unknownMethod = -32601;

const ofCode = new Map<number, SubscriptionReason>([
  [eventCodes.notFound, 'event_not_found'],
  [draftEventCodes.notFound, 'event_not_found'],
  [eventCodes.resourceExhausted, 'too_many_subscriptions'],
  [draftEventCodes.resourceExhausted, 'too_many_subscriptions'],
  [eventCodes.unsupported, 'unsupported'],
  [draftEventCodes.unsupported, 'unsupported'],
  [unknownMethod, 'unsupported'],
  [invalidParams, 'invalid_arguments'],
]);

/** A server's errors about its attempt to reach the cloud; any other needs a person. */
const ofCallback: Readonly<Record<string, SubscriptionReason>> = {
  connection_refused: 'connection_refused',
  timeout: 'timeout',
  http_5xx: 'http_5xx',
};

const signInAgain = 'The server rejected Gantry’s sign-in. Sign in again, or set another key.';

function eventFaultOf({ kind, message, said }: Failure, cause: unknown): EventFault {
  const fault = (reason: SubscriptionReason, code: number | null, words = said?.message || message) =>
    new EventFault(reason, code, words, cause);
  if (kind === 'unauthorized') return fault('needs_reauth', said?.status ?? null, signInAgain);
  if (kind === 'timeout') return fault('connector_timeout', null, message);
  if (kind !== 'answer') return fault('connector_unreachable', null, message);
  if (said === null) return fault('connector_error', null, message);
  const { code, status, data } = said;
  if (code !== null) {
    if (code === eventCodes.callbackEndpoint || code === draftEventCodes.callbackEndpoint) {
      const reason = (data as { reason?: unknown } | null | undefined)?.reason;
      return fault(ofCallback[String(reason)] ?? 'challenge_failed', code);
    }
    return fault(ofCode.get(code) ?? 'connector_error', code);
  }
  if (status === 429) return fault('connector_unreachable', status, 'The server is limiting requests.');
  if (status !== null && status >= 500) return fault('http_5xx', status);
  return fault('connector_error', status);
}
