/** What is asked of the queue without changing it: lists, figures, what changed since. Costs what it answers. Must not know HTTP. */
import { ageEnds, type TaskStatus } from '../../contracts/work-queue/task.ts';
import { type Page, type Place, pageOf } from '../../kit/http/place.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';
import { isHeld, moves, statusIn } from './model.ts';
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
  readonly scheduled: number;
  readonly failed: number;
  /** As many as there are ends of ages, and one for what is older. */
  readonly ages: readonly number[];
}

export interface SeenWorker {
  readonly worker_id: string;
  /** Null: not for a day, or never. */
  readonly seen_at: number | null;
  readonly draining: boolean;
  readonly holding: number;
}

export interface ChangedTask {
  readonly id: string;
  readonly status: TaskStatus;
  readonly fence: number;
  readonly updated_at: number;
}

/** A change by its time, and among those of one time by its task; an empty id is before all of them. */
export interface ChangePoint {
  readonly at: number;
  readonly id: string;
}

export interface WorkReads {
  list(filter: TaskFilter): Promise<Page<TaskRow>>;
  stats(userId: string, now: number, pollersSince: number): Promise<QueueStats>;
  /** Those that asked since, and those that hold something: the latter first. */
  workers(userId: string, since: number): Promise<SeenWorker[]>;
  /** What changed behind this point, in the order of time and id, at most so many. */
  changed(userId: string, after: ChangePoint, limit: number): Promise<ChangedTask[]>;
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
const mostWorkers = 200;
/** Of what a task brings along; the rest of it is small. */
const sizeColumns = `id, created_at, octet_length(payload) + octet_length(env) + COALESCE(octet_length(result), 0)
  + COALESCE(octet_length(error), 0) AS bytes`;

/** Ranks are few: each is found behind the one before, and each range of times in it is counted where the index has it. */
const ofReady = `FROM work_task WHERE user_id = ? AND status = 'queued' AND waits = 0`;
const ranks = `WITH RECURSIVE ranks(rank) AS (SELECT min(rank) ${ofReady} UNION ALL
  SELECT (SELECT min(rank) ${ofReady} AND rank > ranks.rank) FROM ranks WHERE rank IS NOT NULL)`;
const group = 'SELECT CAST(? AS BIGINT) AS age, CAST(? AS BIGINT) AS oldest, CAST(? AS BIGINT) AS youngest';
const groups = [...ageEnds, null].map(() => group).join(' UNION ALL ');
const inGroup = 'queued_at > ages.oldest AND queued_at <= ages.youngest';
const readyAges = `${ranks}, ages AS (${groups}) SELECT age,
  CAST(sum((SELECT count(*) ${ofReady} AND rank = ranks.rank AND ${inGroup})) AS BIGINT) AS n
  FROM ages, ranks WHERE ranks.rank IS NOT NULL GROUP BY age`;
const dueAges = `WITH ages AS (${groups}) SELECT age, (SELECT count(*) FROM work_task
  WHERE user_id = ? AND status = 'queued' AND waits = 1 AND ${inGroup} AND queued_at <= ?) AS n FROM ages`;
const oldestSql = `${ranks} SELECT min(at) AS at FROM (
  SELECT (SELECT min(queued_at) ${ofReady} AND rank = ranks.rank) AS at FROM ranks WHERE rank IS NOT NULL UNION ALL
  SELECT min(queued_at) FROM work_task WHERE user_id = ? AND status = 'queued' AND waits = 1 AND queued_at <= ?) AS ends`;
/** Later than any time of a task. */
const latest = 8_640_000_000_000_000;

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
      const ended = status !== undefined && moves.retry.from.includes(status);
      const ask = <T>(columns: string, most: number) => {
        const select = (group: string | null) =>
          `SELECT ${columns} FROM work_task WHERE ${[...where, ...(group === null ? [] : [group])].join(' AND ')}`;
        const order = `ORDER BY ${made} DESC, id DESC LIMIT ?`;
        if (some && status === 'queued') {
          const sql = `SELECT * FROM (${select(ready)} UNION ALL ${select(later)}) AS queued ${order}`;
          return store.all<T>(sql, ...values, ...values, most);
        }
        return store.all<T>(`${select(some ? held : ended ? givenUp : null)} ${order}`, ...values, most);
      };
      return pageOf<TaskRow>(
        limit,
        (most) => ask(sizeColumns, most),
        (most) => ask(taskColumns, most),
      );
    },
    stats: (userId, now, pollersSince) =>
      store.read(function* (tx) {
        const ends = ageEnds.map((seconds) => now - seconds * 1000);
        // The last group reaches to the beginning of time, the first to its end: clocks of others may be ahead.
        const bounds = [...ends, 0].flatMap((from, group) => [group, from, ends[group - 1] ?? latest]);
        const waiting = yield* tx.all<{ age: number; n: number }>(readyAges, userId, userId, ...bounds, userId);
        const due = yield* tx.all<{ age: number; n: number }>(dueAges, ...bounds, userId, now);
        const oldest = yield* tx.get<{ at: number | null }>(oldestSql, userId, userId, userId, userId, now);
        const later = yield* tx.get<{ n: number }>(
          `SELECT count(*) AS n FROM work_task WHERE user_id = ? AND status = 'queued' AND waits = 1 AND queued_at > ?`,
          userId,
          now,
        );
        const atWork = yield* tx.all<{ status: TaskStatus; n: number }>(
          `SELECT status, count(*) AS n FROM work_task WHERE user_id = ? AND ${held} GROUP BY status`,
          userId,
        );
        const failed = yield* tx.get<{ n: number }>(
          `SELECT count(*) AS n FROM (SELECT status FROM work_task WHERE user_id = ? AND ${givenUp}
            ORDER BY created_at DESC, id DESC LIMIT ${few}) AS given_up WHERE status = 'failed'`,
          userId,
        );
        const pollers = yield* tx.get<{ n: number }>(
          'SELECT count(*) AS n FROM work_poller WHERE user_id = ? AND seen_at >= ? AND draining = 0',
          userId,
          pollersSince,
        );
        const ages = [...ends, 0].map((_, group) =>
          [...waiting, ...due].reduce((sum, row) => (row.age === group ? sum + row.n : sum), 0),
        );
        const ofStatus = (status: TaskStatus) => atWork.find((row) => row.status === status)?.n ?? 0;
        return {
          depth: ages.reduce((sum, n) => sum + n, 0),
          leased: ofStatus('leased'),
          running: ofStatus('running'),
          oldestQueuedAt: oldest?.at ?? null,
          workersPolling: pollers?.n ?? 0,
          scheduled: later?.n ?? 0,
          failed: failed?.n ?? 0,
          ages,
        };
      }),
    workers: (userId, since) =>
      store.read(function* (tx) {
        const holders = yield* tx.all<{ worker_id: string; n: number }>(
          `SELECT lease_worker_id AS worker_id, count(*) AS n FROM work_task WHERE user_id = ? AND ${held}
            GROUP BY lease_worker_id ORDER BY n DESC, worker_id LIMIT ${mostWorkers}`,
          userId,
        );
        const seen = yield* tx.all<{ worker_id: string; seen_at: number; draining: number }>(
          `SELECT worker_id, seen_at, draining FROM work_poller WHERE user_id = ? ORDER BY seen_at DESC, worker_id LIMIT ${few}`,
          userId,
        );
        const known = new Map(seen.map((row) => [row.worker_id, row]));
        const worker = (worker_id: string, holding: number): SeenWorker => {
          const row = known.get(worker_id);
          return { worker_id, seen_at: row?.seen_at ?? null, draining: row?.draining === 1, holding };
        };
        const holding = new Set(holders.map((row) => row.worker_id));
        const idle = seen.filter((row) => row.seen_at >= since && !holding.has(row.worker_id));
        return [
          ...holders.map((row) => worker(row.worker_id, row.n)),
          ...idle.map((row) => worker(row.worker_id, 0)),
        ].slice(0, mostWorkers);
      }),
    changed: (userId, { at, id }, limit) =>
      store.all<ChangedTask>(
        `SELECT id, status, fence, updated_at FROM work_task
          WHERE user_id = ? AND updated_at >= ? AND (updated_at > ? OR id > ?) ORDER BY updated_at, id LIMIT ?`,
        ...[userId, at, at, id, limit],
      ),
  };
}
