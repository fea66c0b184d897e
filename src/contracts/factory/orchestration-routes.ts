/** Routes of sends, deliveries, threads and events. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging } from '../common/values.ts';
import { Delivery, Message, SendPlan, SendRequest, Thread } from './delivery.ts';
import { ClosingEvent, EventEnvelope, ResetEvent } from './events.ts';
import { area, base, errors, people, readers } from './route-parts.ts';

export const sendMessage = defineRoute({
  op: 'sendMessage',
  area,
  errors,
  summary: 'Sends a message to a bot or a thread and says whether it arrived',
  method: 'POST',
  path: `${base}/send`,
  auth: readers,
  scope: 'bots:act',
  owner: { none: 'the address is resolved among the caller’s own bots' },
  body: SendRequest,
  answers: { 200: z.union([Delivery, SendPlan]) },
});

export const listDeliveries = defineRoute({
  op: 'listDeliveries',
  area,
  errors,
  summary: 'Lists deliveries, newest first',
  method: 'GET',
  path: `${base}/deliveries`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({
    agent: z.string().optional().meta({ description: 'Only this bot (id, address or name).' }),
    thread: z.string().optional().meta({ description: 'Only of this thread.' }),
    node: z.string().optional().meta({ description: 'Only of this step.' }),
    ...Paging,
  }),
  answers: { 200: z.strictObject({ deliveries: z.array(Delivery), nextCursor: z.string().nullable() }) },
});

export const drainQueue = defineRoute({
  op: 'drainQueue',
  area,
  errors,
  summary: 'Retries the queued messages of one bot or of all bots now',
  method: 'POST',
  path: `${base}/drain`,
  auth: people,
  scope: 'bots:act',
  owner: { none: 'the address is resolved among the caller’s own bots' },
  body: z.strictObject({ agent: z.string().optional(), dryRun: z.boolean().optional() }),
  answers: {
    200: z.strictObject({ tried: z.array(z.string()), left: z.number().int(), dryRun: z.literal(true).optional() }),
  },
});

export const factoryEventStream = defineRoute({
  op: 'factoryEvents',
  area,
  errors,
  summary: 'Streams events; Last-Event-ID or ?after= replays from there, otherwise the stream starts now',
  method: 'GET',
  path: `${base}/events`,
  auth: people,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ after: z.string().max(100).optional() }),
  kind: 'sse',
  events: { message: EventEnvelope, reset: ResetEvent, closing: ClosingEvent },
  answers: { 200: z.unknown() },
});

export const listThreads = defineRoute({
  op: 'listThreads',
  area,
  errors,
  summary: 'Lists threads, newest message first',
  method: 'GET',
  path: `${base}/threads`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ bot: z.string().optional(), ...Paging }),
  answers: { 200: z.strictObject({ threads: z.array(Thread), nextCursor: z.string().nullable() }) },
});

export const createThread = defineRoute({
  op: 'createThread',
  area,
  errors,
  summary: 'Opens a thread with a bot',
  method: 'POST',
  path: `${base}/threads`,
  auth: readers,
  scope: 'bots:act',
  owner: { none: 'the address is resolved among the caller’s own bots' },
  idempotent: true,
  body: z.strictObject({
    title: z.string().min(1).max(200),
    bot: z.string().optional(),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    201: Thread,
    200: z.strictObject({
      dryRun: z.literal(true),
      plan: z.strictObject({ title: z.string(), botId: z.string().nullable() }),
    }),
  },
});

export const listMessages = defineRoute({
  op: 'listMessages',
  area,
  errors,
  summary: 'Lists the messages of a thread, newest first',
  method: 'GET',
  path: `${base}/threads/:id/messages`,
  auth: readers,
  scope: 'agents:read',
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'thread', list: 'gantry orchestration threads' },
  query: z.strictObject({ ...Paging }),
  answers: { 200: z.strictObject({ messages: z.array(Message), nextCursor: z.string().nullable() }) },
});
