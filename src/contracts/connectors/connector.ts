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
    key: z.string().min(1).max(16_384).meta({ description: 'Read back as "•••"; sent back so, it stays what it is.' }),
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
    error: z.string().nullable().meta({ description: 'What is wrong and what to do, in a sentence.' }),
    authorizeUrl: z
      .string()
      .nullable()
      .meta({ description: 'Where the person signs in while the status is needs_reauth.' }),
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
    description: 'Default none: a server that asks for a sign-in gets one begun.',
  }),
  enabled: z.boolean().optional(),
});
export type CreateConnector = z.infer<typeof CreateConnector>;
export const ChangeConnector = CreateConnector.partial();
export type ChangeConnector = z.infer<typeof ChangeConnector>;

export const ConnectorSignIn = z
  .strictObject({
    status: z.enum(['signed_in', 'needs_reauth', 'not_asked']).meta({
      description: 'not_asked: nothing is kept and the server has not asked for a sign-in.',
    }),
    authorizeUrl: z.string().nullable(),
    issuer: z.string().nullable(),
    scopes: z.array(z.string()),
    expiresAt: Time.nullable().meta({
      description: 'Of the access token, which is renewed by itself where that can be.',
    }),
  })
  .meta({ id: 'ConnectorSignIn' });
export type ConnectorSignIn = z.infer<typeof ConnectorSignIn>;

const one = { ...connectorRoute, owner: connectorOwner, params: z.strictObject({ id: Id }) } as const;

export const listConnectors = defineRoute({
  ...connectorRoute,
  op: 'listConnectors',
  summary: 'Connectors with their health',
  method: 'GET',
  path: base,
  owner: 'collection',
  answers: { 200: z.strictObject({ connectors: z.array(Connector) }) },
});
export const createConnector = defineRoute({
  ...connectorRoute,
  op: 'createConnector',
  summary: 'Adds a connector; it is reached for at once, and the answer does not wait for it',
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
  summary: 'One connector',
  method: 'GET',
  path: `${base}/:id`,
  answers: { 200: Connector },
});
export const changeConnector = defineRoute({
  ...one,
  op: 'changeConnector',
  summary: 'Changes what is named; disabled, its subscriptions are removed as when it is deleted',
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
  summary: 'How Gantry is signed in there',
  method: 'GET',
  path: `${base}/:id/oauth`,
  answers: { 200: ConnectorSignIn },
});
export const beginSignIn = defineRoute({
  ...one,
  op: 'beginConnectorSignIn',
  summary: 'Begins a sign-in: authorizeUrl is where the person goes with their browser',
  method: 'POST',
  path: `${base}/:id/oauth`,
  answers: { 200: ConnectorSignIn },
});
export const revokeSignIn = defineRoute({
  ...one,
  op: 'revokeConnectorSignIn',
  summary:
    'Revokes the grant at the provider where it takes that (RFC 7009), and forgets it here; subscriptions need a new sign-in then',
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
