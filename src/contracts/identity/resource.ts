/**
 * How a client gets a token for this server (RFC 9728). The server as a whole is one resource; each MCP endpoint is a separate one, so that a token
 * for one is not valid for another.
 */
import { z } from 'zod';
import { defineRoute, scopes } from '../common/route.ts';

const ProtectedResource = z
  .strictObject({
    resource: z.string(),
    resource_name: z.string(),
    authorization_servers: z.array(z.string()),
    scopes_supported: z.array(z.enum(scopes)),
    bearer_methods_supported: z.array(z.literal('header')),
  })
  .meta({ id: 'ProtectedResource' });

const shared = {
  area: 'identity',
  errors: 'plain',
  method: 'GET',
  auth: ['public'],
  scope: null,
  owner: { none: 'everybody may know who issues tokens' },
  answers: { 200: ProtectedResource },
} as const;

export const protectedResource = defineRoute({
  ...shared,
  op: 'protectedResource',
  summary: 'Reads who issues tokens for this server; 404 if nobody does',
  path: '/.well-known/oauth-protected-resource',
});

export const protectedResourceOf = defineRoute({
  ...shared,
  op: 'protectedResourceOf',
  summary: 'Reads who issues tokens for one MCP endpoint, such as …/mcp/server',
  path: '/.well-known/oauth-protected-resource/*',
});
