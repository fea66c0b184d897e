/** Routes of sends, deliveries, threads and events, from the contract to the services. */
import {
  createThread,
  drainQueue,
  factoryEventStream,
  listDeliveries,
  listMessages,
  listThreads,
  sendMessage,
} from '../../contracts/factory/routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Store } from '../../kit/store/store.ts';
import type { Registry } from '../agents/registry.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import { createEventStreams } from '../events/event-streams.ts';
import type { EventStreamDeps } from '../events/event-tail.ts';
import type { Drain } from './drain.ts';
import { type DeliveryRecord, shownDelivery, toDelivery } from './model.ts';
import type { SendService } from './send.ts';
import { senderAs, senderOf } from './sender.ts';
import * as deliveries from './store/deliveries.ts';
import * as threads from './store/threads.ts';
import type { ThreadService } from './thread-service.ts';

export function orchestrationRoutes(deps: {
  readonly store: Store;
  readonly registry: Registry;
  readonly sends: SendService;
  readonly drain: Drain;
  readonly threads: ThreadService;
  readonly events: EventStreamDeps;
}): BoundRoute[] {
  const { store, registry } = deps;
  const events = createEventStreams(deps.events);

  /** A filter names an agent by id or address; one that is not here has no rows. */
  const agentFilter = (agent: string | undefined) =>
    agent === undefined ? undefined : (registry.find(agent)?.id ?? agent);

  return [
    bind(sendMessage, async ({ body, principal, request }) => {
      const header = request.headers['idempotency-key'];
      const key = Array.isArray(header) ? header.join(', ') : header;
      const { as, to } = body;
      const sender = as === undefined ? senderOf(registry, principal) : senderAs(registry, principal, { as, to });
      return { body: await deps.sends.send(body, sender, key) };
    }),
    bind(listDeliveries, async ({ query, principal }) => {
      const limit = query.limit ?? defaultLimit;
      const before = decodeCursor(query.cursor, idCursor) ?? undefined;
      const rows = await store.read((tx) =>
        deliveries.listDeliveries(tx, {
          agentId: agentFilter(query.agent),
          threadId: query.thread,
          nodeId: query.node,
          before,
          limit: limit + 1,
        }),
      );
      const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(last.id));
      return { body: { deliveries: shown.map((one) => deliveryFor(one, principal.agentId)), nextCursor } };
    }),
    bind(drainQueue, async ({ body }) => ({ body: await deps.drain(body.agent, body.dryRun === true) })),
    bind(factoryEventStream, ({ query, request }, sink) => {
      const header = request.headers['last-event-id'];
      const lastEventId = Array.isArray(header) ? header[0] : header;
      return events.stream({ after: query.after, lastEventId }, sink);
    }),
    bind(listThreads, async ({ query, principal }) => {
      const limit = query.limit ?? defaultLimit;
      const before = decodeCursor(query.cursor, threadCursor) ?? undefined;
      const rows = await store.read((tx) =>
        threads.listThreads(tx, {
          agentId: agentFilter(query.bot),
          seenBy: principal.agentId,
          before,
          limit: limit + 1,
        }),
      );
      const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(Date.parse(last.lastMessageAt), last.id));
      return { body: { threads: shown, nextCursor } };
    }),
    bind(createThread, async ({ body, principal }) => {
      const plan = deps.threads.plan(body.title, body.bot, principal.agentId);
      if (body.dryRun === true) return { status: 200 as const, body: { dryRun: true as const, plan } };
      const sender = senderOf(registry, principal);
      return {
        status: 201 as const,
        body: await deps.threads.create(plan, { actor: sender.caller, surface: sender.surface }),
      };
    }),
    bind(listMessages, async ({ params, query }) => {
      const limit = query.limit ?? defaultLimit;
      const before = decodeCursor(query.cursor, idCursor) ?? undefined;
      const rows = await store.read((tx) => threads.listMessages(tx, params.id, before, limit + 1));
      const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(last.id));
      return { body: { messages: shown, nextCursor } };
    }),
  ];
}

/** A bot reads the words of its own messages only. */
function deliveryFor(record: DeliveryRecord, bot: string | undefined) {
  const mayRead = bot === undefined || bot === record.agentId || bot === record.caller;
  return mayRead ? shownDelivery(record) : toDelivery(record);
}

function threadCursor(parts: unknown): { at: number; id: string } | null {
  if (!Array.isArray(parts) || parts.length !== 2) return null;
  const [at, id] = parts as unknown[];
  return typeof at === 'number' && typeof id === 'string' ? { at, id } : null;
}
