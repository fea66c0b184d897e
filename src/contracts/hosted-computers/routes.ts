/**
 * Routes of hosted computers, all of the cloud. The area checks the project's flag before the dispatcher checks the scope, so
 * that a project without the flag learns only that. Must not know drivers.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging } from '../common/values.ts';
import { readToolsetSchema } from '../computer-use/device-routes.ts';
import { AnyToolset } from '../computer-use/members.ts';
import { ToolsetCall, ToolsetResult, toolsetCodes } from '../computer-use/toolset.ts';
import {
  ChangeComputerSettings,
  ComputerPool,
  ComputerSettings,
  CreateHostedComputer,
  HostedComputer,
  HostedEvent,
  HostedStatus,
  MeterLine,
} from './computer.ts';

const shared = { area: 'hosted-computers', errors: 'computers', scope: 'computers' } as const;
const callers = ['owner', 'user', 'key'] as const;
const base = '/v1/computers';
const params = z.strictObject({ id: Id });
const owner = { param: 'id', noun: 'hosted-computer', word: 'computer', list: 'GET /v1/computers' } as const;

export const listHostedComputers = defineRoute({
  ...shared,
  op: 'listHostedComputers',
  summary: 'Lists the computers of the project, newest first, without deleted ones',
  method: 'GET',
  path: base,
  auth: callers,
  owner: 'collection',
  query: z.strictObject({ ...Paging, status: HostedStatus.optional() }),
  answers: { 200: z.strictObject({ computers: z.array(HostedComputer), next_cursor: z.string().nullable() }) },
});

export const createHostedComputer = defineRoute({
  ...shared,
  op: 'createHostedComputer',
  summary: 'Creates and starts a computer',
  method: 'POST',
  path: base,
  auth: callers,
  owner: 'collection',
  idempotent: true,
  body: CreateHostedComputer.optional(),
  bodyCodes: { name: 'invalid_name', metadata: 'invalid_metadata' },
  answers: { 201: HostedComputer },
});

const one = { ...shared, auth: callers, owner, params } as const;

export const getHostedComputer = defineRoute({
  ...one,
  op: 'getHostedComputer',
  summary: 'Reads one computer',
  method: 'GET',
  path: `${base}/:id`,
  answers: { 200: HostedComputer },
});

export const deleteHostedComputer = defineRoute({
  ...one,
  op: 'deleteHostedComputer',
  summary: 'Stops and deletes a computer with everything on it',
  method: 'DELETE',
  path: `${base}/:id`,
  answers: { 200: HostedComputer },
});

export const startHostedComputer = defineRoute({
  ...one,
  op: 'startHostedComputer',
  summary: 'Wakes a sleeping computer, or starts a stopped one',
  method: 'POST',
  path: `${base}/:id/start`,
  body: z.strictObject({}).optional(),
  answers: { 200: HostedComputer },
});

export const stopHostedComputer = defineRoute({
  ...one,
  op: 'stopHostedComputer',
  summary: 'Stops a computer; its files stay',
  method: 'POST',
  path: `${base}/:id/stop`,
  body: z.strictObject({}).optional(),
  answers: { 200: HostedComputer },
});

export const callHostedToolset = defineRoute({
  ...one,
  op: 'callHostedToolset',
  summary: 'Runs a call of the computer or browser toolset; wakes the computer if it sleeps',
  method: 'POST',
  path: `${base}/:id/toolset`,
  bodyLimit: 256 * 1024,
  body: ToolsetCall,
  bodyCodes: toolsetCodes,
  answers: { 200: ToolsetResult },
});

export const readHostedToolsetSchema = defineRoute({
  ...one,
  op: 'readHostedToolsetSchema',
  summary: readToolsetSchema.summary,
  method: 'GET',
  path: `${base}/:id/toolset/schema`,
  query: z.strictObject({ toolset: AnyToolset }),
  answers: readToolsetSchema.answers,
});

const after = z.coerce.number().int().min(-1).optional();

export const listHostedEvents = defineRoute({
  ...one,
  op: 'listHostedEvents',
  summary: 'Lists the events of a computer after an index, oldest first',
  method: 'GET',
  path: `${base}/:id/events`,
  query: z.strictObject({ after, limit: Paging.limit }),
  answers: { 200: z.strictObject({ events: z.array(HostedEvent), next_cursor: z.string().nullable() }) },
});

export const streamHostedEvents = defineRoute({
  ...one,
  op: 'streamHostedEvents',
  summary: 'Streams the events of a computer: past ones after Last-Event-ID or `after`, then new ones',
  method: 'GET',
  path: `${base}/:id/events/stream`,
  query: z.strictObject({ after }),
  kind: 'sse',
  answers: { 200: z.unknown() },
  events: { message: HostedEvent },
});

export const approveHosted = defineRoute({
  ...one,
  op: 'approveHosted',
  summary: 'Answers the approval that a call asked for; by key only where approval_mode is api_key',
  method: 'POST',
  path: `${base}/:id/approvals/:approvalId`,
  params: params.extend({ approvalId: Id }),
  body: z.strictObject({ decision: z.enum(['approve', 'deny']) }),
  answers: {
    200: z.strictObject({
      id: z.string(),
      computer_id: z.string(),
      state: z.enum(['pending', 'approved', 'denied', 'used', 'expired']),
    }),
  },
});

/** The meters of a computer, oldest first; usage adds them up. */
export const listHostedMeters = defineRoute({
  ...one,
  op: 'listHostedMeters',
  summary: 'Reads what a computer has used',
  method: 'GET',
  path: `${base}/:id/meters`,
  answers: { 200: z.strictObject({ lines: z.array(MeterLine) }) },
});

/** Open questions, for the console. */
export const listHostedApprovals = defineRoute({
  ...one,
  op: 'listHostedApprovals',
  summary: 'Lists the approvals that calls of this computer wait for, newest first',
  method: 'GET',
  path: `${base}/:id/approvals`,
  answers: {
    200: z.strictObject({
      approvals: z.array(
        z.strictObject({
          id: z.string(),
          member: z.string(),
          toolset: AnyToolset,
          risk: z.enum(['low', 'medium', 'high']),
          words: z.string(),
          requested_at: z.iso.datetime({ precision: 3 }),
        }),
      ),
    }),
  },
});

export const getComputerSettings = defineRoute({
  ...shared,
  scope: 'any',
  op: 'getComputerSettings',
  summary:
    'Reads the settings of the project; also with the flag off, and for any key of the project whatever its scope',
  method: 'GET',
  path: '/v1/computer_settings',
  auth: callers,
  owner: 'collection',
  answers: { 200: ComputerSettings },
});

export const getComputerPool = defineRoute({
  ...shared,
  op: 'getComputerPool',
  summary:
    'Reads where computers are made: by what, how they are isolated, with which limits, and how much room there is',
  method: 'GET',
  path: '/v1/computer_pool',
  auth: callers,
  owner: 'collection',
  answers: { 200: ComputerPool },
});

export const changeComputerSettings = defineRoute({
  ...shared,
  op: 'changeComputerSettings',
  summary: 'Changes the settings of the project; only from the console, so that a key cannot extend what keys may do',
  method: 'PATCH',
  path: '/v1/computer_settings',
  auth: ['owner', 'user'],
  owner: 'collection',
  body: ChangeComputerSettings,
  answers: { 200: ComputerSettings },
});

export const hostedComputerRoutes = [
  listHostedComputers,
  createHostedComputer,
  getHostedComputer,
  deleteHostedComputer,
  startHostedComputer,
  stopHostedComputer,
  callHostedToolset,
  readHostedToolsetSchema,
  listHostedEvents,
  streamHostedEvents,
  approveHosted,
  listHostedMeters,
  listHostedApprovals,
  getComputerSettings,
  getComputerPool,
  changeComputerSettings,
] as const;
