/** A task as its caller describes it, as it is stored, and as it is sent. Must not know statements. */
import {
  type Lease,
  type NewTask,
  Task,
  type TaskError,
  type TaskRate,
  type TaskRetry,
  type TaskStatus,
} from '../../contracts/work-queue/task.ts';
import { iso } from '../../kit/clock/clock.ts';
import { flag, integer, json, nullable, type RowOf, table, text, time, word } from '../../kit/store/table.ts';
import { defaultAttempts, isEnded, waits } from './model.ts';
import { needsKey } from './needs.ts';

/** What few tasks name; a member is absent where the task names nothing. */
export interface TaskOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly retry?: TaskRetry;
  /** How often it was put back after a failure, and the last one. */
  readonly failures?: number;
  readonly last_failure?: TaskError;
  readonly concurrency_key?: string;
  readonly concurrency_limit?: number;
  readonly rate?: TaskRate;
  readonly fairness_key?: string;
}

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
  /** Where it waits: see `waits` in model.ts. */
  waits: integer,
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
  /** Key of its image and labels; null: every worker can run it. */
  needs: nullable(text),
  /** The text of {@link TaskOptions}; null: it names none. */
  options: nullable(text),
});
export type TaskRow = RowOf<typeof tasks>;

export function newTask(userId: string, id: string, at: number, task: NewTask, trace: string | null): TaskRow {
  const due = task.not_before === undefined ? null : Date.parse(task.not_before);
  const later = due !== null && due > at;
  const options = optionsOf(task);
  const needs = needsKey({ image: task.sandbox_image ?? null, labels: task.labels ?? {} });
  const listed = needs !== null || namesKey(options);
  return {
    id,
    user_id: userId,
    status: 'queued',
    session_id: task.session_id ?? null,
    deployment_id: task.deployment_id ?? null,
    rank: task.priority ? -task.priority : 0,
    queued_at: later ? due : at,
    waits: listed ? (later ? waits.listedLater : waits.listed) : later ? waits.later : waits.ready,
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
    needs,
    options: options === null ? null : JSON.stringify(options),
  };
}

function optionsOf(task: NewTask): TaskOptions | null {
  const { labels, retry, concurrency_key, concurrency_limit, rate, fairness_key } = task;
  const named = {
    ...(labels !== undefined && Object.keys(labels).length > 0 ? { labels } : {}),
    ...(retry === undefined ? {} : { retry }),
    ...(concurrency_key === undefined ? {} : { concurrency_key, concurrency_limit: concurrency_limit ?? 1 }),
    ...(rate === undefined ? {} : { rate }),
    ...(fairness_key === undefined ? {} : { fairness_key }),
  };
  return Object.keys(named).length === 0 ? null : named;
}

function namesKey(options: TaskOptions | null): boolean {
  if (options === null) return false;
  return options.concurrency_key !== undefined || options.rate !== undefined || options.fairness_key !== undefined;
}

export function readOptions({ options }: Pick<TaskRow, 'options'>): TaskOptions {
  return options === null ? {} : (JSON.parse(options) as TaskOptions);
}

/** Whether it belongs into `work_line` while it is queued. */
export function belongsInLine(row: Pick<TaskRow, 'needs' | 'options'>): boolean {
  return row.needs !== null || namesKey(readOptions(row));
}

const sent = tasks.wire(Task.shape);

/** `waitingFor`: why it cannot be leased now. */
export function wireTask(row: TaskRow, waitingFor: string | null = null): Task {
  const over = isEnded(row.status);
  const free = over || row.status === 'queued';
  const body = sent(row);
  const options = readOptions(row);
  return {
    ...body,
    labels: options.labels ?? {},
    retry: options.retry ?? null,
    failures: options.failures ?? 0,
    last_failure: options.last_failure ?? null,
    concurrency_key: options.concurrency_key ?? null,
    concurrency_limit: options.concurrency_limit ?? null,
    rate: options.rate ?? null,
    fairness_key: options.fairness_key ?? null,
    waiting_for: row.status === 'queued' ? waitingFor : null,
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
