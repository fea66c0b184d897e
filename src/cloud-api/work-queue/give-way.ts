/**
 * A queued task that holds a place of its concurrency key or rate, but that no connected worker can run, gives it to one that waits there and that the
 * worker who asks can run: otherwise it would keep all others of its key waiting. It waits at the gate again, by its age. Parts of operations; must not
 * know how a task is leased.
 */
import type { Op, SharedTx } from '../../kit/store/shared-store.ts';
import { gatesAfter, lettingThrough, lockedGate, passing } from './line.ts';
import { pollingMs, waits } from './model.ts';
import { type Can, canRun, type Needs } from './needs.ts';
import { readOptions, type TaskRow } from './rows.ts';

export interface PollerRow {
  readonly can: string | null;
  readonly draining: number;
}
export const pollersSql =
  'SELECT can, draining FROM work_poller WHERE user_id = ? AND seen_at >= ? ORDER BY seen_at DESC LIMIT 1000';
/** What the connected workers say they have; null: one that says nothing. */
export function pollersOf(rows: readonly PollerRow[]): (Can | null)[] {
  return rows.flatMap(({ can, draining }) => (draining === 1 ? [] : [can === null ? null : (JSON.parse(can) as Can)]));
}

/** Gates that one look visits, in the order of their names. */
export const maxGates = 500;
/** So many of those that wait at a gate are considered, oldest first, and so many that hold a place there. */
const maxTasks = 100;

/** Gates at which somebody waits, each found after the previous one; `held`: a queued task with needs has a place there. */
export const waitedGatesSql = `WITH RECURSIVE gates(gate, n) AS (
  SELECT (SELECT min(parked) FROM work_line WHERE user_id = ? AND parked <> '' AND parked > ?), 1
  UNION ALL SELECT (SELECT min(parked) FROM work_line WHERE user_id = ? AND parked <> '' AND parked > gates.gate), n + 1
  FROM gates WHERE gate IS NOT NULL AND n < ${maxGates})
  SELECT gate, EXISTS (SELECT 1 FROM work_slot JOIN work_line AS one ON one.id = work_slot.id
    WHERE work_slot.user_id = ? AND work_slot.gate = gates.gate AND one.needs <> '') AS held FROM gates WHERE gate IS NOT NULL`;

type Candidate = Pick<TaskRow, 'id' | 'rank' | 'status' | 'options' | 'sandbox_image'>;
const candidate = 'work_task.id, work_task.rank, work_task.status, work_task.options, work_task.sandbox_image';
const holdersSql = `SELECT ${candidate} FROM work_slot JOIN work_line AS one ON one.id = work_slot.id
  JOIN work_task ON work_task.id = work_slot.id WHERE work_slot.user_id = ? AND work_slot.gate = ? AND one.needs <> ''
  AND work_task.status = 'queued' AND work_task.waits = ${waits.listed} LIMIT ${maxTasks}`;
const waitingSql = `SELECT ${candidate} FROM (SELECT id, rank, queued_at, seq FROM work_line WHERE user_id = ? AND parked = ? AND parked <> ''
  ORDER BY rank, queued_at, seq, id LIMIT ${maxTasks}) AS one JOIN work_task ON work_task.id = one.id
  ORDER BY one.rank, one.queued_at, one.seq, one.id`;
const countSql = 'SELECT count(*) AS n FROM work_slot WHERE user_id = ? AND gate = ?';
const inLineSql = 'SELECT id FROM work_line WHERE id = ?';
const lockSql = { sqlite: inLineSql, postgres: `${inLineSql} FOR UPDATE SKIP LOCKED` };

const needsOf = (row: Candidate): Needs => ({ image: row.sandbox_image, labels: readOptions(row).labels ?? {} });

/** `can`: of the worker that asks. True: a task may be leased now that could not be before. */
export function* givingWay(tx: SharedTx, userId: string, gate: string, can: Can, at: number): Op<boolean> {
  if ((yield* lockedGate(tx, userId, gate)) === null) return false;
  const workers = pollersOf(yield* tx.all<PollerRow>(pollersSql, userId, at - pollingMs));
  const isRun = (row: Candidate) => [can, ...workers].some((worker) => worker === null || canRun(worker, needsOf(row)));
  const holder = (yield* tx.all<Candidate>(holdersSql, userId, gate)).find((row) => !isRun(row));
  if (holder === undefined) return false;
  const others = ((yield* tx.get<{ n: number }>(countSql, userId, gate))?.n ?? 1) - 1;
  const waiting = yield* tx.all<Candidate>(waitingSql, userId, gate);
  const next = waiting.find(
    (row) => row.status === 'queued' && canRun(can, needsOf(row)) && others < (readOptions(row).concurrency_limit ?? 1),
  );
  if (next === undefined) return false;
  // In the order in which all lock them; then the row that a lease locks.
  const further = gatesAfter(gate, readOptions(holder));
  for (const one of further) if ((yield* lockedGate(tx, userId, one)) === null) return false;
  if ((yield* tx.get(lockSql, holder.id)) === undefined) return false;
  for (const one of [gate, ...further])
    yield* tx.run('DELETE FROM work_slot WHERE id = ? AND gate = ?', holder.id, one);
  yield* tx.run('UPDATE work_line SET parked = ?, fair = 0, round = 0 WHERE id = ?', gate, holder.id);
  let ready = yield* lettingThrough(tx, { ...next, user_id: userId }, gate, at);
  for (const one of further) if (yield* passing(tx, userId, one, at)) ready = true;
  return ready;
}
