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

/**
 * Conditions that hold for every row they are put to, and name the columns of one partial index: SQLite keeps no statistics, and
 * takes the index of which it can use most.
 */
const held = `${statusIn(['leased', 'running'])} AND lease_until > 0`;
const givenUp = statusIn(moves.retry.from);
const ready = `status = 'queued' AND waits = 0 AND rank >= -1000000`;
const later = `status = 'queued' AND waits = 1 AND queued_at > 0`;
/** So many are sorted rather than looked for among all that ever were. */
const few = 1_000;
export function createWorkReads(store: SharedStore): WorkReads {
  /** Whether more wait than are sorted in no time; then they are most of what there is. */
  async function isDeep(userId: string): Promise<boolean> {
    for (const group of [ready, later]) {
      const sql = `SELECT 1 AS one FROM work_task WHERE user_id = ? AND ${group} LIMIT 1 OFFSET ?`;
      if ((await store.get(sql, userId, few)) !== undefined) return true;
    }
    return false;
  }

  return {
    async list({ userId, status, sessionId, deploymentId, workerId, after, limit }) {
      const where = ['user_id = ?'];
      const values: Value[] = [userId];
      const and = (sql: string, ...given: Value[]) => {
        where.push(sql);
        values.push(...given);
      };
      if (status !== undefined) and('status = ?', status);
      if (sessionId !== undefined) and('session_id = ?', sessionId);
      if (deploymentId !== undefined) and('deployment_id = ?', deploymentId);
      if (workerId !== undefined) and('lease_worker_id = ?', workerId);
      // These are few among all that ever were: found by what they are, and sorted.
      const some = status === 'queued' ? !(await isDeep(userId)) : status !== undefined && isHeld(status);
      // No index has this column, so that none is chosen for its order.
      const made = some ? 'created_at + 0' : 'created_at';
      if (after !== null) and(`(${made} < ? OR (${made} = ? AND id < ?))`, after.at, after.at, after.id);
      const select = (group: string | null) =>
        `SELECT ${taskColumns} FROM work_task WHERE ${[...where, ...(group === null ? [] : [group])].join(' AND ')}`;
      const order = `ORDER BY ${made} DESC, id DESC LIMIT ?`;
      if (some && status === 'queued') {
        const sql = `SELECT ${taskColumns} FROM (${select(ready)} UNION ALL ${select(later)}) AS queued ${order}`;
        return store.all<TaskRow>(sql, ...values, ...values, limit);
      }
      const ended = status !== undefined && moves.retry.from.includes(status);
      return store.all<TaskRow>(`${select(some ? held : ended ? givenUp : null)} ${order}`, ...values, limit);
    },
    stats: (userId, now, pollersSince) =>
      store.read(function* (tx) {
        const count = 'SELECT count(*) AS n, min(queued_at) AS oldest FROM work_task WHERE';
        type Count = { n: number; oldest: number | null };
        const waiting = yield* tx.get<Count>(`${count} user_id = ? AND ${ready}`, userId);
        const due = yield* tx.get<Count>(`${count} user_id = ? AND ${later} AND queued_at <= ?`, userId, now);
        const atWork = yield* tx.all<{ status: TaskStatus; n: number }>(
          `SELECT status, count(*) AS n FROM work_task WHERE user_id = ? AND ${held} GROUP BY status`,
          userId,
        );
        const pollers = yield* tx.get<{ n: number }>(
          'SELECT count(*) AS n FROM work_poller WHERE user_id = ? AND seen_at >= ?',
          userId,
          pollersSince,
        );
        const oldest = [waiting?.oldest, due?.oldest].filter((at): at is number => typeof at === 'number');
        const ofStatus = (status: TaskStatus) => atWork.find((row) => row.status === status)?.n ?? 0;
        return {
          depth: (waiting?.n ?? 0) + (due?.n ?? 0),
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
