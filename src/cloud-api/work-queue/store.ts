/**
 * Tasks in the database: whole operations, most of them one statement, so that whoever comes second finds nothing to change
 * (architecture.md 10; store.md 3.5). Every statement names the owner. Two texts only where a lease is taken. Must not know HTTP.
 */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';
import type { Op, SharedStore, SharedTx, Sql } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';
import { expiredError, held, moves, openFor, statusIn } from './model.ts';
import { type TaskRow, taskColumns } from './rows.ts';

export interface WorkStoreDeps {
  readonly store: SharedStore;
  /** The store's clock: the same for all who share it. */
  readonly now: () => number;
  readonly leaseMs: number;
}

export interface NewTask {
  readonly id: string;
  readonly userId: string;
  readonly sessionId: string | null;
  readonly deploymentId: string | null;
  readonly payload: string;
  readonly env: string;
  readonly sandboxImage: string | null;
  readonly priority: number;
  readonly notBefore: number | null;
  readonly maxAttempts: number;
}

/** Who claims to hold a task. `leaseId`, when given, has to be the one of the lease. */
export interface Holder {
  readonly userId: string;
  readonly id: string;
  readonly workerId: string;
  readonly leaseId: string | null;
}

/** What a new task names and its person does not have. */
export type Unlinked = 'session_not_found' | 'deployment_not_found';

export interface WorkStore {
  create(task: NewTask): Promise<TaskRow | Unlinked>;
  find(userId: string, id: string): Promise<TaskRow | null>;
  /** The oldest that is queued or whose lease is over. */
  lease(userId: string, workerId: string, leaseId: string): Promise<TaskRow | null>;
  /** Undoes a lease of which nobody was told: it costs no attempt. */
  giveBack(holder: Holder): Promise<void>;
  /** Null: not the holder. */
  heartbeat(holder: Holder): Promise<TaskRow | null>;
  ack(holder: Holder, result: string): Promise<TaskRow | null>;
  /** `by` null: whoever holds it. `error` is JSON or null. */
  stop(
    userId: string,
    id: string,
    how: { by: Pick<Holder, 'workerId' | 'leaseId'> | null; error: string | null },
  ): Promise<TaskRow | null>;
  /** Asks its worker to stop; null when nobody holds it. */
  askToStop(
    userId: string,
    id: string,
    how: { by: Pick<Holder, 'workerId' | 'leaseId'> | null; error: string | null },
  ): Promise<TaskRow | null>;
  retry(userId: string, id: string): Promise<TaskRow | null>;
  /** Ends what nobody may lease again: leases that are over after the last attempt, or after a stop was asked for. */
  settle(userId: string | null): Promise<number>;
  /** Lines up tasks whose time has come. */
  lineUp(): Promise<number>;
  /** `draining`: it asks for nothing more. */
  seen(userId: string, workerId: string, draining: boolean): Promise<void>;
  forgetPollers(before: number): Promise<void>;
}

export const readyTopic = (userId: string) => `work.ready:${userId}`;
export const changedTopic = (userId: string) => `work.changed:${userId}`;

const statement = { isolation: 'statement' } as const;
const perRow = { isolation: 'rows' } as const;
/** A large backlog whose time comes at once is lined up in portions, so that no write takes long. */
const portion = 5_000;

const candidate = (where: string) =>
  `SELECT id, rank, queued_at FROM work_task WHERE ${where} ORDER BY rank, queued_at, id LIMIT 1`;
const mine = 'user_id = ?';
const ready = candidate(`${mine} AND status = 'queued' AND waits = 0`);
const due = candidate(`${mine} AND status = 'queued' AND waits = 1 AND queued_at <= ?`);
const lapsed = candidate(
  `${mine} AND ${statusIn(held)} AND lease_until <= ? AND attempts < max_attempts AND stop_requested = 0`,
);
const taken = `UPDATE work_task SET status = '${moves.lease.to}', attempts = attempts + 1, fence = fence + 1, lease_id = ?,
  lease_worker_id = ?, lease_until = ?, updated_at = ?`;
const oldest = 'ORDER BY rank, queued_at, id LIMIT 1';

const leaseSql: Sql = {
  sqlite: `${taken} WHERE id = (SELECT id FROM (SELECT * FROM (${ready}) UNION ALL SELECT * FROM (${due})
    UNION ALL SELECT * FROM (${lapsed})) ${oldest}) RETURNING ${taskColumns}`,
  // Each is locked where it is found, and what another has locked is passed over.
  postgres: `${taken} WHERE id = (WITH ready AS (${ready} FOR UPDATE SKIP LOCKED), due AS (${due} FOR UPDATE SKIP LOCKED),
    lapsed AS (${lapsed} FOR UPDATE SKIP LOCKED)
    SELECT id FROM (TABLE ready UNION ALL TABLE due UNION ALL TABLE lapsed) AS found ${oldest}) RETURNING ${taskColumns}`,
};

/** Whether anything could be leased, also what another operation holds for a moment; the answer is held back for so many seconds. */
const candidateSql = `SELECT 1 AS one FROM pg_sleep(?) WHERE EXISTS (${ready}) OR EXISTS (${due}) OR EXISTS (${lapsed})`;
/**
 * On PostgreSQL a lease locks what it finds in each of three places and takes one; the others are hidden from everybody until it is
 * kept. Who finds nothing looks again as long as there is something, after these seconds.
 */
const hiddenPauses = [0, 0.005, 0.01, 0.02, 0.05, 0.1];

/** The same while nothing but what is ready can be leased. */
const readySql = `${taken} WHERE id = (${ready.replace('id, rank, queued_at', 'id')}) RETURNING ${taskColumns}`;
const soonestSql = `SELECT min(at) AS at FROM (SELECT min(lease_until) AS at FROM work_task WHERE ${statusIn(held)}
  UNION ALL SELECT min(queued_at) FROM work_task WHERE status = 'queued' AND waits = 1) AS ends`;

const byHolder = `id = ? AND ${mine} AND lease_worker_id = ? AND lease_id = COALESCE(?, lease_id)`;
const heartbeatSql = `UPDATE work_task SET updated_at = CASE WHEN status = '${moves.heartbeat.to}' THEN updated_at ELSE ? END,
  status = '${moves.heartbeat.to}', lease_until = CASE WHEN lease_until > ? THEN lease_until ELSE ? END
  WHERE ${byHolder} AND ${openFor('heartbeat')} RETURNING ${taskColumns}`;
const giveBackSql = `UPDATE work_task SET status = '${moves.giveBack.to}', attempts = attempts - 1, lease_id = NULL,
  lease_worker_id = NULL, lease_until = NULL, updated_at = ? WHERE ${byHolder} AND ${openFor('giveBack')}
  AND stop_requested = 0 RETURNING id`;
const ackSql = `UPDATE work_task SET status = '${moves.ack.to}', result = ?, error = NULL, updated_at = ?
  WHERE ${byHolder} AND ${openFor('ack')} RETURNING ${taskColumns}`;
const retrySql = `UPDATE work_task SET status = '${moves.retry.to}', attempts = 0, waits = 0, stop_requested = 0, lease_id = NULL,
  lease_worker_id = NULL, lease_until = NULL, result = NULL, error = NULL, not_before = NULL, queued_at = ?, updated_at = ?
  WHERE id = ? AND ${mine} AND ${openFor('retry')} RETURNING ${taskColumns}`;
const insertSql = `INSERT INTO work_task (id, user_id, status, session_id, deployment_id, rank, queued_at, waits, not_before, attempts,
  max_attempts, fence, stop_requested, created_at, updated_at, payload, env, sandbox_image)
  VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, 0, ?, 0, 0, ?, ?, ?, ?, ?)`;
const over = `lease_until <= ? AND (stop_requested = 1 OR attempts >= max_attempts)`;
const settleSql = (whose: string) => `UPDATE work_task SET
  status = CASE WHEN stop_requested = 1 AND error IS NULL THEN '${moves.cancel.to}' ELSE '${moves.expire.to}' END,
  error = CASE WHEN stop_requested = 1 THEN error ELSE ? END, updated_at = ?
  WHERE ${whose}${openFor('expire')} AND ${over} RETURNING user_id`;

export function createWorkStore({ store, now, leaseMs }: WorkStoreDeps): WorkStore {
  const { wake } = store;
  const tell = (tx: SharedTx, userId: string) => tx.afterCommit(() => wake.signal(changedTopic(userId)));
  const tellReady = (tx: SharedTx, userId: string) =>
    tx.afterCommit(() => {
      wake.signal(readyTopic(userId));
      wake.signal(changedTopic(userId));
    });

  // Where this process alone writes, it knows when the next lease ends or the next time comes, at the earliest: until then
  // a lease looks at what is ready, which spares two looks of three.
  let quietUntil = 0;
  let lowered = Number.POSITIVE_INFINITY;
  let asking = false;
  let latest = 0;
  function notBefore(at: number): void {
    quietUntil = Math.min(quietUntil, at);
    lowered = Math.min(lowered, at);
  }
  function askSoonest(): void {
    if (asking || store.engine !== 'sqlite') return;
    asking = true;
    lowered = Number.POSITIVE_INFINITY;
    store
      .get<{ at: number | null }>(soonestSql)
      .then((row) => {
        quietUntil = Math.min(row?.at ?? Number.POSITIVE_INFINITY, lowered);
      })
      // Not known: every lease looks at all three, until one is answered.
      .catch(() => {})
      .finally(() => {
        asking = false;
      });
  }

  // Generators of what workers ask all the time are made once: each function of that kind brings a prototype and a shape of its own,
  // which would cost more than the statement.
  function* changing(tx: SharedTx, userId: string, sql: Sql, values: readonly Value[]): Op<TaskRow | null> {
    const row = yield* tx.get<TaskRow>(sql, ...values);
    if (row === undefined) return null;
    tell(tx, userId);
    return row;
  }

  function* adding(tx: SharedTx, row: TaskRow, waits: boolean): Op<TaskRow | Unlinked> {
    const { id, user_id: userId, session_id: sessionId, deployment_id: deploymentId, queued_at: queuedAt } = row;
    if (sessionId !== null) {
      const sql = 'SELECT 1 AS there FROM work_session WHERE id = ? AND user_id = ?';
      if ((yield* tx.get(sql, sessionId, userId)) === undefined) return 'session_not_found';
    }
    if (deploymentId !== null) {
      const sql = 'SELECT 1 AS there FROM work_deployment WHERE id = ? AND user_id = ?';
      if ((yield* tx.get(sql, deploymentId, userId)) === undefined) return 'deployment_not_found';
    }
    yield* tx.run(
      insertSql,
      ...[id, userId, sessionId, deploymentId, row.rank, queuedAt, waits ? 1 : 0, row.not_before],
      ...[row.max_attempts, row.created_at, row.updated_at, row.payload, row.env, row.sandbox_image],
    );
    tellReady(tx, userId);
    if (waits) tx.afterCommit(() => notBefore(queuedAt));
    return row;
  }

  /** One statement that changes one task of a person, or none. */
  const change = (userId: string, sql: Sql, values: readonly Value[]) =>
    store.write((tx) => changing(tx, userId, sql, values), statement);

  function whose(
    userId: string,
    id: string,
    by: Pick<Holder, 'workerId' | 'leaseId'> | null,
  ): { sql: string; values: (string | null)[] } {
    if (by === null) return { sql: `id = ? AND ${mine}`, values: [id, userId] };
    return { sql: byHolder, values: [id, userId, by.workerId, by.leaseId] };
  }

  return {
    create(task) {
      const at = now();
      const due = task.notBefore;
      const waits = due !== null && due > at;
      const row: TaskRow = {
        id: task.id,
        user_id: task.userId,
        status: 'queued',
        session_id: task.sessionId,
        deployment_id: task.deploymentId,
        rank: task.priority === 0 ? 0 : -task.priority,
        queued_at: waits ? due : at,
        not_before: due,
        attempts: 0,
        max_attempts: task.maxAttempts,
        fence: 0,
        stop_requested: 0,
        lease_id: null,
        lease_worker_id: null,
        lease_until: null,
        created_at: at,
        updated_at: at,
        payload: task.payload,
        env: task.env,
        sandbox_image: task.sandboxImage,
        result: null,
        error: null,
      };
      // What a task belongs to is never removed, so that looking before writing is enough.
      const links = row.session_id !== null || row.deployment_id !== null;
      return store.write((tx) => adding(tx, row, waits), links ? perRow : statement);
    },
    find: async (userId, id) =>
      (await store.get<TaskRow>(`SELECT ${taskColumns} FROM work_task WHERE id = ? AND ${mine}`, id, userId)) ?? null,
    async lease(userId, workerId, leaseId) {
      const at = now();
      const until = at + leaseMs;
      const lease = [leaseId, workerId, until, at];
      // A clock that was put back took the ends of leases along.
      if (at < latest) quietUntil = 0;
      latest = at;
      const quiet = at < quietUntil;
      const all = [userId, userId, at, userId, at];
      let row = await (quiet
        ? change(userId, readySql, [...lease, userId])
        : change(userId, leaseSql, [...lease, ...all]));
      if (store.engine === 'postgres') {
        for (const pause of hiddenPauses) {
          if (row !== null || (await store.get(candidateSql, pause, ...all)) === undefined) break;
          row = await change(userId, leaseSql, [...lease, ...all]);
        }
      }
      // After it is kept, so that no question that was asked meanwhile has missed it.
      if (row !== null) notBefore(until);
      if (!quiet) askSoonest();
      return row;
    },
    giveBack({ userId, id, workerId, leaseId }) {
      const at = now();
      return store.write(function* (tx) {
        const row = yield* tx.get(giveBackSql, at, id, userId, workerId, leaseId);
        if (row === undefined) return;
        tellReady(tx, userId);
        // One whose time had to come is looked for by its time.
        tx.afterCommit(() => notBefore(at));
      }, statement);
    },
    heartbeat({ userId, id, workerId, leaseId }) {
      const at = now();
      // One that was held up on its way shortens nothing.
      return change(userId, heartbeatSql, [at, at + leaseMs, at + leaseMs, id, userId, workerId, leaseId]);
    },
    ack: ({ userId, id, workerId, leaseId }, result) =>
      change(userId, ackSql, [result, now(), id, userId, workerId, leaseId]),
    stop(userId, id, { by, error }) {
      const { sql, values } = whose(userId, id, by);
      // The reason of whoever asked its worker to stop counts, unless the worker gives its own.
      const text = `UPDATE work_task SET error = COALESCE(?, error), updated_at = ?,
        status = CASE WHEN COALESCE(?, error) IS NULL THEN '${moves.cancel.to}' ELSE '${moves.fail.to}' END
        WHERE ${sql} AND ${openFor('fail')} RETURNING ${taskColumns}`;
      return change(userId, text, [error, now(), error, ...values]);
    },
    askToStop(userId, id, { by, error }) {
      const { sql, values } = whose(userId, id, by);
      const text = `UPDATE work_task SET stop_requested = 1, error = ?, updated_at = ?
        WHERE ${sql} AND ${statusIn(held)} RETURNING ${taskColumns}`;
      return change(userId, text, [error, now(), ...values]);
    },
    retry(userId, id) {
      const at = now();
      return store.write(function* (tx) {
        const row = yield* tx.get<TaskRow>(retrySql, at, at, id, userId);
        if (row !== undefined) tellReady(tx, userId);
        return row ?? null;
      }, statement);
    },
    settle(userId) {
      const at = now();
      const values = userId === null ? [at] : [userId, at];
      return store.write(function* (tx) {
        const sql = settleSql(userId === null ? '' : `${mine} AND `);
        const rows = yield* tx.all<{ user_id: string }>(sql, JSON.stringify(expiredError), at, ...values);
        for (const owner of new Set(rows.map((row) => row.user_id))) tell(tx, owner);
        return rows.length;
      }, statement);
    },
    lineUp: () =>
      store.write(function* (tx) {
        const rows = yield* tx.all<{ user_id: string }>(
          `UPDATE work_task SET waits = 0 WHERE status = 'queued' AND waits = 1 AND id IN (SELECT id FROM work_task
            WHERE status = 'queued' AND waits = 1 AND queued_at <= ? ORDER BY queued_at LIMIT ?) RETURNING user_id`,
          now(),
          portion,
        );
        for (const owner of new Set(rows.map((row) => row.user_id))) tellReady(tx, owner);
        return rows.length;
      }, statement),
    seen: (userId, workerId, draining) =>
      store.write(function* (tx) {
        const sql = `INSERT INTO work_poller (user_id, worker_id, seen_at, draining) VALUES (?, ?, ?, ?)
          ON CONFLICT (user_id, worker_id) DO UPDATE SET seen_at = excluded.seen_at, draining = excluded.draining`;
        yield* tx.run(sql, userId, workerId, now(), draining ? 1 : 0);
      }, statement),
    forgetPollers: (before) =>
      store.write(function* (tx) {
        yield* tx.run('DELETE FROM work_poller WHERE seen_at < ?', before);
      }, statement),
  };
}

export type { TaskRow, TaskStatus };
