/** A task as its caller describes it, as it is stored, and as it is sent. Must not know statements. */
import { type Lease, type NewTask, Task, type TaskError, type TaskStatus } from '../../contracts/work-queue/task.ts';
import { iso } from '../../kit/clock/clock.ts';
import { flag, integer, json, nullable, type RowOf, table, text, time, word } from '../../kit/store/table.ts';
import { defaultAttempts, isEnded } from './model.ts';

export const tasks = table('work_task', {
  id: text,
  user_id: text,
  status: word<TaskStatus>(),
  session_id: nullable(text),
  deployment_id: nullable(text),
  /** Lower values are leased first: the negated priority. */
  rank: integer,
  /** Start of its age in the queue. */
  queued_at: time,
  /** Its time has not come. */
  waits: flag,
  not_before: nullable(time),
  attempts: integer,
  max_attempts: integer,
  fence: integer,
  stop_requested: flag,
  /** Of the last lease; both stay after the task has ended, so that its holder is known. */
  lease_id: nullable(text),
  lease_worker_id: nullable(text),
  lease_until: nullable(time),
  created_at: time,
  updated_at: time,
  payload: json<Task['payload']>(),
  env: json<Task['env']>(),
  sandbox_image: nullable(text),
  result: nullable(json<Task['result']>()),
  error: nullable(json<TaskError>()),
  /** `traceparent` of the span that added it. */
  trace: nullable(text),
});
export type TaskRow = RowOf<typeof tasks>;

export function newTask(userId: string, id: string, at: number, task: NewTask, trace: string | null): TaskRow {
  const due = task.not_before === undefined ? null : Date.parse(task.not_before);
  const waits = due !== null && due > at;
  return {
    id,
    user_id: userId,
    status: 'queued',
    session_id: task.session_id ?? null,
    deployment_id: task.deployment_id ?? null,
    rank: task.priority ? -task.priority : 0,
    queued_at: waits ? due : at,
    waits: waits ? 1 : 0,
    not_before: due,
    attempts: 0,
    max_attempts: task.max_attempts ?? defaultAttempts,
    fence: 0,
    stop_requested: 0,
    lease_id: null,
    lease_worker_id: null,
    lease_until: null,
    created_at: at,
    updated_at: at,
    payload: JSON.stringify(task.payload ?? {}),
    env: JSON.stringify(task.env ?? {}),
    sandbox_image: task.sandbox_image ?? null,
    result: null,
    error: null,
    trace,
  };
}

const sent = tasks.wire(Task.shape);

export function wireTask(row: TaskRow): Task {
  const over = isEnded(row.status);
  const free = over || row.status === 'queued';
  const body = sent(row);
  return {
    ...body,
    priority: row.rank === 0 ? 0 : -row.rank,
    lease_worker_id: free ? null : row.lease_worker_id,
    lease_expires_at: free || row.lease_until === null ? null : iso(row.lease_until),
    last_worker_id: row.lease_worker_id,
    // A task that was asked to stop keeps that reason for its end.
    error: over ? body.error : null,
  };
}

/** For a task leased or renewed at that time: the remaining lease in whole seconds. */
export function wireLease(row: TaskRow, at: number): Lease {
  const until = row.lease_until ?? at;
  return {
    id: row.lease_id ?? '',
    fence: row.fence,
    expires_at: iso(until),
    ttl_seconds: Math.max(0, Math.floor((until - at) / 1000)),
    attempt: row.attempts,
  };
}
