/** A task as stored, and as sent over the wire. Must not know statements. */
import type { Lease, Task, TaskError, TaskStatus } from '../../contracts/work-queue/task.ts';
import { iso } from '../../kit/clock/clock.ts';
import { isEnded } from './model.ts';

export interface TaskRow {
  readonly id: string;
  readonly user_id: string;
  readonly status: TaskStatus;
  readonly session_id: string | null;
  readonly deployment_id: string | null;
  /** Lower values are leased first: the negated priority. */
  readonly rank: number;
  /** Start of its age in the queue. */
  readonly queued_at: number;
  readonly not_before: number | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly fence: number;
  readonly stop_requested: number;
  /** Of the last lease; both stay after the task has ended, so that its holder is known. */
  readonly lease_id: string | null;
  readonly lease_worker_id: string | null;
  readonly lease_until: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  /** JSON. */
  readonly payload: string;
  readonly env: string;
  readonly sandbox_image: string | null;
  readonly result: string | null;
  readonly error: string | null;
}

export const taskColumns = `id, user_id, status, session_id, deployment_id, rank, queued_at, not_before, attempts, max_attempts, fence,
  stop_requested, lease_id, lease_worker_id, lease_until, created_at, updated_at, payload, env, sandbox_image, result, error`;

const time = (at: number | null) => (at === null ? null : iso(at));

export function wireTask(row: TaskRow): Task {
  const over = isEnded(row.status);
  const free = over || row.status === 'queued';
  const createdAt = iso(row.created_at);
  return {
    id: row.id,
    session_id: row.session_id,
    deployment_id: row.deployment_id,
    status: row.status,
    payload: JSON.parse(row.payload) as Task['payload'],
    sandbox_image: row.sandbox_image,
    env: JSON.parse(row.env) as Record<string, string>,
    priority: row.rank === 0 ? 0 : -row.rank,
    not_before: time(row.not_before),
    attempts: row.attempts,
    max_attempts: row.max_attempts,
    stop_requested: row.stop_requested === 1,
    lease_worker_id: free ? null : row.lease_worker_id,
    lease_expires_at: free ? null : time(row.lease_until),
    last_worker_id: row.lease_worker_id,
    result: row.result === null ? null : (JSON.parse(row.result) as Task['result']),
    // A task that was asked to stop keeps that reason for its end.
    error: over && row.error !== null ? (JSON.parse(row.error) as TaskError) : null,
    created_at: createdAt,
    updated_at: row.updated_at === row.created_at ? createdAt : iso(row.updated_at),
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
