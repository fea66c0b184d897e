/**
 * The public edge: two MCP servers of the cloud for outside apps, its page, and the routes by which an owner sees and ends their subscriptions. Must
 * not know how events are delivered.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { callBodyLimit } from '../tool-server/tools.ts';

/** At the cloud's own origin, unless `events_edge_url` names another. */
export const edgeBase = '/edge';

const shared = { area: 'tool-server', errors: 'plain' } as const;
const rpc = {
  ...shared,
  errors: 'rpc',
  method: 'POST',
  auth: ['owner', 'user', 'key'],
  kind: 'raw',
  bodyLimit: callBodyLimit,
  query: z.strictObject({
    computer: z
      .string()
      .max(200)
      .optional()
      .meta({ description: 'The caller’s computer that tools use; default: their default computer.' }),
  }),
  answers: { 200: z.unknown(), 202: z.undefined() },
} as const;

/** The content of the page at the edge's root, for programs. */
export const EdgeAbout = z
  .strictObject({
    servers: z.array(
      z.strictObject({
        name: z.enum(['agents', 'bots']),
        title: z.string(),
        url: z.string().meta({ description: 'Address of the server; that of `bots` contains `<bot id>`.' }),
        scope: z.enum(['agents:read', 'bots:act']),
        about: z.string(),
      }),
    ),
    protocolVersions: z.array(z.string()),
    events: z.array(
      z.strictObject({
        event: z.string(),
        title: z.string(),
        description: z.string(),
        servers: z.array(z.enum(['agents', 'bots'])),
      }),
    ),
  })
  .meta({ id: 'EdgeAbout' });
export type EdgeAbout = z.infer<typeof EdgeAbout>;
/** The placeholder for the id in the address of a bot's server. */
export const botIdMark = '<bot id>';

export const edgePage = defineRoute({
  ...shared,
  op: 'edgePage',
  summary:
    'A short page with server addresses, protocol versions and the event catalog; as JSON for clients that accept only JSON',
  method: 'GET',
  path: edgeBase,
  auth: ['public'],
  scope: null,
  owner: { none: 'it says nothing of anybody' },
  kind: 'raw',
  media: ['application/json', 'text/html'],
  answers: { 200: EdgeAbout },
});

export const edgeAgents = defineRoute({
  ...rpc,
  op: 'edgeAgents',
  summary:
    'The agents server: reads bots, runs and boards, and offers events; event calls work while the computer sleeps',
  path: `${edgeBase}/mcp`,
  scope: 'agents:read',
  owner: { none: 'it names tools and events, and callers see only their own' },
});

export const edgeBot = defineRoute({
  ...rpc,
  op: 'edgeBot',
  summary: 'The connector of one bot: exchanges messages with it and offers its events',
  path: `${edgeBase}/mcp/bots/:id`,
  scope: 'bots:act',
  params: z.strictObject({ id: Id }),
  owner: { none: 'events and tools of a bot that is not the caller’s find nothing' },
});

const person = { ...shared, auth: ['owner', 'user', 'link'], scope: null } as const;

export const EdgeSubscription = z.strictObject({
  id: z.string(),
  event: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  server: z.string().meta({ description: '`agents`, or `bots/<bot id>`.' }),
  callbackHost: z.string(),
  status: z.enum(['active', 'failing', 'expired']).meta({ description: 'failing: the last delivery was given up.' }),
  refreshBefore: Time,
  lastDeliveryAt: Time.nullable(),
});
export type EdgeSubscription = z.infer<typeof EdgeSubscription>;

export const EdgeApp = z
  .strictObject({
    clientId: z.string().meta({ description: 'A token’s client_id, or `key:<id>` of an API key.' }),
    clientName: z.string(),
    approvedAt: Time.meta({ description: 'Its first accepted use.' }),
    scopes: z.array(z.string()),
    subscriptions: z.array(EdgeSubscription),
  })
  .meta({ id: 'EdgeApp' });
export type EdgeApp = z.infer<typeof EdgeApp>;

export const listApps = defineRoute({
  ...person,
  op: 'listEdgeApps',
  summary: 'Lists approved apps and their subscriptions',
  method: 'GET',
  path: '/api/v1/mcp/approvals',
  owner: 'collection',
  answers: { 200: z.strictObject({ apps: z.array(EdgeApp) }) },
});

export const endEdgeSubscription = defineRoute({
  ...person,
  op: 'endEdgeSubscription',
  summary: 'Ends a subscription of an app, which is notified: terminated, ended_by_owner',
  method: 'DELETE',
  path: '/api/v1/mcp/events/subscriptions/:id',
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'edge-subscription', word: 'subscription', list: 'GET /api/v1/mcp/approvals' },
  answers: { 204: z.undefined() },
});

export const CatalogEvent = z
  .strictObject({
    event: z.string(),
    title: z.string(),
    description: z.string(),
    servers: z.array(z.enum(['agents', 'bots'])),
    payloadSchema: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'CatalogEvent' });
export type CatalogEvent = z.infer<typeof CatalogEvent>;

export const readCatalog = defineRoute({
  ...person,
  op: 'readEventCatalog',
  summary: 'Lists every event with its title and the servers that offer it',
  method: 'GET',
  path: '/api/v1/events/catalog',
  owner: { none: 'the same for everybody' },
  answers: { 200: z.strictObject({ events: z.array(CatalogEvent) }) },
});

export const edgeRoutes = [edgePage, edgeAgents, edgeBot, listApps, endEdgeSubscription, readCatalog] as const;
