/** What is asked of the queue without changing it: lists, figures, what changed since. Costs what it answers. Must not know HTTP. */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';
import { isHeld, moves, statusIn } from './model.ts';
import type { Place } from './place.ts';
import { type TaskRow, taskColumns } from './rows.ts';

export interface TaskFilter {
  readonly userId: string;
  readonly status?: TaskStatus | undefined;
  readonly sessionId?: string | undefined;
  readonly deploymentId?: string | undefined;
  readonly workerId?: string | undefined;
  readonly after: Place | null;
  readonly limit: number;
}

export interface QueueStats {
  readonly depth: number;
  readonly leased: number;
  readonly running: number;
  readonly oldestQueuedAt: number | null;
  readonly workersPolling: number;
}

export interface ChangedTask {
  readonly id: string;
  readonly status: TaskStatus;
  readonly fence: number;
  readonly updated_at: number;
}

export interface WorkReads {
  list(filter: TaskFilter): Promise<TaskRow[]>;
  stats(userId: string, now: number, pollersSince: number): Promise<QueueStats>;
  /** What changed at `since` or later, in that order. */
  changed(userId: string, since: number): Promise<ChangedTask[]>;
}

/** The groups that have an index of their own; SQLite uses one only where its very words stand. */
const openOnes = statusIn(['queued', 'leased', 'running']);
const givenUp = statusIn(moves.retry.from);
const held = statusIn(['leased', 'running']);

function groupOf(status: TaskStatus): string | null {
  if (isHeld(status)) return held;
  if (status === 'queued') return openOnes;
  return moves.retry.from.includes(status) ? givenUp : null;
}

export function createWorkReads(store: SharedStore): WorkReads {
  return {
    list({ userId, status, sessionId, deploymentId, workerId, after, limit }) {
      const where = ['user_id = ?'];
      const values: Value[] = [userId];
      const and = (sql: string, ...given: Value[]) => {
        where.push(sql);
        values.push(...given);
      };
      if (status !== undefined) {
        const group = groupOf(status);
        if (group !== null) and(group);
        and('status = ?', status);
      }
      if (sessionId !== undefined) and('session_id = ?', sessionId);
      if (deploymentId !== undefined) and('deployment_id = ?', deploymentId);
      if (workerId !== undefined) and('lease_worker_id = ?', workerId);
      if (after !== null) and('(created_at < ? OR (created_at = ? AND id < ?))', after.at, after.at, after.id);
      // Few are held, however many there are: these are sorted, rather than looked for in the order of all.
      const order =
        status !== undefined && isHeld(status) ? 'created_at + 0 DESC, id DESC' : 'created_at DESC, id DESC';
      const sql = `SELECT ${taskColumns} FROM work_task WHERE ${where.join(' AND ')} ORDER BY ${order} LIMIT ?`;
      return store.all<TaskRow>(sql, ...values, limit);
    },
    stats: (userId, now, pollersSince) =>
      store.read(function* (tx) {
        const count = 'SELECT count(*) AS n, min(queued_at) AS oldest FROM work_task WHERE';
        type Count = { n: number; oldest: number | null };
        const ready = yield* tx.get<Count>(`${count} user_id = ? AND status = 'queued' AND waits = 0`, userId);
        const due = yield* tx.get<Count>(
          `${count} user_id = ? AND status = 'queued' AND waits = 1 AND queued_at <= ?`,
          userId,
          now,
        );
        const atWork = yield* tx.all<{ status: TaskStatus; n: number }>(
          `SELECT status, count(*) AS n FROM work_task WHERE user_id = ? AND ${held} GROUP BY status`,
          userId,
        );
        const pollers = yield* tx.get<{ n: number }>(
          'SELECT count(*) AS n FROM work_poller WHERE user_id = ? AND seen_at >= ?',
          userId,
          pollersSince,
        );
        const oldest = [ready?.oldest, due?.oldest].filter((at): at is number => typeof at === 'number');
        const ofStatus = (status: TaskStatus) => atWork.find((row) => row.status === status)?.n ?? 0;
        return {
          depth: (ready?.n ?? 0) + (due?.n ?? 0),
          leased: ofStatus('leased'),
          running: ofStatus('running'),
          oldestQueuedAt: oldest.length === 0 ? null : Math.min(...oldest),
          workersPolling: pollers?.n ?? 0,
        };
      }),
    changed: (userId, since) =>
      store.all<ChangedTask>(
        'SELECT id, status, fence, updated_at FROM work_task WHERE user_id = ? AND updated_at >= ? ORDER BY updated_at, id',
        userId,
        since,
      ),
  };
}
