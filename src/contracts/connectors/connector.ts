/**
 * A connector: another service's server with the credential for it. It is an attached tool server on HTTP, seen from its account: one row, one
 * connection, one sign-in. Must not know how it is reached.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { AttachServer, OAuthSettings, serverStates } from '../tool-server/servers.ts';
import { connectorMounts, connectorOwner, connectorRoute } from './mount.ts';

const base = connectorMounts[0];

/** `oauth`: the person signs in there. `api_key`: sent with every request; sealed, and never shown again. */
export const ConnectorAuth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({
    type: z.literal('api_key'),
    key: z
      .string()
      .min(1)
      .max(16_384)
      .meta({ description: 'Returned as "•••"; send "•••" to keep the current value.' }),
    header: z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/, 'a header name')
      .optional()
      .meta({ description: 'Default Authorization, with "Bearer " before the key.' }),
  }),
  OAuthSettings.extend({ type: z.literal('oauth') }),
]);
export type ConnectorAuth = z.infer<typeof ConnectorAuth>;

export const Connector = z
  .strictObject({
    id: Id,
    name: z.string(),
    url: z.string(),
    auth: ConnectorAuth.meta({ description: 'Secrets as "•••".' }),
    enabled: z.boolean(),
    status: z.enum(serverStates),
    error: z.string().nullable().meta({ description: 'What is wrong and what to do, in one sentence.' }),
    authorizeUrl: z
      .string()
      .nullable()
      .meta({ description: 'Where the person signs in when the status is needs_reauth.' }),
    toolCount: z.number().int(),
    subscriptionCount: z.number().int(),
    createdAt: Time,
    updatedAt: Time,
  })
  .meta({ id: 'Connector' });
export type Connector = z.infer<typeof Connector>;

export const CreateConnector = z.strictObject({
  name: AttachServer.shape.name,
  url: z.string().min(1).max(2048),
  auth: ConnectorAuth.optional().meta({
    description: 'Default none: if the server asks for a sign-in, one is started.',
  }),
  enabled: z.boolean().optional(),
});
export type CreateConnector = z.infer<typeof CreateConnector>;
export const ChangeConnector = CreateConnector.partial();
export type ChangeConnector = z.infer<typeof ChangeConnector>;

export const ConnectorSignIn = z
  .strictObject({
    status: z.enum(['signed_in', 'needs_reauth', 'not_asked']).meta({
      description: 'not_asked: nothing is stored and the server has not asked for a sign-in.',
    }),
    authorizeUrl: z.string().nullable(),
    issuer: z.string().nullable(),
    scopes: z.array(z.string()),
    expiresAt: Time.nullable().meta({
      description: 'Expiry of the access token, which is renewed automatically where possible.',
    }),
  })
  .meta({ id: 'ConnectorSignIn' });
export type ConnectorSignIn = z.infer<typeof ConnectorSignIn>;

const one = { ...connectorRoute, owner: connectorOwner, params: z.strictObject({ id: Id }) } as const;

export const listConnectors = defineRoute({
  ...connectorRoute,
  op: 'listConnectors',
  summary: 'Lists connectors with their health',
  method: 'GET',
  path: base,
  owner: 'collection',
  answers: { 200: z.strictObject({ connectors: z.array(Connector) }) },
});
export const createConnector = defineRoute({
  ...connectorRoute,
  op: 'createConnector',
  summary: 'Adds a connector; connecting starts at once, and the answer does not wait for it',
  method: 'POST',
  path: base,
  owner: 'collection',
  idempotent: true,
  body: CreateConnector,
  answers: { 201: Connector },
});
export const readConnector = defineRoute({
  ...one,
  op: 'readConnector',
  summary: 'Reads one connector',
  method: 'GET',
  path: `${base}/:id`,
  answers: { 200: Connector },
});
export const changeConnector = defineRoute({
  ...one,
  op: 'changeConnector',
  summary: 'Changes the given fields; disabling it removes its subscriptions, as deleting it does',
  method: 'PATCH',
  path: `${base}/:id`,
  body: ChangeConnector,
  answers: { 200: Connector },
});
export const removeConnector = defineRoute({
  ...one,
  op: 'removeConnector',
  summary: 'Removes a connector with its subscriptions, and revokes its sign-in',
  method: 'DELETE',
  path: `${base}/:id`,
  answers: { 204: z.undefined() },
});

export const readSignIn = defineRoute({
  ...one,
  op: 'readConnectorSignIn',
  summary: 'Reads how Gantry is signed in',
  method: 'GET',
  path: `${base}/:id/oauth`,
  answers: { 200: ConnectorSignIn },
});
export const beginSignIn = defineRoute({
  ...one,
  op: 'beginConnectorSignIn',
  summary: 'Starts a sign-in: the person opens authorizeUrl in their browser',
  method: 'POST',
  path: `${base}/:id/oauth`,
  answers: { 200: ConnectorSignIn },
});
export const revokeSignIn = defineRoute({
  ...one,
  op: 'revokeConnectorSignIn',
  summary:
    'Revokes the grant at the provider if it supports that (RFC 7009) and deletes it here; subscriptions then need a new sign-in',
  method: 'DELETE',
  path: `${base}/:id/oauth`,
  answers: { 204: z.undefined() },
});

export const connectorRoutes = [
  listConnectors,
  createConnector,
  readConnector,
  changeConnector,
  removeConnector,
  readSignIn,
  beginSignIn,
  revokeSignIn,
] as const;
