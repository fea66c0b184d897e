/** Tool servers of others, attached to a computer. Must not know how one is reached. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

/** The families of native tools: no attached server may be called like one. */
export const nativeFamilies = ['shell', 'file', 'system', 'http', 'time', 'document'] as const;

const ServerName = z
  .string()
  .regex(/^[a-z0-9_-]{1,32}$/, 'lowercase letters, digits, "_" and "-", at most 32')
  .refine((name) => !(nativeFamilies as readonly string[]).includes(name), 'is the name of a family of native tools');

const Text = z.string().min(1).max(4096);
const Pairs = z.record(z.string().min(1).max(256), z.string().max(16_384));

export const StdioTransport = z.strictObject({
  type: z.literal('stdio'),
  command: Text,
  args: z.array(z.string().max(16_384)).max(200).optional(),
  env: Pairs.optional().meta({ description: 'Values are secrets: they are sealed and returned as "•••".' }),
  cwd: Text.optional(),
});

export const OAuthSettings = z.strictObject({
  clientId: Text.optional().meta({
    description: 'If the provider gave one; otherwise a client-id metadata document or registration is used.',
  }),
  clientSecret: Text.optional(),
  scopes: z.array(Text).max(50).optional(),
});

export const HttpTransport = z.strictObject({
  type: z.literal('http'),
  url: z.string().min(1).max(2048),
  headers: Pairs.optional().meta({ description: 'Values are secrets: they are sealed and returned as "•••".' }),
  oauth: OAuthSettings.optional(),
});

export const Transport = z.discriminatedUnion('type', [StdioTransport, HttpTransport]);
export type Transport = z.infer<typeof Transport>;

/** The placeholder for a secret; sent back unchanged, in the same place, it keeps the existing secret. */
export const hiddenSecret = '•••';

/** The program or address of a transport, which is the receiver of its secrets; without the secrets themselves. */
export function placeOf(transport: Transport): string {
  if (transport.type === 'http') return JSON.stringify([transport.url]);
  return JSON.stringify([transport.command, transport.args ?? [], transport.cwd ?? null]);
}

export const serverStates = ['connected', 'connecting', 'error', 'disabled', 'needs_reauth'] as const;
export type ServerState = (typeof serverStates)[number];

/** Default deadline of one call to an attached server, milliseconds. */
export const defaultCallTimeoutMs = 60_000;
const Timeout = z.number().int().min(1000).max(600_000);

export const AttachedServer = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    transport: Transport,
    enabled: z.boolean(),
    timeoutMs: z.number().int(),
    status: z.enum(serverStates),
    error: z.string().nullable().meta({ description: 'What is wrong and what to do, in one sentence.' }),
    authorizeUrl: z
      .string()
      .nullable()
      .meta({ description: 'Where the person signs in when the status is needs_reauth and the server uses OAuth.' }),
    toolCount: z.number().int(),
    problems: z
      .array(z.string())
      .meta({ description: 'Tools that are left out, and why: unusable names, collisions, schemas.' }),
    pid: z.number().int().nullable().meta({ description: 'Process id of a running stdio server.' }),
    lastListedAt: z.string().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
  })
  .meta({ id: 'AttachedServer' });
export type AttachedServer = z.infer<typeof AttachedServer>;

export const AttachServer = z.strictObject({
  name: ServerName,
  transport: Transport,
  enabled: z.boolean().optional(),
  timeoutMs: Timeout.optional(),
});
export type AttachServer = z.infer<typeof AttachServer>;

export const ChangeServer = AttachServer.partial();
export type ChangeServer = z.infer<typeof ChangeServer>;

/** Only a person: a server is a program that runs with the person's rights. */
const shared = {
  area: 'tool-server',
  errors: 'plain',
  auth: ['owner', 'user', 'link'],
  scope: null,
} as const;
const one = {
  ...shared,
  owner: { none: 'servers belong to the computer, and only its owner reaches these routes' },
  params: z.strictObject({ id: z.string().min(1).max(200) }),
} as const;

export const listServers = defineRoute({
  ...shared,
  op: 'listAttachedServers',
  summary: 'Lists attached tool servers with their health',
  method: 'GET',
  path: '/mcp/servers',
  owner: 'collection',
  answers: { 200: z.strictObject({ servers: z.array(AttachedServer) }) },
});

export const attachServer = defineRoute({
  ...shared,
  op: 'attachServer',
  summary: 'Attaches a tool server; connecting starts at once, and the answer does not wait for it',
  method: 'POST',
  path: '/mcp/servers',
  owner: 'collection',
  idempotent: true,
  body: AttachServer,
  answers: { 201: AttachedServer },
});

export const readServer = defineRoute({
  ...one,
  op: 'readAttachedServer',
  summary: 'Reads one attached tool server',
  method: 'GET',
  path: '/mcp/servers/:id',
  answers: { 200: AttachedServer },
});

export const changeServer = defineRoute({
  ...one,
  op: 'changeAttachedServer',
  summary: 'Changes the given fields; a changed transport reconnects',
  method: 'PATCH',
  path: '/mcp/servers/:id',
  body: ChangeServer,
  answers: { 200: AttachedServer },
});

export const detachServer = defineRoute({
  ...one,
  op: 'detachServer',
  summary: 'Detaches a tool server and ends its process',
  method: 'DELETE',
  path: '/mcp/servers/:id',
  answers: { 204: z.undefined() },
});

export const reconnectServer = defineRoute({
  ...one,
  op: 'reconnectServer',
  summary: 'Reconnects; with OAuth it also starts a new sign-in',
  method: 'POST',
  path: '/mcp/servers/:id/reconnect',
  answers: { 200: AttachedServer },
});

export const serverRoutes = [
  listServers,
  attachServer,
  readServer,
  changeServer,
  detachServer,
  reconnectServer,
] as const;
