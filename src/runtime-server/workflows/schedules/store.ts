/** SQL of schedules and their times. Each call is one step of an operation and decides nothing. */
import type { Occurrence, ScheduledRun } from '../../../contracts/factory/schedules-routes.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { When } from './times.ts';

type Read = Pick<Tx, 'get' | 'all'>;

export interface ScheduleRecord extends When {
  readonly id: string;
  readonly title: string;
  readonly run: ScheduledRun;
  readonly paused: boolean;
  readonly runMissed: boolean;
  readonly nextDue: number | null;
  readonly createdAt: number;
}

export interface OccurrenceRecord {
  readonly due: number;
  readonly state: Occurrence['state'];
  readonly dagId: string | null;
  readonly reason: string | null;
  readonly at: number;
}

interface Row {
  id: string;
  title: string;
  run: string;
  cron: string | null;
  once_at: number | null;
  timezone: string;
  paused: number;
  run_missed: number;
  next_due: number | null;
  created_at: number;
}

const toRecord = (row: Row): ScheduleRecord => ({
  id: row.id,
  title: row.title,
  run: JSON.parse(row.run) as ScheduledRun,
  cron: row.cron,
  at: row.once_at,
  timezone: row.timezone,
  paused: row.paused === 1,
  runMissed: row.run_missed === 1,
  nextDue: row.next_due,
  createdAt: row.created_at,
});

export function readSchedules(tx: Read, workspace: string): ScheduleRecord[] {
  const rows = tx.all<Row>(
    'SELECT * FROM factory_schedule WHERE workspace = ? ORDER BY next_due IS NULL, next_due, id',
    workspace,
  );
  return rows.map(toRecord);
}

export function readSchedule(tx: Read, workspace: string, id: string): ScheduleRecord | null {
  const row = tx.get<Row>('SELECT * FROM factory_schedule WHERE workspace = ? AND id = ?', workspace, id);
  return row === undefined ? null : toRecord(row);
}

export function saveSchedule(tx: Tx, workspace: string, one: ScheduleRecord): void {
  tx.run(
    `INSERT OR REPLACE INTO factory_schedule
       (id, workspace, title, run, cron, once_at, timezone, paused, run_missed, next_due, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    one.id,
    workspace,
    one.title,
    JSON.stringify(one.run),
    one.cron,
    one.at,
    one.timezone,
    one.paused ? 1 : 0,
    one.runMissed ? 1 : 0,
    one.nextDue,
    one.createdAt,
  );
}

export function removeSchedule(tx: Tx, id: string): void {
  tx.run('DELETE FROM factory_occurrence WHERE schedule_id = ?', id);
  tx.run('DELETE FROM factory_schedule WHERE id = ?', id);
}

/** Moves on from a time. False where another has done so. */
export function moveOn(tx: Tx, id: string, from: number, to: number | null): boolean {
  return tx.run('UPDATE factory_schedule SET next_due = ? WHERE id = ? AND next_due = ?', to, id, from).changes > 0;
}

/** False where this time has been decided before. */
export function addOccurrence(tx: Tx, scheduleId: string, one: OccurrenceRecord): boolean {
  const { changes } = tx.run(
    'INSERT OR IGNORE INTO factory_occurrence (schedule_id, due, state, dag_id, reason, at) VALUES (?, ?, ?, ?, ?, ?)',
    scheduleId,
    one.due,
    one.state,
    one.dagId,
    one.reason,
    one.at,
  );
  return changes > 0;
}

/** A time that brought no run brings one after all. False where it did before. */
export function makeUp(tx: Tx, scheduleId: string, due: number, dagId: string, at: number): boolean {
  const { changes } = tx.run(
    `UPDATE factory_occurrence SET state = 'started', dag_id = ?, at = ? WHERE schedule_id = ? AND due = ? AND state <> 'started'`,
    dagId,
    at,
    scheduleId,
    due,
  );
  return changes > 0;
}

interface OccurrenceRow {
  due: number;
  state: OccurrenceRecord['state'];
  dag_id: string | null;
  reason: string | null;
  at: number;
}
const toOccurrence = ({ dag_id: dagId, ...row }: OccurrenceRow): OccurrenceRecord => ({ ...row, dagId });
const columns = 'due, state, dag_id, reason, at';

export function readOccurrence(tx: Read, scheduleId: string, due: number): OccurrenceRecord | null {
  const row = tx.get<OccurrenceRow>(
    `SELECT ${columns} FROM factory_occurrence WHERE schedule_id = ? AND due = ?`,
    scheduleId,
    due,
  );
  return row === undefined ? null : toOccurrence(row);
}

export function occurrencesOf(tx: Read, scheduleId: string, before: number, limit: number): OccurrenceRecord[] {
  return tx
    .all<OccurrenceRow>(
      `SELECT ${columns} FROM factory_occurrence WHERE schedule_id = ? AND due < ? ORDER BY due DESC LIMIT ?`,
      scheduleId,
      before,
      limit,
    )
    .map(toOccurrence);
}

export function countMissed(tx: Read, scheduleId: string): number {
  const row = tx.get<{ n: number }>(
    `SELECT count(*) AS n FROM factory_occurrence WHERE schedule_id = ? AND state = 'missed'`,
    scheduleId,
  );
  return row?.n ?? 0;
}

/** A run of it that has not ended; null: none. */
export function openRunOf(tx: Read, scheduleId: string): string | null {
  const row = tx.get<{ dagId: string }>(
    `SELECT o.dag_id AS dagId FROM factory_occurrence o JOIN factory_run r ON r.dag_id = o.dag_id
     WHERE o.schedule_id = ? AND r.status IN ('running', 'needs_you') ORDER BY o.due DESC LIMIT 1`,
    scheduleId,
  );
  return row?.dagId ?? null;
}

/** Deletes old times, except the one whose run has not ended: it prevents a second run. */
export function forgetOccurrences(tx: Tx, scheduleId: string, keep: number): void {
  tx.run(
    `DELETE FROM factory_occurrence WHERE schedule_id = ? AND due <
       (SELECT due FROM factory_occurrence WHERE schedule_id = ? ORDER BY due DESC LIMIT 1 OFFSET ?)
     AND NOT EXISTS (SELECT 1 FROM factory_run r
       WHERE r.dag_id = factory_occurrence.dag_id AND r.status IN ('running', 'needs_you'))`,
    scheduleId,
    scheduleId,
    keep - 1,
  );
}
