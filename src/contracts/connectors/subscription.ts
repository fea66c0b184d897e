/** Subscriptions of a person to events of their connectors. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, Time } from '../common/values.ts';
import { connectorMounts, connectorOwner, connectorRoute } from './mount.ts';
import { About, Automation, JobStatus } from './rule.ts';

const base = `${connectorMounts[0]}/:id/events`;

/** The last is only for tickets: no rule has it. */
export const executionModes = ['REQUIRE_APPROVAL', 'PLAN_ONLY', 'ACCEPT_EDITS', 'BYPASS_PERMISSIONS'] as const;
export const ExecutionMode = z.enum(executionModes);
export type ExecutionMode = z.infer<typeof ExecutionMode>;

export const subscriptionStatuses = ['pending', 'active', 'error', 'needs_reauth'] as const;

/** Tried again every minute. */
export const transientReasons = [
  'connector_unreachable',
  'connector_timeout',
  'cloud_unreachable',
  'not_paired',
  'timeout',
  'connection_refused',
  'http_5xx',
] as const;
/** Wait for the person. */
export const lastingReasons = [
  'event_not_found',
  'too_many_subscriptions',
  'unsupported',
  'invalid_arguments',
  'connector_error',
  'challenge_failed',
  'terminated',
  'needs_reauth',
  'internal',
] as const;
export const SubscriptionReason = z.enum([...transientReasons, ...lastingReasons]);
export type SubscriptionReason = z.infer<typeof SubscriptionReason>;

export const Subscription = z
  .strictObject({
    id: z.string().regex(/^sub_[0-9a-f]{24}$/, 'sub_ and 24 hexadecimal digits'),
    connectorId: Id,
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    botId: z.string(),
    executionMode: ExecutionMode,
    status: z.enum(subscriptionStatuses),
    error: z
      .strictObject({ code: z.number().int().nullable(), reason: SubscriptionReason, message: z.string() })
      .nullable()
      .meta({ description: 'code: the JSON-RPC or HTTP number, or null.' }),
    refreshBefore: Time.nullable(),
    lastEventAt: Time.nullable(),
    lastEventId: z.string().nullable(),
    eventCount: z.number().int(),
    historyLostAt: Time.nullable().meta({
      description: 'The server reported `truncated`: events before this time may be missing.',
    }),
    expiredCount: z
      .number()
      .int()
      .meta({ description: 'Events that waited 24 hours for this computer and were given up.' }),
    createdAt: Time,
    updatedAt: Time,
  })
  .meta({ id: 'ConnectorSubscription' });
export type Subscription = z.infer<typeof Subscription>;

/** As in the server's `events/list`. */
export const EventDefinition = z
  .looseObject({
    name: z.string(),
    description: z.string().optional(),
    delivery: z.array(z.string()),
    inputSchema: z.record(z.string(), z.unknown()),
    payloadSchema: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'ConnectorEventDefinition' });
export type EventDefinition = z.infer<typeof EventDefinition>;

export const ConnectorEvents = z
  .strictObject({
    supported: z.boolean(),
    events: z.array(EventDefinition),
    error: z
      .strictObject({ reason: z.string(), message: z.string(), needsReauth: z.boolean() })
      .nullable()
      .meta({ description: 'Why the server could not be listed.' }),
    subscriptions: z.array(Subscription),
    archivedSubscriptions: z
      .array(z.strictObject({ id: z.string(), name: z.string() }))
      .max(20)
      .meta({ description: 'Ended subscriptions with runs, newest first; their runs can still be read.' }),
  })
  .meta({ id: 'ConnectorEvents' });
export type ConnectorEvents = z.infer<typeof ConnectorEvents>;

export const Subscribe = z.strictObject({
  name: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.unknown()).optional(),
  botId: z.string().min(1).max(200),
  executionMode: ExecutionMode.optional(),
  automation: Automation.optional().meta({
    description: 'Saves the default rule, `<subscription id>:default`. Absent: rules stay as they are.',
  }),
});
export type Subscribe = z.infer<typeof Subscribe>;

/** The steps of one event. Of its data only the line that identifies it: the rest is in the ticket. */
export const TrailEvent = z
  .strictObject({
    eventId: z.string(),
    about: About,
    name: z.string().nullable(),
    status: z.enum(['waiting', 'ticket', 'dead', 'expired', 'gap']).meta({
      description: 'waiting: for the computer; gap: the server reported that history is missing here.',
    }),
    reason: z.string().nullable(),
    receivedAt: Time.nullable().meta({ description: 'When it was durable at the cloud.' }),
    relayedAt: Time.nullable().meta({ description: 'When the computer accepted it.' }),
    ticketId: z.string().nullable(),
    runs: z.array(z.strictObject({ id: Id, ruleId: z.string(), status: JobStatus, at: Time })),
  })
  .meta({ id: 'ConnectorTrailEvent' });
export type TrailEvent = z.infer<typeof TrailEvent>;

const shared = { ...connectorRoute, owner: connectorOwner } as const;
const ofConnector = { ...shared, params: z.strictObject({ id: Id }) } as const;
const ofSubscription = { ...shared, params: z.strictObject({ id: Id, sid: Id }) } as const;

export const listConnectorEvents = defineRoute({
  ...ofConnector,
  op: 'listConnectorEvents',
  summary: 'Lists the events that the server offers (cached for 60 s) and the subscriptions',
  method: 'GET',
  path: base,
  answers: { 200: ConnectorEvents },
});
export const subscribeToEvent = defineRoute({
  ...ofConnector,
  op: 'subscribeToConnectorEvent',
  summary:
    'Subscribes a bot; repeating the same identity refreshes it. 502 with the subscription if server or cloud refused',
  method: 'POST',
  path: base,
  body: Subscribe,
  answers: { 200: z.strictObject({ subscription: Subscription }), 502: z.strictObject({ subscription: Subscription }) },
});
export const endSubscription = defineRoute({
  ...ofSubscription,
  op: 'endConnectorSubscription',
  summary: 'Ends a subscription: at the server if possible, at the cloud and here',
  method: 'DELETE',
  path: `${base}/subscriptions/:sid`,
  answers: { 204: z.undefined() },
});
export const listTrail = defineRoute({
  ...ofSubscription,
  op: 'listConnectorTrail',
  summary: 'Lists what happened to each event, newest first; the cloud adds those that wait there or were given up',
  method: 'GET',
  path: `${base}/subscriptions/:sid/events`,
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ events: z.array(TrailEvent), nextCursor: z.string().nullable() }) },
});

export const subscriptionRoutes = [listConnectorEvents, subscribeToEvent, endSubscription, listTrail] as const;
