/** The shape of a task of the work queue. This area's wire names are in snake_case. Must not know routes. */
import { z } from 'zod';
import { Id, Time } from '../common/values.ts';

export const taskStatuses = ['queued', 'leased', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export const TaskStatus = z.enum(taskStatuses);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** A worker that is silent for this long loses its task. */
export const leaseSeconds = 60;
/** A lease call is held open for this long at most. */
export const maxWaitSeconds = 30;

/** One line of text: nothing in it that a terminal or a database would take for something else. */
export const Line = z.string().regex(/^[^\p{Cc}\p{Cs}]*$/u, 'text without control characters');
export const WorkerId = Line.trim().min(1).max(200);
const Name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'a name such as PATH');
export const Payload = z.record(z.string(), z.unknown());
const Env = z.record(Name, z.string().max(32_768));

export const maxCodeLength = 64;
export const maxMessageLength = 16_384;

export const TaskError = z
  .strictObject({
    code: z.string().regex(new RegExp(`^[a-z][a-z0-9_]{0,${maxCodeLength - 1}}$`), 'a word such as out_of_memory'),
    message: z.string().max(maxMessageLength),
  })
  .meta({ id: 'TaskError' });
export type TaskError = z.infer<typeof TaskError>;

/** As its caller describes it. */
export const NewTask = z.strictObject({
  session_id: Id.optional(),
  deployment_id: Id.optional(),
  payload: Payload.optional(),
  env: Env.optional(),
  sandbox_image: Line.min(1).max(500).optional(),
  priority: z.number().int().min(-1000).max(1000).optional(),
  not_before: z.iso.datetime({ offset: true }).optional(),
  max_attempts: z.number().int().min(1).max(100).optional(),
});
export type NewTask = z.infer<typeof NewTask>;

export const Task = z
  .strictObject({
    id: z.string(),
    session_id: z.string().nullable(),
    deployment_id: z.string().nullable(),
    status: TaskStatus,
    payload: Payload,
    sandbox_image: z.string().nullable(),
    env: z.record(z.string(), z.string()),
    priority: z.number().int().meta({ description: 'Higher is leased before older; default 0.' }),
    not_before: Time.nullable(),
    attempts: z.number().int().meta({ description: 'How often it was leased.' }),
    max_attempts: z.number().int(),
    stop_requested: z.boolean(),
    lease_worker_id: z.string().nullable(),
    lease_expires_at: Time.nullable(),
    last_worker_id: z.string().nullable().meta({
      description:
        'Who holds or last held it, also after its end. Null: nobody has, or it was put back into the queue.',
    }),
    result: z.unknown().meta({ description: 'What the acknowledgement carried.' }),
    error: TaskError.nullable(),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Task' });
export type Task = z.infer<typeof Task>;

export const Lease = z
  .strictObject({
    id: z.string(),
    fence: z.number().int().meta({ description: 'Grows with each lease of the task.' }),
    expires_at: Time,
    ttl_seconds: z.number().int().meta({ description: 'Whole seconds: 60 when leased, rounded down later.' }),
    attempt: z.number().int(),
  })
  .meta({ id: 'Lease' });
export type Lease = z.infer<typeof Lease>;

/** How long tasks have waited, in seconds: the upper ends of the groups; older ones are in the last. */
export const ageEnds = [10, 60, 600, 3600, 21_600, 86_400] as const;

export const QueueAge = z
  .strictObject({
    under_seconds: z.number().int().nullable().meta({ description: 'Null: older than all others.' }),
    count: z.number().int(),
  })
  .meta({ id: 'QueueAge' });
export type QueueAge = z.infer<typeof QueueAge>;

export const historyRanges = ['hour', 'day', 'week'] as const;
export type HistoryRange = (typeof historyRanges)[number];

export const QueueMoment = z
  .strictObject({
    at: Time.meta({ description: 'Start of the step.' }),
    depth: z.number().int().meta({ description: 'Tasks that waited at its end.' }),
    oldest_seconds: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'How long the oldest of them had waited. Null: none waited.' }),
    added: z.number().int().meta({ description: 'Tasks that were created or put back into the queue.' }),
    succeeded: z.number().int(),
    failed: z.number().int(),
    cancelled: z.number().int(),
  })
  .meta({ id: 'QueueMoment' });
export type QueueMoment = z.infer<typeof QueueMoment>;

export const QueueWorker = z
  .strictObject({
    worker_id: z.string(),
    last_seen_at: Time.nullable().meta({ description: 'When it last asked for a task or said that it drains.' }),
    polling: z.boolean().meta({ description: 'It asked in the last 30 seconds and does not drain.' }),
    draining: z.boolean().meta({ description: 'It takes nothing new.' }),
    holding: z.number().int().meta({ description: 'Tasks under its leases, including expired ones.' }),
  })
  .meta({ id: 'QueueWorker' });
export type QueueWorker = z.infer<typeof QueueWorker>;

/** A command may take a week. */
export const maxSeconds = 7 * 24 * 3600;

/** The payload that `gantry worker` reads; other workers may use any. */
export const CommandPayload = z.object({
  command: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .meta({ description: 'A shell command line, or a program with its arguments.' }),
  timeout_seconds: z.number().positive().max(maxSeconds).optional(),
  stdin: z.string().optional(),
});
