/**
 * The events extension of MCP on the wire: method names, codes, bodies. Two sides speak it: the edge, which offers events, and
 * connectors, which subscribe. Must not know what is offered.
 */
import { z } from 'zod';

export const eventMethods = {
  list: 'events/list',
  subscribe: 'events/subscribe',
  unsubscribe: 'events/unsubscribe',
} as const;
/** Two names of one thing: the first is what clients of today look for. */
export const eventsCapability = { key: 'events', extension: 'io.modelcontextprotocol/events' } as const;

export const eventCodes = {
  notFound: -32011,
  forbidden: -32012,
  resourceExhausted: -32013,
  unsupported: -32014,
  callbackEndpoint: -32015,
} as const;
/** The draft's newer numbers, which a server may send; in the same order. */
export const draftEventCodes = {
  notFound: -32023,
  forbidden: -32024,
  resourceExhausted: -32025,
  unsupported: -32026,
  callbackEndpoint: -32027,
} as const;

export const webhookHeaders = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
  subscription: 'x-mcp-subscription-id',
} as const;

const day = 24 * 60 * 60_000;
/** Default lifetime of a subscription, milliseconds. */
export const defaultTtlMs = day;
export const maxTtlMs = 7 * day;

export const SubscribeParams = z.looseObject({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  delivery: z.looseObject({ mode: z.string(), url: z.string().optional(), secret: z.string().optional() }),
  cursor: z.string().nullable().optional(),
  maxAgeMs: z.number().nullable().optional(),
  ttlMs: z.number().nullable().optional(),
});

export const SubscribeResult = z.looseObject({
  id: z.string(),
  refreshBefore: z.string().nullable(),
  cursor: z.string().nullable().optional(),
  truncated: z.boolean(),
});
export type SubscribeResult = z.infer<typeof SubscribeResult>;

export interface DeliveredEvent {
  readonly eventId: string;
  readonly name: string;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly cursor?: string | null;
}

/** A body with a top-level `type` is no event. */
export type ControlMessage =
  | { readonly type: 'verification'; readonly challenge: string }
  | { readonly type: 'gap'; readonly cursor: string | null }
  | {
      readonly type: 'terminated';
      readonly reason?: string;
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
    };
