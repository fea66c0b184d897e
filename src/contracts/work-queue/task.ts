/** The shape of a task of the work queue. This area's wire names are in snake_case. Must not know routes. */
import { z } from 'zod';
import { Id, Time } from '../common/values.ts';
import { TaskFile } from './files.ts';

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

export const maxLabels = 16;
const labelName = '[a-z0-9](?:[a-z0-9._/-]{0,61}[a-z0-9])?';
const labelValue = '[A-Za-z0-9._-]{0,63}';
/** What a worker has and a task may ask for, such as `gpu: a100`. */
export const Labels = z
  .record(
    z.string().regex(new RegExp(`^${labelName}$`), 'a label such as gpu'),
    z.string().regex(new RegExp(`^${labelValue}$`), 'up to 63 letters, digits and . _ -'),
  )
  .refine((labels) => Object.keys(labels).length <= maxLabels, `at most ${maxLabels} labels`);
export type Labels = z.infer<typeof Labels>;

/** `gpu=a100,zone=eu`; empty: none. */
export const LabelList = z
  .string()
  .regex(
    new RegExp(`^(?:${labelName}=${labelValue}(?:,${labelName}=${labelValue}){0,${maxLabels - 1}})?$`),
    'labels such as gpu=a100,zone=eu',
  );

/** `none`, `*`, or the beginnings of the names of images, with commas between them. */
export const ImageList = z
  .string()
  .regex(/^[!-+\--~]{1,500}(?:,[!-+\--~]{1,500}){0,31}$/, 'none, * or names of images');

/** `ghcr.io/acme` is the beginning of `ghcr.io/acme/api:1`, not of `ghcr.io/acme-other/api`; `*` of every name. */
export function beginsImage(beginning: string, image: string): boolean {
  if (beginning === '*' || image === beginning) return true;
  if (!image.startsWith(beginning)) return false;
  return /[/:@]$/.test(beginning) || /^[/:@]/.test(image.slice(beginning.length));
}

const GroupKey = Line.min(1).max(200);

export const maxBackoffSeconds = 86_400;
export const TaskRetry = z
  .strictObject({
    on: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,63}\*?$/, 'a code such as timeout, or exit_*'))
      .min(1)
      .max(20)
      .meta({ description: 'Codes of errors; a `*` at the end stands for any rest.' }),
    backoff_seconds: z
      .number()
      .int()
      .min(1)
      .max(maxBackoffSeconds)
      .optional()
      .meta({ description: 'Before the first retry (default 10); doubled for each further one, at most a day.' }),
  })
  .meta({ id: 'TaskRetry' });
export type TaskRetry = z.infer<typeof TaskRetry>;

export const TaskRate = z
  .strictObject({
    key: GroupKey,
    per_minute: z.number().int().min(1).max(60_000),
  })
  .meta({ id: 'TaskRate' });
export type TaskRate = z.infer<typeof TaskRate>;

/** As its caller describes it. */
export const NewTask = z
  .strictObject({
    session_id: Id.optional(),
    deployment_id: Id.optional(),
    payload: Payload.optional(),
    env: Env.optional(),
    sandbox_image: Line.min(1).max(500).optional(),
    priority: z.number().int().min(-1000).max(1000).optional(),
    not_before: z.iso.datetime({ offset: true }).optional(),
    max_attempts: z.number().int().min(1).max(100).optional(),
    labels: Labels.optional().meta({ description: 'Labels that a worker must have.' }),
    retry: TaskRetry.optional().meta({ description: 'Which failures are retried, while attempts are left.' }),
    concurrency_key: GroupKey.optional().meta({
      description: 'At most `concurrency_limit` tasks of a key run at once.',
    }),
    concurrency_limit: z.number().int().min(1).max(1000).optional().meta({ description: 'Default 1.' }),
    rate: TaskRate.optional().meta({ description: 'At most so many tasks of a key begin in a minute, evenly spaced.' }),
    fairness_key: GroupKey.optional().meta({ description: 'Keys take turns among the tasks that name one.' }),
  })
  .refine(
    (task) => task.concurrency_limit === undefined || task.concurrency_key !== undefined,
    'concurrency_limit needs a concurrency_key',
  );
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
    labels: Labels.meta({ description: 'Labels that a worker must have.' }),
    retry: TaskRetry.nullable(),
    failures: z.number().int().meta({ description: 'How often it failed and was put back into the queue.' }),
    last_failure: TaskError.nullable().meta({ description: 'The failure after which it was put back last.' }),
    concurrency_key: z.string().nullable(),
    concurrency_limit: z.number().int().nullable(),
    rate: TaskRate.nullable(),
    fairness_key: z.string().nullable(),
    waiting_for: z.string().nullable().meta({
      description: 'Why a queued task cannot be leased now, as a sentence. Null: it only waits for its turn.',
    }),
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
    labels: Labels.nullable().meta({ description: 'Null: it says nothing about itself, and gets the oldest task.' }),
    images: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Beginnings of the names of images that it runs; `*`: any. Null: it says nothing.' }),
  })
  .meta({ id: 'QueueWorker' });
export type QueueWorker = z.infer<typeof QueueWorker>;

/** A command may take a week. */
export const maxSeconds = 7 * 24 * 3600;

/** Files of a repository at a commit without its history, as a git bundle; the command runs in a working tree of it. */
export const TaskRepository = z.object({
  bundle: TaskFile,
  commit: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'the full name of a commit'),
  folder: z
    .string()
    .max(1000)
    .regex(/^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))[^\p{Cc}]*$/u, 'a path inside the repository')
    .optional()
    .meta({ description: 'Where in the repository the command runs; default: at its top.' }),
});
export type TaskRepository = z.infer<typeof TaskRepository>;

/** A larger patch fails its task. Bytes. */
export const maxChangesBytes = 16 * 1024 * 1024;

/** What a task with a repository returns beside the output of its command. */
export const TaskChanges = z.strictObject({
  commit: z.string(),
  patch: TaskFile.nullable().meta({ description: 'As `git apply` reads it. Null: nothing was changed.' }),
});
export type TaskChanges = z.infer<typeof TaskChanges>;

/** The payload that `gantry worker` reads; other workers may use any. */
export const CommandPayload = z.object({
  command: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .meta({ description: 'A shell command line, or a program with its arguments.' }),
  timeout_seconds: z.number().positive().max(maxSeconds).optional(),
  stdin: z.string().optional(),
  repository: TaskRepository.optional(),
});
