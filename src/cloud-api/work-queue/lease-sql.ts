/**
 * The statements that lease a task which names no image, labels or key, or whose lease has ended: three places where the oldest may be, each found along
 * an index of its own. The two engines have different SQL only here. Must not know who asks.
 */
import type { Sql } from '../../kit/store/shared-store.ts';
import { held, moves, statusIn } from './model.ts';
import { tasks } from './rows.ts';

const line = 'rank, queued_at, seq, id';
const candidate = (where: string) =>
  `SELECT id, rank, queued_at, seq FROM work_task WHERE ${where} ORDER BY ${line} LIMIT 1`;
export const mine = 'user_id = ?';
const ready = candidate(`${mine} AND status = 'queued' AND waits = 0`);
/**
 * Finds ended leases by their end and due tasks by their time, each up to this many; the oldest among them goes first. No single index can answer
 * both who may go and who is first.
 */
const timedBatch = 1_000;
const isDue = `${mine} AND status = 'queued' AND waits = 1 AND queued_at <= ?`;
const dueIds = `SELECT id FROM work_task WHERE ${isDue} ORDER BY queued_at LIMIT ${timedBatch}`;
const due = candidate(`id IN (${dueIds})`);
/** Checked again on the locked row, since somebody may have taken or renewed it in between; this condition uses no index. */
const locked = (ids: string, still: string) =>
  candidate(`id = ANY (ARRAY(${ids})) AND CASE WHEN ${still} THEN TRUE ELSE FALSE END`);
const dueLocked = locked(dueIds, isDue);
export const isLapsed = `${mine} AND ${statusIn(held)} AND lease_until <= ? AND attempts < max_attempts AND stop_requested = 0`;
const lapsedIds = (which: string) => `SELECT id FROM work_task WHERE ${which} ORDER BY lease_until LIMIT ${timedBatch}`;
export const taken = `UPDATE work_task SET status = '${moves.lease.to}', attempts = attempts + 1, fence = fence + 1, lease_id = ?,
  lease_worker_id = ?, lease_until = ?, updated_at = ?`;
const oldest = `ORDER BY ${line} LIMIT 1`;
/** `which`: the held tasks that the caller may take over. */
const leaseTexts = (which: string): Sql => ({
  sqlite: `${taken} WHERE id = (SELECT id FROM (SELECT * FROM (${ready}) UNION ALL SELECT * FROM (${due})
    UNION ALL SELECT * FROM (${candidate(`id IN (${lapsedIds(which)})`)})) ${oldest}) RETURNING ${tasks.columns}`,
  // Locks each row where it is found, and skips rows that another has locked.
  postgres: `${taken} WHERE id = (WITH ready AS (${ready} FOR UPDATE SKIP LOCKED), due AS (${dueLocked} FOR UPDATE SKIP LOCKED),
    lapsed AS (${locked(lapsedIds(which), which)} FOR UPDATE SKIP LOCKED)
    SELECT id FROM (TABLE ready UNION ALL TABLE due UNION ALL TABLE lapsed) AS found ${oldest}) RETURNING ${tasks.columns}`,
});
const isLapsedOfAll = `${isLapsed} AND needs IS NULL`;
/** For callers that say nothing about themselves, and for those that do, who get tasks with needs in another way. */
export const leaseSql = { silent: leaseTexts(isLapsed), telling: leaseTexts(isLapsedOfAll) };
/** The first that {@link leaseSql} would find: how it stands to others in the line. */
const headText = (
  which: string,
) => `SELECT id, rank, queued_at, seq FROM (SELECT * FROM (${ready}) AS ready UNION ALL SELECT * FROM (${due}) AS due
  UNION ALL SELECT * FROM (${candidate(`id IN (${lapsedIds(which)})`)}) AS lapsed) AS found ${oldest}`;
export const headSql = { silent: headText(isLapsed), telling: headText(isLapsedOfAll) };
/** Held tasks with needs whose lease has ended. */
export const lapsedWithNeedsSql = `SELECT id, rank, queued_at, seq, needs, sandbox_image, options FROM work_task
  WHERE ${isLapsed} AND needs IS NOT NULL ORDER BY lease_until LIMIT ${timedBatch}`;

/** The same while only ready tasks can be leased. */
export const readySql = `${taken} WHERE id = (${ready.replace('id, rank, queued_at, seq', 'id')}) RETURNING ${tasks.columns}`;
/**
 * What could be leased now, including rows that another operation holds for a moment, and when the first lease ends that nobody may take over. Each
 * is read as the first of its index: EXISTS would scan the whole table if the planner expects many matches.
 */
const firstOf = (of: string, where: string) => `(SELECT min(${of}) FROM work_task WHERE ${mine} AND ${where})`;
const firstDue = firstOf('queued_at', `status = 'queued' AND waits = 1`);
const firstEnd = firstOf('lease_until', statusIn(held));
const firstOver = firstOf('lease_until', `${statusIn(held)} AND (stop_requested = 1 OR attempts >= max_attempts)`);
export const thereSql = `SELECT (${ready.replace('id, rank, queued_at, seq', 'id')}) AS ready_id, ${firstDue} AS due_at, ${firstEnd} AS end_at,
  ${firstOver} AS over_at`;
/** The same beside other processes, only if nothing else can be leased: otherwise it takes nothing, and all three are compared. */
export const readyAmongSql = `${taken} WHERE id = (${ready.replace('id, rank, queued_at, seq', 'id')} FOR UPDATE SKIP LOCKED)
  AND COALESCE(${firstDue}, ?) > ? AND COALESCE(${firstEnd}, ?) > ? RETURNING ${tasks.columns}`;
export const soonestSql = `SELECT min(at) AS at FROM (SELECT min(lease_until) AS at FROM work_task WHERE ${mine} AND ${statusIn(held)}
  UNION ALL SELECT min(queued_at) FROM work_task WHERE ${mine} AND status = 'queued' AND waits = 1) AS ends`;
