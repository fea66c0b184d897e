/**
 * Tasks in the database: whole operations, most of them one statement, so that the second of two finds nothing to change. Every statement names the
 * owner. The two engines have different SQL only for taking a lease. Must not know HTTP.
 */
import type { NewTask, TaskError } from '../../contracts/work-queue/task.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import type { Op, SharedStore, SharedTx, Sql } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';
import { createCounts } from './counts.ts';
import { leaseSql, mine, readyAmongSql, readySql, soonestSql, thereSql } from './lease-sql.ts';
import { entering, reentering } from './line.ts';
import { type Asker, createListed } from './listed.ts';
import { backoffMs, expiredError, held, isListed, moves, openFor, retries, statusIn, waits } from './model.ts';
import { type Can, canRun, needsKey } from './needs.ts';
import { belongsInLine, newTask, readOptions, type TaskRow, tasks } from './rows.ts';

/** Who claims to hold a task. If `leaseId` is given, it must match the lease. */
export interface Holder {
  readonly userId: string;
  readonly id: string;
  readonly workerId: string;
  readonly leaseId: string | null;
}

/** Ids that a new task names and its person does not have. */
type Unlinked = 'session_not_found' | 'deployment_not_found';

export interface WorkStore {
  create(userId: string, id: string, task: NewTask): Promise<TaskRow | Unlinked>;
  find(userId: string, id: string): Promise<TaskRow | null>;
  /** The oldest that is queued or whose lease has ended; with `can` only of those that such a worker can run. */
  lease(userId: string, workerId: string, leaseId: string, can?: Can | null): Promise<TaskRow | null>;
  /** Undoes a lease that nobody received: it costs no attempt. */
  giveBack(holder: Holder): Promise<void>;
  /** Null: not the holder. */
  heartbeat(holder: Holder): Promise<TaskRow | null>;
  ack(holder: Holder, result: string): Promise<TaskRow | null>;
  /** `by` null: any holder. `error` is JSON or null. A failure that its worker reports and the task wants retried puts it back into the queue. */
  stop(
    userId: string,
    id: string,
    how: { by: Pick<Holder, 'workerId' | 'leaseId'> | null; error: string | null },
  ): Promise<TaskRow | null>;
  /** Asks its worker to stop; null if nobody holds it. */
  askToStop(
    userId: string,
    id: string,
    how: { by: Pick<Holder, 'workerId' | 'leaseId'> | null; error: string | null },
  ): Promise<TaskRow | null>;
  retry(userId: string, id: string): Promise<TaskRow | null>;
  /**
   * Ends tasks that nobody may lease again: their lease ended after the last attempt, or after a stop was requested. Taking a lease does this, too.
   */
  settle(userId: string | null): Promise<number>;
  /** Queues tasks whose time has come. */
  lineUp(): Promise<number>;
  /** Lets tasks pass the gates of the line that have room, after a crash or another version left something behind. */
  sweepLine(): Promise<void>;
  /** `draining`: it asks for no more tasks. */
  seen(userId: string, workerId: string, draining: boolean, can?: Can | null): Promise<void>;
  forgetPollers(before: number): Promise<void>;
  /** Adds up the recorded changes. */
  fold(): Promise<void>;
  /** Removes what is known of keys that took turns and have nothing queued. */
  forgetTurns(): Promise<void>;
}

/** For a person: until when nothing changes by time, and the reports during that lookup. */
interface Quiet {
  until: number;
  lowered: number;
  asking: boolean;
}
const maxQuiets = 10_000;

/** When the first of a person's tasks is due, and when the first lease ends. */
interface There {
  readonly ready_id: string | null;
  readonly due_at: number | null;
  readonly end_at: number | null;
  readonly over_at: number | null;
}

export const readyTopic = (userId: string) => `work.ready:${userId}`;
export const changedTopic = (userId: string) => `work.changed:${userId}`;

const statement = { isolation: 'statement' } as const;
const perRow = { isolation: 'rows' } as const;
/** A large backlog that is due at once is queued in portions, so that no write takes long. */
const portion = 5_000;

/**
 * On PostgreSQL a lease locks the row found in each of three places and takes one; the others are hidden from everybody until it commits. A caller
 * that finds nothing looks again while there is something, after these milliseconds.
 */
const hiddenPauses = [0, 5, 10, 20, 50, 100];
/** How often a caller looks again whose choice went to others. */
const maxTries = 20;

/** Nobody may lease it again, and nobody holds it. */
const over = `lease_until <= ? AND (stop_requested = 1 OR attempts >= max_attempts)`;
const byHolder = `id = ? AND ${mine} AND lease_worker_id = ? AND lease_id = COALESCE(?, lease_id)`;
const heartbeatSql = `UPDATE work_task SET updated_at = CASE WHEN status = '${moves.heartbeat.to}' THEN updated_at ELSE ? END,
  status = '${moves.heartbeat.to}', lease_until = CASE WHEN lease_until > ? THEN lease_until ELSE ? END
  WHERE ${byHolder} AND ${openFor('heartbeat')} RETURNING ${tasks.columns}`;
const giveBackSql = `UPDATE work_task SET status = '${moves.giveBack.to}', attempts = attempts - 1, lease_id = NULL,
  lease_worker_id = NULL, lease_until = NULL, updated_at = ? WHERE ${byHolder} AND ${openFor('giveBack')}
  AND stop_requested = 0 RETURNING ${tasks.columns}`;
const ackSql = `UPDATE work_task SET status = '${moves.ack.to}', result = ?, error = NULL, updated_at = ?
  WHERE ${byHolder} AND ${openFor('ack')} RETURNING ${tasks.columns}`;
/**
 * The end of the queue. Clocks of replicas differ by milliseconds: a new task goes behind the last one, whichever replica wrote it; the sequence
 * orders those of one time.
 */
const atEnd = (at: string, userId: string, rank: string) =>
  `GREATEST(${at}, (SELECT last.queued_at FROM work_task AS last WHERE last.user_id = ${userId} AND last.status = 'queued'
  AND last.waits = 0 AND last.rank = ${rank} ORDER BY last.queued_at DESC LIMIT 1))`;
const retrySql = (
  place: string,
) => `UPDATE work_task SET status = '${moves.retry.to}', attempts = 0, waits = ?, options = ?, stop_requested = 0,
  lease_id = NULL, lease_worker_id = NULL, lease_until = NULL, result = NULL, error = NULL, not_before = NULL, ${place}, updated_at = ?
  WHERE id = ? AND ${mine} AND ${openFor('retry')} RETURNING ${tasks.columns}`;
const retryTexts: Sql = {
  sqlite: retrySql('queued_at = ?'),
  postgres: retrySql(`queued_at = ${atEnd('?', 'work_task.user_id', 'work_task.rank')}, seq = DEFAULT`),
};
/** Of the lease that failed, unless somebody asked meanwhile for its stop. */
const againSql = `UPDATE work_task SET status = '${moves.again.to}', waits = ?, queued_at = ?, not_before = ?, options = ?, lease_id = NULL,
  lease_worker_id = NULL, lease_until = NULL, updated_at = ?
  WHERE ${byHolder} AND fence = ? AND stop_requested = 0 AND ${openFor('again')} RETURNING ${tasks.columns}`;
/** Returns no row if the task exists: a caller that missed the first response creates it again under its own id. */
const unlessKnown = 'ON CONFLICT (id) DO NOTHING RETURNING queued_at';
const insertAt = tasks.insert(unlessKnown);
const insertAtEnd = tasks.insert(unlessKnown, { queued_at: atEnd(':queued_at', ':user_id', ':rank') });
/** As everybody's index has it. */
const overOfAll = `status || '' IN ('leased', 'running') AND lease_until <= ? AND (stop_requested = 1 OR attempts >= max_attempts)`;
const settleSql = (which: string) => `UPDATE work_task SET
  status = CASE WHEN stop_requested = 1 AND error IS NULL THEN '${moves.cancel.to}' ELSE '${moves.expire.to}' END,
  error = CASE WHEN stop_requested = 1 THEN error ELSE ? END, updated_at = ?
  WHERE ${openFor('expire')} AND ${over} AND id IN (SELECT id FROM work_task WHERE ${which}
    ORDER BY lease_until LIMIT ?) RETURNING user_id`;

export function createWorkStore({
  store,
  now,
  leaseMs,
  timers = systemTimers,
  trace,
}: {
  readonly store: SharedStore;
  /** The store's clock: the same for all who share it. */
  readonly now: () => number;
  readonly leaseMs: number;
  readonly timers?: Timers;
  /** The `traceparent` of the span that runs now. */
  readonly trace?: (() => string | null) | undefined;
}): WorkStore {
  const { wake } = store;
  const tell = (tx: SharedTx, userId: string) => tx.afterCommit(() => wake.signal(changedTopic(userId)));
  const counts = createCounts(store, now);
  const moved = (tx: SharedTx, userId: string) => {
    tell(tx, userId);
    tx.afterCommit(counts.moved);
  };
  const tellReady = (tx: SharedTx, userId: string) =>
    tx.afterCommit(() => {
      wake.signal(readyTopic(userId));
      wake.signal(changedTopic(userId));
    });

  const listed = createListed({ store, now, leaseMs, timers, moved, tellReady });

  // If only this process writes, it knows the earliest next end of a person's lease or due time: until then a lease looks only at ready tasks, which
  // saves two looks of three.
  const quiets = new Map<string, Quiet>();
  let latest = 0;
  function quietOf(userId: string): Quiet {
    const known = quiets.get(userId);
    if (known !== undefined) return known;
    if (quiets.size >= maxQuiets) quiets.clear();
    const made: Quiet = { until: 0, lowered: Number.POSITIVE_INFINITY, asking: false };
    quiets.set(userId, made);
    return made;
  }
  function notBefore(userId: string, at: number): void {
    if (store.engine !== 'sqlite') return;
    const quiet = quietOf(userId);
    quiet.until = Math.min(quiet.until, at);
    quiet.lowered = Math.min(quiet.lowered, at);
  }
  function askSoonest(userId: string): void {
    const quiet = quietOf(userId);
    if (quiet.asking) return;
    quiet.asking = true;
    quiet.lowered = Number.POSITIVE_INFINITY;
    store
      .get<{ at: number | null }>(soonestSql, userId, userId)
      .then((row) => {
        quiet.until = Math.min(row?.at ?? Number.POSITIVE_INFINITY, quiet.lowered);
      })
      // Unknown: every lease looks at all three until one is answered.
      .catch(() => {})
      .finally(() => {
        quiet.asking = false;
      });
  }

  // Generators of frequent calls are created once: each such function brings a prototype and a shape of its own, which would cost more than the
  // statement.
  function* changing<T extends TaskRow>(
    tx: SharedTx,
    userId: string,
    sql: Sql,
    values: readonly Value[],
  ): Op<T | null> {
    const row = yield* tx.get<T>(sql, ...values);
    if (row === undefined) return null;
    moved(tx, userId);
    return row;
  }

  /** Null: it exists already. */
  function* adding(tx: SharedTx, row: TaskRow): Op<TaskRow | Unlinked | null> {
    const { user_id: userId, session_id: sessionId, deployment_id: deploymentId, queued_at: queuedAt } = row;
    if (sessionId !== null) {
      const sql = 'SELECT 1 AS there FROM work_session WHERE id = ? AND user_id = ?';
      if ((yield* tx.get(sql, sessionId, userId)) === undefined) return 'session_not_found';
    }
    if (deploymentId !== null) {
      const sql = 'SELECT 1 AS there FROM work_deployment WHERE id = ? AND user_id = ?';
      if ((yield* tx.get(sql, deploymentId, userId)) === undefined) return 'deployment_not_found';
    }
    // Only one process writes to SQLite, by one clock.
    const insert = store.engine === 'postgres' && row.waits === waits.ready ? insertAtEnd : insertAt;
    const kept = yield* tx.get<Pick<TaskRow, 'queued_at'>>(insert.sql, ...insert.values(row));
    if (kept === undefined) return null;
    if (isListed(row)) {
      yield* entering(tx, row, now());
      listed.changed(tx, userId);
    }
    tellReady(tx, userId);
    tx.afterCommit(counts.moved);
    if (row.waits === waits.later) tx.afterCommit(() => notBefore(userId, queuedAt));
    return kept.queued_at === queuedAt ? row : { ...row, queued_at: kept.queued_at };
  }

  /** One statement that changes one task of a person, or none. */
  const change = <T extends TaskRow = TaskRow>(userId: string, sql: Sql, values: readonly Value[]) =>
    store.write((tx) => changing<T>(tx, userId, sql, values), statement);

  function whose(
    userId: string,
    id: string,
    by: Pick<Holder, 'workerId' | 'leaseId'> | null,
  ): { sql: string; values: (string | null)[] } {
    if (by === null) return { sql: `id = ? AND ${mine}`, values: [id, userId] };
    return { sql: byHolder, values: [id, userId, by.workerId, by.leaseId] };
  }

  const find = async (userId: string, id: string) =>
    (await store.get<TaskRow>(`SELECT ${tasks.columns} FROM work_task WHERE id = ? AND ${mine}`, id, userId)) ?? null;

  /** Ends, portion by portion, the tasks of `whose` that nobody may lease again; returns how many. */
  async function settle(userId: string | null): Promise<number> {
    const at = now();
    const sql = settleSql(userId === null ? overOfAll : `${mine} AND ${openFor('expire')} AND ${over}`);
    const values = userId === null ? [at] : [userId, at];
    for (let ended = 0; ; ) {
      const some = await store.write(function* (tx) {
        const given = [JSON.stringify(expiredError), at, at, ...values, portion];
        const rows = yield* tx.all<{ user_id: string }>(sql, ...given);
        for (const owner of new Set(rows.map((row) => row.user_id))) tell(tx, owner);
        return rows.length;
      }, statement);
      ended += some;
      if (some > 0) await counts.fold();
      if (some < portion) return ended;
    }
  }

  /** If no other process writes. */
  async function leaseAlone(asker: Asker): Promise<TaskRow | null> {
    const { userId, workerId, leaseId, can } = asker;
    const at = now();
    const until = at + leaseMs;
    const lease = [leaseId, workerId, until, at];
    // A clock that was set back moved the ends of leases along.
    if (at < latest) quiets.clear();
    latest = at;
    const quiet = at < quietOf(userId).until;
    if (!quiet) await settle(userId);
    const sql = can === null ? leaseSql.silent : leaseSql.telling;
    // Of held tasks with needs only the other way knows which this worker can run.
    const before = quiet || can === null ? null : await listed.take(asker);
    const row =
      before !== null && before !== 'elsewhere'
        ? before
        : await (quiet
            ? change(userId, readySql, [...lease, userId])
            : change(userId, sql, [...lease, userId, userId, at, userId, at]));
    // After the commit, so that no concurrent lookup has missed it.
    if (row !== null) notBefore(userId, until);
    if (!quiet) askSoonest(userId);
    return row;
  }

  async function leaseAmong(asker: Asker): Promise<TaskRow | null> {
    const { userId, workerId, leaseId, can } = asker;
    const at = now();
    const lease = [leaseId, workerId, at + leaseMs, at];
    const row = await change(userId, readyAmongSql, [...lease, userId, userId, at + 1, at, userId, at + 1, at]);
    if (row !== null) return row;
    const sql = can === null ? leaseSql.silent : leaseSql.telling;
    for (const pause of hiddenPauses) {
      if (pause > 0) await new Promise<void>((resolve) => void timers.after(pause, resolve));
      const there = await store.get<There>(thereSql, userId, userId, userId, userId);
      if (there === undefined) return null;
      if (there.over_at !== null && there.over_at <= at) await settle(userId);
      const timed = (there.due_at ?? at + 1) <= at || (there.end_at ?? at + 1) <= at;
      if (there.ready_id === null && !timed) return null;
      const before = can === null || !timed ? null : await listed.take(asker);
      if (before !== null && before !== 'elsewhere') return before;
      const found = await change(userId, sql, [...lease, userId, ...[1, 2, 3, 4].flatMap(() => [userId, at])]);
      if (found !== null) return found;
    }
    return null;
  }

  const leaseOutside = store.engine === 'sqlite' ? leaseAlone : leaseAmong;

  async function lease(asker: Asker): Promise<TaskRow | null> {
    const { userId, can } = asker;
    for (let tries = 1; ; tries += 1) {
      const inLine = (await listed.mayHave(userId)) ? await listed.take(asker) : null;
      const row = inLine === null || inLine === 'elsewhere' ? await leaseOutside(asker) : inLine;
      // What went before the line may have gone to somebody else.
      if (row === null && inLine === 'elsewhere' && tries < maxTries) continue;
      if (row === null) return null;
      if (isListed(row)) notBefore(userId, row.lease_until ?? 0);
      const needs = { image: row.sandbox_image, labels: {} };
      if (can === null || row.needs !== null || canRun(can, needs)) return row;
      // A version that does not know the line queued it: this worker cannot run it.
      await listed.sortIn(row, needsKey(needs) ?? '');
    }
  }

  /** Puts a task back into the queue whose worker reports a failure that the task wants retried; null: it does not. */
  async function again(holder: Holder, error: string): Promise<TaskRow | null> {
    const { userId, id, workerId, leaseId } = holder;
    const there = await find(userId, id);
    if (there === null || there.options === null || there.attempts >= there.max_attempts) return null;
    const options = readOptions(there);
    const last = JSON.parse(error) as TaskError;
    if (options.retry === undefined || !retries(options.retry, last.code)) return null;
    const failures = (options.failures ?? 0) + 1;
    const at = now();
    const due = at + backoffMs(options.retry, failures);
    const text = JSON.stringify({ ...options, failures, last_failure: last });
    const place = belongsInLine(there) ? waits.listedLater : waits.later;
    const row = await store.write(function* (tx) {
      const given = [place, due, due, text, at, id, userId, workerId, leaseId, there.fence];
      const queued = yield* tx.get<TaskRow>(againSql, ...given);
      if (queued === undefined) return null;
      if (isListed(queued)) {
        yield* entering(tx, queued, at);
        listed.changed(tx, userId);
      }
      moved(tx, userId);
      tx.afterCommit(() => notBefore(userId, due));
      return queued;
    }, perRow);
    if (row !== null) await listed.left(row);
    return row;
  }

  return {
    async create(userId, id, task) {
      const row = newTask(userId, id, now(), task, trace?.() ?? null);
      // A task's session and deployment are never removed, so looking before writing is enough.
      const more = row.session_id !== null || row.deployment_id !== null || isListed(row);
      const kept = await store.write((tx) => adding(tx, row), more ? perRow : statement);
      return kept ?? (await find(userId, id)) ?? row;
    },
    find,
    lease(userId, workerId, leaseId, can = null) {
      const asker = { userId, workerId, leaseId, can };
      return can === null && listed.hasNone(userId) ? leaseOutside(asker) : lease(asker);
    },
    giveBack({ userId, id, workerId, leaseId }) {
      const at = now();
      return store.write(function* (tx) {
        const row = yield* tx.get<TaskRow>(giveBackSql, at, id, userId, workerId, leaseId);
        if (row === undefined) return;
        if (isListed(row)) {
          yield* reentering(tx, row);
          listed.changed(tx, userId);
        }
        tellReady(tx, userId);
        tx.afterCommit(counts.moved);
        // A task with a future time is found by that time.
        tx.afterCommit(() => notBefore(userId, at));
      }, perRow);
    },
    heartbeat({ userId, id, workerId, leaseId }) {
      const at = now();
      // A report that was delayed shortens nothing.
      return change(userId, heartbeatSql, [at, at + leaseMs, at + leaseMs, id, userId, workerId, leaseId]);
    },
    async ack({ userId, id, workerId, leaseId }, result) {
      const row = await change(userId, ackSql, [result, now(), id, userId, workerId, leaseId]);
      if (row !== null) await listed.left(row);
      return row;
    },
    async stop(userId, id, { by, error }) {
      const retried = by === null || error === null ? null : await again({ userId, id, ...by }, error);
      if (retried !== null) return retried;
      const { sql, values } = whose(userId, id, by);
      // The reason of the person who asked for the stop counts, unless the worker gives its own.
      const text = `UPDATE work_task SET error = COALESCE(?, error), updated_at = ?,
        status = CASE WHEN COALESCE(?, error) IS NULL THEN '${moves.cancel.to}' ELSE '${moves.fail.to}' END
        WHERE ${sql} AND ${openFor('fail')} RETURNING ${tasks.columns}`;
      const row = await change(userId, text, [error, now(), error, ...values]);
      if (row !== null) await listed.left(row);
      return row;
    },
    askToStop(userId, id, { by, error }) {
      const { sql, values } = whose(userId, id, by);
      const text = `UPDATE work_task SET stop_requested = 1, error = ?, updated_at = ?
        WHERE ${sql} AND ${statusIn(held)} RETURNING ${tasks.columns}`;
      return change(userId, text, [error, now(), ...values]);
    },
    async retry(userId, id) {
      const at = now();
      const there = await find(userId, id);
      if (there === null) return null;
      const { failures, last_failure, ...options } = readOptions(there);
      const text = there.options === null ? null : JSON.stringify(options);
      const place = belongsInLine(there) ? waits.listed : waits.ready;
      return store.write(function* (tx) {
        const row = yield* tx.get<TaskRow>(retryTexts, place, text, at, at, id, userId);
        if (row === undefined) return null;
        if (isListed(row)) {
          yield* entering(tx, row, at);
          listed.changed(tx, userId);
        }
        tellReady(tx, userId);
        tx.afterCommit(counts.moved);
        return row;
      }, perRow);
    },
    settle,
    async lineUp() {
      const lined = await store.write(function* (tx) {
        const rows = yield* tx.all<{ user_id: string }>(
          `UPDATE work_task SET waits = 0 WHERE status = 'queued' AND waits = 1 AND id IN (SELECT id FROM work_task
            WHERE status || '' = 'queued' AND waits = 1 AND queued_at <= ? ORDER BY queued_at LIMIT ?) RETURNING user_id`,
          now(),
          portion,
        );
        for (const owner of new Set(rows.map((row) => row.user_id))) tellReady(tx, owner);
        return rows.length;
      }, statement);
      if (lined > 0) await counts.fold();
      return lined;
    },
    sweepLine: () => listed.sweep(),
    seen: (userId, workerId, draining, can = null) =>
      store.write(function* (tx) {
        const sql = `INSERT INTO work_poller (user_id, worker_id, seen_at, draining, can) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (user_id, worker_id) DO UPDATE SET seen_at = excluded.seen_at, draining = excluded.draining, can = excluded.can`;
        const said = can === null ? null : JSON.stringify(can);
        yield* tx.run(sql, userId, workerId, now(), draining ? 1 : 0, said);
      }, statement),
    forgetPollers: (before) =>
      store.write(function* (tx) {
        yield* tx.run('DELETE FROM work_poller WHERE seen_at < ?', before);
      }, statement),
    fold: () => counts.fold(),
    forgetTurns: () => listed.forgetTurns(),
  };
}
