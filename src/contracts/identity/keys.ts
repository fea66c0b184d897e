/** API keys: for programs, with what they may do and until when; shown once, because only their hash is kept. */
import { z } from 'zod';
import { defineRoute, scopes } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';

const area = 'identity';
const errors = 'plain' as const;

/** A name of a tool, or the beginning of several followed by `*`. */
const toolPattern = z
  .string()
  .regex(/^(?:[A-Za-z0-9_.-]{1,64}\*?|\*)$/, 'a name such as file.read, or a beginning such as tracker.*');

/** The tools of the tool server that a key may see and call. */
export const KeyTools = z.strictObject({
  names: z.array(toolPattern).min(1).max(100),
  search: z
    .boolean()
    .optional()
    .meta({ description: 'Over MCP, list only `tools.search`, which finds the others: for very many tools.' }),
});
export type KeyTools = z.infer<typeof KeyTools>;

export const ApiKey = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    prefix: z.string().meta({ description: 'The first characters of the key, to tell it from others.' }),
    scopes: z.array(z.enum(scopes)),
    resource: z
      .string()
      .nullable()
      .meta({ description: 'The only address that it opens; null: everything that its scopes open.' }),
    tools: KeyTools.nullable().meta({ description: 'The only tools that it sees and calls; null: all of them.' }),
    createdAt: Time,
    expiresAt: Time.nullable(),
    lastUsedAt: Time.nullable().meta({ description: 'Updated at most once a minute.' }),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;

/** A key and its text, which cannot be shown again. */
export const NewApiKey = z.strictObject({ key: ApiKey, secret: z.string() }).meta({ id: 'NewApiKey' });

export const keyFields = {
  name: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u, 'a name of at most 64 letters, digits, spaces and . _ -')
    .meta({ description: 'Two live keys may share a name, so that one can take over from the other.' }),
  scopes: z.array(z.enum(scopes)).min(1).max(scopes.length),
  expiresInDays: z.number().int().min(1).max(3650).optional(),
  resource: z
    .string()
    .regex(
      /^(?:\/mcp\/server|\/edge\/mcp(?:\/bots\/[A-Za-z0-9][A-Za-z0-9._:~@-]{0,199})?)$/,
      '/mcp/server, /edge/mcp or /edge/mcp/bots/<bot id>',
    )
    .optional()
    .meta({
      description: 'The tool server, or a server of the edge. The key then opens only that server, within its scopes.',
    }),
  tools: KeyTools.optional().meta({
    description: 'The key then has only these tools of the tool server, and none of its prompts and resources.',
  }),
};

export const listKeys = defineRoute({
  op: 'listKeys',
  area,
  errors,
  summary: 'Lists your API keys that are not revoked, newest first',
  method: 'GET',
  path: '/api/v1/keys',
  auth: ['owner', 'user'],
  scope: null,
  owner: 'collection',
  answers: { 200: z.strictObject({ keys: z.array(ApiKey) }) },
});

export const createKey = defineRoute({
  op: 'createKey',
  area,
  errors,
  summary: 'Creates an API key; its text is shown only this once',
  method: 'POST',
  path: '/api/v1/keys',
  auth: ['owner', 'user'],
  scope: null,
  owner: 'collection',
  body: z.strictObject(keyFields),
  answers: { 201: NewApiKey },
});

export const revokeKey = defineRoute({
  op: 'revokeKey',
  area,
  errors,
  summary: 'Revokes an API key at once',
  method: 'DELETE',
  path: '/api/v1/keys/:id',
  auth: ['owner', 'user'],
  scope: null,
  owner: { param: 'id', noun: 'key', list: 'GET /api/v1/keys' },
  params: z.strictObject({ id: Id }),
  answers: { 204: z.undefined() },
});

export const keyRoutes = [listKeys, createKey, revokeKey] as const;
