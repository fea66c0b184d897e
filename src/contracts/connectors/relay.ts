/** The path of an event: from the server's webhook to the cloud, and from the cloud to the computer. Must not know its handling there. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';

/** The largest webhook, bytes. */
export const largestEvent = 256 * 1024;

export const registerSubscription = defineRoute({
  op: 'registerConnectorSubscription',
  area: 'connector-events',
  errors: 'plain',
  summary:
    'Registers a subscription’s secret at the cloud before the server gets it; the previous secret stays valid for an hour',
  method: 'PUT',
  path: '/api/v1/runtime/mcp-event-subscriptions/:sub',
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own, and it names its own subscriptions' },
  params: z.strictObject({ sub: Id }),
  body: z.strictObject({
    secret: z.string().max(200),
    connectorId: Id,
    eventName: z.string().min(1).max(200),
  }),
  answers: { 200: z.strictObject({ callbackUrl: z.string() }) },
});

export const unregisterSubscription = defineRoute({
  op: 'unregisterConnectorSubscription',
  area: 'connector-events',
  errors: 'plain',
  summary: 'Ends a registration at the cloud and drops its waiting events; an unknown one is already gone',
  method: 'DELETE',
  path: '/api/v1/runtime/mcp-event-subscriptions/:sub',
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own, and it names its own subscriptions' },
  params: z.strictObject({ sub: Id }),
  answers: { 204: z.undefined() },
});

export const eventCallback = defineRoute({
  op: 'connectorEventCallback',
  area: 'connector-events',
  errors: 'plain',
  summary:
    'Receives events from servers: 202 once durable, 401 bad signature, 410 unknown, 413 over 256 KiB; echoes a verification',
  method: 'POST',
  path: '/mcp/events/callback/:key',
  auth: ['public'],
  scope: null,
  params: z.strictObject({ key: Id }),
  owner: { none: 'the key cannot be guessed, and the signature proves who posts' },
  kind: 'raw',
  signed: true,
  answers: {
    202: z.strictObject({ status: z.enum(['accepted', 'duplicate']) }),
    200: z.strictObject({ challenge: z.string() }),
  },
});

/** The event as it was signed: the computer interprets it. */
export const RelayedEvent = z.strictObject({
  eventId: z.string().min(1).max(500),
  name: z.string(),
  timestamp: z.string(),
  data: z.unknown(),
  cursor: z.string().nullable().optional(),
});
export type RelayedEvent = z.infer<typeof RelayedEvent>;

const subscriptionKey = z.string().min(1).max(200).meta({ description: 'The subscription’s id.' });
export const EventDelivery = z.union([
  z.strictObject({ subscriptionKey, event: RelayedEvent, receivedAt: Time.optional() }),
  z.strictObject({ subscriptionKey, type: z.literal('terminated'), error: z.unknown() }),
  z.strictObject({ subscriptionKey, type: z.literal('gap'), cursor: z.string().nullable() }),
  z.strictObject({
    subscriptionKey,
    type: z.literal('expired'),
    count: z.number().int().min(1),
    notice: z.string().min(1).max(100).meta({ description: 'A repeated notice has the same id and is counted once.' }),
  }),
]);
export type EventDelivery = z.infer<typeof EventDelivery>;

export const DeliveryOutcome = z.union([
  z.strictObject({ status: z.literal('triggered'), ticketId: z.string(), eventId: z.string() }),
  z.strictObject({ status: z.literal('duplicate') }),
  z.strictObject({ status: z.literal('terminated') }),
]);
export type DeliveryOutcome = z.infer<typeof DeliveryOutcome>;

export const deliverEvent = defineRoute({
  op: 'deliverConnectorEvent',
  area: 'connector-events',
  errors: 'plain',
  summary:
    'Delivers one event from the cloud; signed for this device. 410: no such subscription here; 400 invalid_event: wrong name, id, time or data',
  method: 'POST',
  path: '/api/v1/mcp/event-deliveries',
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own' },
  body: EventDelivery,
  // Escaped again as JSON, an event may take several times its size.
  bodyLimit: 8 * largestEvent,
  answers: { 200: DeliveryOutcome },
});

/** Routes of the cloud. */
export const registrationRoutes = [registerSubscription, unregisterSubscription, eventCallback] as const;
