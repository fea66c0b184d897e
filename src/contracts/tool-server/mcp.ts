/**
 * The names that MCP has on the wire, each written once: versions, headers, `_meta` keys, codes (modelcontextprotocol.io). Must
 * not know what is listed or called.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { callBodyLimit, NameStyle } from './tools.ts';

export const modernVersion = '2026-07-28';
/** The only earlier version with tasks; a client asks for one in `params.task`. */
export const tasksVersion = '2025-11-25';
/** Tasks in the versions since: an extension, which a client declares with each request. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';
/** Newest first. */
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const mcpVersions = [modernVersion, ...legacyVersions] as const;
/** The answer of `initialize` to an unknown version. */
export const fallbackVersion = '2025-06-18';
/** The version of a legacy request without the header. */
export const headerlessVersion = '2025-03-26';

export const mcpHeaders = { version: 'mcp-protocol-version', method: 'mcp-method', name: 'mcp-name' } as const;

export const mcpMeta = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  /** Only in 2025-11-25. */
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Only in the legacy era. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** JSON-RPC interprets the body, and answers in its own shape: the routes take and return bytes. */
const rpc = {
  area: 'tool-server',
  errors: 'rpc',
  method: 'POST',
  kind: 'raw',
  owner: { none: 'it names tools, prompts and resources, and callers see only those of their computer' },
  query: z.strictObject({
    names: NameStyle.optional(),
    computer: z
      .string()
      .max(200)
      .optional()
      .meta({ description: 'Through the cloud: which computer of the caller; default: their default computer.' }),
  }),
  bodyLimit: callBodyLimit,
  answers: { 200: z.unknown(), 202: z.undefined() },
} as const;

export const mcpServer = defineRoute({
  ...rpc,
  op: 'mcpServer',
  summary: 'Takes one JSON-RPC request of MCP, in every protocol version, and answers plain JSON',
  path: '/mcp/server',
  auth: ['owner', 'user', 'key', 'link', 'bot'],
  scope: 'bots:act',
});

export const internalMcpServer = defineRoute({
  ...rpc,
  op: 'internalMcpServer',
  summary: 'The tool server for peer services, which name the person they act for',
  path: '/internal/tools/mcp',
  auth: ['internal'],
  scope: null,
});

/**
 * OAuth of attached servers: a person's browser comes back here, and providers read here who asks (RFC 6749, OAuth Client ID
 * Metadata Document).
 */
export const oauthCallback = defineRoute({
  op: 'toolServerOauthCallback',
  area: 'tool-server',
  errors: 'plain',
  summary:
    'The page to which a provider returns the browser after a sign-in for an attached server; it shows the result',
  method: 'GET',
  path: '/mcp/oauth/callback',
  auth: ['public', 'owner', 'user', 'link'],
  scope: null,
  owner: { none: 'the state, which nobody can guess, names the sign-in that a person began' },
  kind: 'raw',
  query: z.looseObject({
    state: z.string().min(1).max(512),
    code: z.string().max(4096).optional(),
    iss: z.string().max(2048).optional(),
    error: z.string().max(256).optional(),
    error_description: z.string().max(2048).optional(),
  }),
  answers: { 200: z.unknown() },
});

export const oauthClientDocument = defineRoute({
  op: 'toolServerOauthClient',
  area: 'tool-server',
  errors: 'plain',
  summary: 'The client-id metadata document, which tells a provider who Gantry is',
  method: 'GET',
  path: '/mcp/oauth/client.json',
  auth: ['public'],
  scope: null,
  owner: { none: 'everybody may know who asks' },
  answers: { 200: z.looseObject({ client_id: z.string(), redirect_uris: z.array(z.string()) }) },
});

/** Gantry's identity for a provider: in its document, and where it registers (RFC 7591). */
export function oauthClientMetadata(origin: string) {
  return {
    client_name: 'Gantry',
    client_uri: origin,
    redirect_uris: [`${origin}${oauthCallback.path}`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** Where resources are, followed by an id: the same at the tool server and at the edge. */
export const resourcePlaces = { boards: 'gantry://boards/', runs: 'gantry://runs/' } as const;
