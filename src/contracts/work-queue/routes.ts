/**
 * The work queue on the wire: callers create tasks; their own workers lease them for 60 seconds, send heartbeats, and end them.
 * Each route is served at `/beta/work` and, letter for letter the same, at `/api/v1/beta/work`.
 */
import { z } from 'zod';
import { defineRoute, type Route } from '../common/route.ts';
import { Id, Paging, QueryFlag, Time } from '../common/values.ts';
import { Waited, waitQuery } from '../common/waiting.ts';
import { taskFileRoutes } from './files.ts';
import { workLinkRoutes } from './links.ts';
import {
  historyRanges,
  ImageList,
  LabelList,
  Lease,
  Line,
  maxWaitSeconds,
  NewTask,
  QueueAge,
  QueueMoment,
  QueueWorker,
  Task,
  TaskError,
  TaskStatus,
  WorkerId,
} from './task.ts';

const mount = '/beta/work';
const base = {
  area: 'work-queue',
  errors: 'plain',
  auth: ['owner', 'user', 'key'],
  scope: 'work',
} as const;
/** A computer may also call these for a run of its person: it hands steps to their workers. */
const andComputers = ['owner', 'user', 'key', 'device'] as const;
const one = {
  ...base,
  owner: { none: 'each statement names the caller, so that a foreign task is one that is not there' },
  params: z.strictObject({ id: Id }),
} as const;
const LeaseId = Line.max(200);

export const createTask = defineRoute({
  ...base,
  auth: andComputers,
  op: 'createTask',
  summary: 'Adds a task to the queue; 400 if its session or deployment does not exist, or its image is not allowed',
  method: 'POST',
  path: mount,
  owner: 'collection',
  body: NewTask,
  answers: { 201: z.strictObject({ task: Task, id: z.string() }) },
  idempotent: 'by id',
});

export const listTasks = defineRoute({
  ...base,
  op: 'listTasks',
  summary: 'Lists tasks, newest first; status=failed lists those that were given up',
  method: 'GET',
  path: mount,
  owner: 'collection',
  query: z.strictObject({
    ...Paging,
    status: TaskStatus.optional(),
    session_id: Id.optional(),
    deployment_id: Id.optional(),
    worker_id: WorkerId.optional().meta({ description: 'Held by this worker now or last.' }),
  }),
  answers: { 200: z.strictObject({ tasks: z.array(Task), next_cursor: z.string().nullable() }) },
});

export const leaseTask = defineRoute({
  ...base,
  op: 'leaseTask',
  summary: 'Leases the oldest task that is queued or whose lease has expired, for 60 seconds; null without one',
  method: 'GET',
  path: `${mount}/queue`,
  owner: 'collection',
  query: z.strictObject({
    worker_id: WorkerId,
    wait: z.coerce.number().min(0).max(maxWaitSeconds).optional().meta({ description: 'Seconds to wait for a task.' }),
    draining: QueryFlag,
    labels: LabelList.optional().meta({
      description:
        'What the worker has, such as gpu=a100,zone=eu. With `labels` or `images` the call is passed over for tasks that the worker cannot run.',
    }),
    images: ImageList.optional().meta({
      description: 'Images that the worker runs: none, *, or beginnings of their names, with commas between them.',
    }),
  }),
  answers: { 200: z.strictObject({ task: Task.nullable(), lease: Lease.nullable() }) },
});

export const getQueueStats = defineRoute({
  ...base,
  auth: andComputers,
  op: 'getQueueStats',
  summary:
    'Reads how many tasks wait and for how long, how many are leased or running, and how many workers polled in the last 30 seconds',
  method: 'GET',
  path: `${mount}/stats`,
  owner: 'collection',
  answers: {
    200: z.strictObject({
      depth: z.number().int(),
      leased: z.number().int(),
      running: z.number().int(),
      oldest_queued_at: Time.nullable(),
      workers_polling: z.number().int(),
      scheduled: z
        .number()
        .int()
        .meta({ description: 'Tasks whose `not_before` is in the future; not part of `depth`.' }),
      failed: z.number().int().meta({ description: 'Failed tasks that are still kept.' }),
      ages: z.array(QueueAge).meta({ description: 'Waiting tasks by age, youngest first; together they are `depth`.' }),
    }),
  },
});

export const getQueueHistory = defineRoute({
  ...base,
  op: 'getQueueHistory',
  summary:
    'Reads how many tasks waited, how old the oldest was, and how many were added and ended, over the last hour, day or week',
  method: 'GET',
  path: `${mount}/stats/history`,
  owner: 'collection',
  query: z.strictObject({
    range: z
      .enum(historyRanges)
      .optional()
      .meta({ description: 'An hour in minutes, a day in ten minutes (default), or a week in hours.' }),
  }),
  answers: {
    200: z.strictObject({
      step_seconds: z.number().int(),
      moments: z.array(QueueMoment).meta({ description: 'Oldest first, without gaps; the last one is under way.' }),
    }),
  },
});

export const listWorkers = defineRoute({
  ...base,
  op: 'listWorkers',
  summary: 'Lists workers that polled in the last ten minutes or hold a task: at most 200, those that hold most first',
  method: 'GET',
  path: `${mount}/workers`,
  owner: 'collection',
  answers: { 200: z.strictObject({ workers: z.array(QueueWorker) }) },
});

export const streamTasks = defineRoute({
  ...base,
  op: 'streamTasks',
  summary: 'Streams each task whose status changes, from now on or after Last-Event-ID',
  method: 'GET',
  path: `${mount}/events`,
  kind: 'sse',
  owner: 'collection',
  answers: { 200: z.unknown() },
  events: { task: z.strictObject({ id: z.string(), status: TaskStatus }) },
});

export const getTask = defineRoute({
  ...one,
  auth: andComputers,
  op: 'getTask',
  summary: 'Reads one task',
  method: 'GET',
  path: `${mount}/:id`,
  answers: { 200: z.strictObject({ task: Task }) },
});

export const waitForTask = defineRoute({
  ...one,
  auth: andComputers,
  op: 'waitForTask',
  summary: 'Answers when a task has a status or has ended, or when the time is over',
  method: 'GET',
  path: `${mount}/:id/wait`,
  query: z.strictObject(waitQuery),
  answers: { 200: Waited },
});

export const heartbeatTask = defineRoute({
  ...one,
  op: 'heartbeatTask',
  summary: 'Renews a lease; 404 if the worker does not hold the task',
  method: 'POST',
  path: `${mount}/:id/heartbeat`,
  body: z.strictObject({ worker_id: WorkerId, lease_id: LeaseId.optional() }),
  answers: { 200: z.strictObject({ task: Task, lease: Lease, stop_requested: z.boolean() }) },
});

export const ackTask = defineRoute({
  ...one,
  op: 'ackTask',
  summary: 'Ends a task with its result; repeating the same result returns the same answer',
  method: 'POST',
  path: `${mount}/:id/ack`,
  body: z.strictObject({ worker_id: WorkerId, result: z.unknown().optional(), lease_id: LeaseId.optional() }),
  answers: { 200: z.strictObject({ task: Task }) },
});

export const stopTask = defineRoute({
  ...one,
  auth: andComputers,
  op: 'stopTask',
  summary:
    'Ends a task without a result: failed if an error is given, otherwise cancelled; or asks its worker to end it',
  method: 'POST',
  path: `${mount}/:id/stop`,
  body: z
    .strictObject({
      worker_id: WorkerId.optional(),
      lease_id: LeaseId.optional(),
      error: z.union([TaskError, z.string().min(1).max(16_384)]).optional(),
      graceful: z.boolean().optional(),
    })
    .optional(),
  answers: { 200: z.strictObject({ stopped: z.literal(true), task: Task }) },
});

export const retryTask = defineRoute({
  ...one,
  op: 'retryTask',
  summary: 'Puts a failed or cancelled task back into the queue with all its attempts',
  method: 'POST',
  path: `${mount}/:id/retry`,
  answers: { 200: z.strictObject({ task: Task }) },
});

/** The same route at the other mount. */
export function aliasOf<R extends Route>(route: R): R {
  const prefix = '/api/v1';
  return { ...route, op: `${route.op}V1`, path: `${prefix}${route.path}`, aliasOf: { op: route.op, prefix } };
}

export const queueRoutes = [
  createTask,
  listTasks,
  leaseTask,
  getQueueStats,
  getQueueHistory,
  listWorkers,
  streamTasks,
  getTask,
  waitForTask,
  heartbeatTask,
  ackTask,
  stopTask,
  retryTask,
  ...taskFileRoutes,
] as const;

/** The routes of a client: without the aliases. */
export const workRoutes = [...queueRoutes, ...workLinkRoutes] as const;

export const workQueueRoutes: readonly Route[] = [...queueRoutes, ...queueRoutes.map(aliasOf), ...workLinkRoutes];
