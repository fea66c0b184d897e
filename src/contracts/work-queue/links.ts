/** Sessions and deployments: the possible owners of a task, so that background work leads back to its origin. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, Time } from '../common/values.ts';
import { Line, Payload } from './task.ts';

const base = {
  area: 'work-queue',
  errors: 'plain',
  auth: ['owner', 'user', 'key'],
  scope: 'work',
} as const;

export const WorkSession = z
  .strictObject({ id: z.string(), title: z.string().nullable(), metadata: Payload, created_at: Time })
  .meta({ id: 'WorkSession' });
export type WorkSession = z.infer<typeof WorkSession>;

export const Deployment = z
  .strictObject({ id: z.string(), name: z.string(), metadata: Payload, created_at: Time })
  .meta({ id: 'Deployment' });
export type Deployment = z.infer<typeof Deployment>;

export const createWorkSession = defineRoute({
  ...base,
  op: 'createWorkSession',
  summary: 'Opens a session that tasks may belong to',
  method: 'POST',
  path: '/beta/sessions',
  owner: 'collection',
  body: z.strictObject({ title: Line.max(500).optional(), metadata: Payload.optional() }),
  answers: { 201: z.strictObject({ session: WorkSession, id: z.string() }) },
  idempotent: 'by id',
});

export const listWorkSessions = defineRoute({
  ...base,
  op: 'listWorkSessions',
  summary: 'Lists sessions, newest first',
  method: 'GET',
  path: '/beta/sessions',
  owner: 'collection',
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ sessions: z.array(WorkSession), next_cursor: z.string().nullable() }) },
});

export const getWorkSession = defineRoute({
  ...base,
  op: 'getWorkSession',
  summary: 'Reads one session; list its tasks with ?session_id=',
  method: 'GET',
  path: '/beta/sessions/:id',
  owner: { param: 'id', noun: 'work_session', word: 'session', list: 'GET /beta/sessions' },
  params: z.strictObject({ id: Id }),
  answers: { 200: z.strictObject({ session: WorkSession }) },
});

export const createDeployment = defineRoute({
  ...base,
  op: 'createDeployment',
  summary: 'Creates a deployment that tasks may belong to',
  method: 'POST',
  path: '/beta/deployments',
  owner: 'collection',
  body: z.strictObject({ name: Line.trim().min(1).max(200), metadata: Payload.optional() }),
  answers: { 201: z.strictObject({ deployment: Deployment, id: z.string() }) },
  idempotent: 'by id',
});

export const listDeployments = defineRoute({
  ...base,
  op: 'listDeployments',
  summary: 'Lists deployments, newest first',
  method: 'GET',
  path: '/beta/deployments',
  owner: 'collection',
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ deployments: z.array(Deployment), next_cursor: z.string().nullable() }) },
});

export const getDeployment = defineRoute({
  ...base,
  op: 'getDeployment',
  summary: 'Reads one deployment; list its tasks with ?deployment_id=',
  method: 'GET',
  path: '/beta/deployments/:id',
  owner: { param: 'id', noun: 'deployment', list: 'GET /beta/deployments' },
  params: z.strictObject({ id: Id }),
  answers: { 200: z.strictObject({ deployment: Deployment }) },
});

export const workLinkRoutes = [
  createWorkSession,
  listWorkSessions,
  getWorkSession,
  createDeployment,
  listDeployments,
  getDeployment,
] as const;
