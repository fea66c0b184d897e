/**
 * The routes of a computer's executor. `:id` is `this-device` on the computer itself; the cloud takes `this-device` for the
 * computer that the call names, or the id of one of the caller's computers. Must not know hosted computers.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { AnyToolset } from './members.ts';
import { Control, ToolsetCall, ToolsetResult, toolsetCodes, viewEvents } from './toolset.ts';

const shared = { area: 'computer-use', errors: 'computers', scope: 'compute' } as const;
const callers = ['owner', 'user', 'link', 'key'] as const;
const owner = { none: 'the cloud passes calls only to the caller’s computers, and a computer has one person' } as const;
const base = '/api/v1/computers/:id';
const params = z.strictObject({ id: Id });

export const callToolset = defineRoute({
  ...shared,
  op: 'callToolset',
  summary: 'Runs a call of the computer or browser toolset on this computer',
  method: 'POST',
  path: `${base}/toolset`,
  auth: callers,
  owner,
  params,
  bodyLimit: 256 * 1024,
  body: ToolsetCall,
  bodyCodes: toolsetCodes,
  answers: { 200: ToolsetResult },
});

export const readToolsetSchema = defineRoute({
  ...shared,
  op: 'readToolsetSchema',
  summary: 'Lists the members of a toolset: JSON Schemas, classes and whether they must be enabled',
  method: 'GET',
  path: `${base}/toolset/schema`,
  auth: callers,
  owner,
  params,
  query: z.strictObject({ toolset: AnyToolset }),
  answers: {
    200: z.strictObject({
      toolset: AnyToolset,
      members: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          class: z.enum(['observe', 'act', 'risky']),
          enabled: z.boolean(),
          input_schema: z.record(z.string(), z.unknown()),
        }),
      ),
    }),
  },
});

const control = <const Op extends string>(op: Op, verb: 'take' | 'release' | 'renew', summary: string) =>
  ({
    ...shared,
    op,
    summary,
    method: 'POST',
    path: `${base}/control/${verb}`,
    auth: ['owner', 'user', 'link'],
    scope: null,
    owner,
    params,
    body: z.strictObject({ reason: z.string().max(500).optional() }).optional(),
    answers: { 200: Control },
  }) as const;

export const takeControl = defineRoute(
  control('takeControl', 'take', 'Takes control for a person; a run that had it pauses at once'),
);
export const releaseControl = defineRoute(control('releaseControl', 'release', 'Releases control'));
export const renewControl = defineRoute(control('renewControl', 'renew', 'Renews control for another 60 s'));

export const viewComputer = defineRoute({
  ...shared,
  op: 'viewComputer',
  summary:
    'Streams the live view: frames when something changed, the pointer, the next action before it happens, who has control',
  method: 'GET',
  path: `${base}/view`,
  auth: callers,
  owner,
  params,
  query: z.strictObject({ browser_session_id: Id.optional() }),
  kind: 'sse',
  answers: { 200: z.unknown() },
  events: viewEvents,
});

export const deviceRoutes = [
  callToolset,
  readToolsetSchema,
  takeControl,
  releaseControl,
  renewControl,
  viewComputer,
] as const;
