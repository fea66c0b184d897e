/** Tools as clients see them: the one registry behind MCP, REST and bots. Must not know how a tool is run. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

/** JSON Schema 2020-12, without `$schema`. */
const Schema = z.record(z.string(), z.unknown());

export const ToolAnnotations = z.looseObject({
  title: z.string().optional(),
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});

export const ToolInfo = z
  .strictObject({
    name: z.string().meta({ description: '`file.read`, or `<server>.<tool>` of an attached server.' }),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: Schema,
    outputSchema: Schema.optional(),
    annotations: ToolAnnotations.optional(),
    server: z.string().nullable().meta({ description: 'Name of the attached server; null for Gantry’s own.' }),
  })
  .meta({ id: 'ToolInfo' });
export type ToolInfo = z.infer<typeof ToolInfo>;

/** A block of a result, as in MCP; kinds of a later version pass through. */
export const ContentBlock = z.looseObject({ type: z.string() });
export type ContentBlock = z.infer<typeof ContentBlock>;

export const ToolResult = z
  .strictObject({
    content: z.array(ContentBlock),
    structuredContent: z.unknown().optional(),
    isError: z.boolean(),
  })
  .meta({ id: 'ToolResult' });
export type ToolResult = z.infer<typeof ToolResult>;

/** Text between a tool's name and the problem of its arguments: the start of a malformed call's error. */
export const doesNotTake = ' does not take this: ';

/** How long a call that needs a person waits for the answer before it returns `approval_required`. Seconds. */
export const maxApprovalWaitSeconds = 50;
/** For how long after the answer the same call of the same client runs, once. Minutes. */
export const approvalGoodFor = 10;
/** The largest call over MCP or REST, bytes: larger documents come by path or url. */
export const callBodyLimit = 8 * 1024 * 1024;

/** The names that every client may use: `?names=safe` lists `shell_exec`; calls take both. */
export const NameStyle = z.enum(['dotted', 'safe']);
export type NameStyle = z.infer<typeof NameStyle>;

const Name = z.strictObject({ name: z.string().min(1).max(200) });
const callers = ['owner', 'user', 'link', 'key', 'bot'] as const;

export const listTools = defineRoute({
  op: 'listTools',
  area: 'tool-server',
  errors: 'plain',
  summary: 'Lists every tool that the caller may call: native, conversion, attached; by name in byte order',
  method: 'GET',
  path: '/api/v1/tools',
  auth: callers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ names: NameStyle.optional() }),
  answers: { 200: z.strictObject({ tools: z.array(ToolInfo) }) },
});

export const readTool = defineRoute({
  op: 'readTool',
  area: 'tool-server',
  errors: 'plain',
  summary: 'Reads one tool with its schemas',
  method: 'GET',
  path: '/api/v1/tools/:name',
  auth: callers,
  scope: 'agents:read',
  owner: { none: 'tools belong to the computer, and every caller of it may see them' },
  params: Name,
  answers: { 200: ToolInfo },
});

export const callTool = defineRoute({
  op: 'callTool',
  area: 'tool-server',
  errors: 'plain',
  summary:
    'Calls a tool. 409 `approval_required` if nobody answers within 50 s: the same call runs once after they approve',
  method: 'POST',
  path: '/api/v1/tools/:name/call',
  auth: callers,
  scope: 'bots:act',
  owner: { none: 'policy and person decide about each call' },
  params: Name,
  bodyLimit: callBodyLimit,
  body: z.strictObject({ arguments: z.record(z.string(), z.unknown()).optional() }),
  answers: { 200: ToolResult },
});

export const toolRoutes = [listTools, readTool, callTool] as const;
