/** SQL of the reports that were taken or refused. Must not know spools. */
import type { Report } from '../../contracts/factory/report-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Tx, Value } from '../../kit/store/store.ts';
import type { SpooledReport } from './spool.ts';

interface Wanted {
  readonly agentId: string | null;
  readonly outcome: Report['outcome'] | null;
  /** Only those behind this one. */
  readonly before: { readonly takenAt: number; readonly id: string } | null;
  readonly limit: number;
}

/** A bot's program may have any clock. */
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/** Newest first. */
export function readReports(tx: Pick<Tx, 'all'>, { agentId, outcome, before, limit }: Wanted): Report[] {
  const filters: [sql: string, values: Value[]][] = [
    ...(agentId === null ? [] : [['agent_id = ?', [agentId]] as [string, Value[]]]),
    ...(outcome === null ? [] : [['outcome = ?', [outcome]] as [string, Value[]]]),
    ...(before === null ? [] : [['(taken_at, id) < (?, ?)', [before.takenAt, before.id]] as [string, Value[]]]),
  ];
  const where = filters.length === 0 ? '' : `WHERE ${filters.map(([sql]) => sql).join(' AND ')}`;
  const rows = tx.all<Omit<Report, 'at' | 'takenAt'> & { at: number; takenAt: number }>(
    `SELECT id, agent_id AS agentId, op, dag_id AS dagId, node_id AS nodeId, at, taken_at AS takenAt, outcome, why
     FROM bot_report ${where} ORDER BY taken_at DESC, id DESC LIMIT ?`,
    ...filters.flatMap(([, values]) => values),
    limit,
  );
  return rows.map((row) => ({ ...row, at: iso(Math.min(Math.max(0, row.at), latest)), takenAt: iso(row.takenAt) }));
}

export interface ReportRow {
  id: string;
  agent_id: string;
  op: string;
  dag_id: string | null;
  node_id: string | null;
  outcome: 'applied' | 'refused' | 'stale';
  why: string | null;
}

export const findReport = (tx: Pick<Tx, 'get'>, agentId: string, id: string) =>
  tx.get<ReportRow>('SELECT * FROM bot_report WHERE agent_id = ? AND id = ?', agentId, id);

export function insertReport(
  tx: Tx,
  agentId: string,
  report: SpooledReport,
  now: number,
  outcome: ReportRow['outcome'],
  why: string | null,
): void {
  const { dagId = null, nodeId = null } = stepOf(report);
  tx.run(
    `INSERT INTO bot_report (id, agent_id, op, dag_id, node_id, at, taken_at, outcome, why, told_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    report.id,
    agentId,
    report.op,
    dagId,
    nodeId,
    Math.round(report.at),
    now,
    outcome,
    why,
    // What changes nothing concerns nobody: it is evidence.
    outcome === 'refused' ? null : now,
  );
}

/** Its bot knows that it was refused. */
export function markTold(tx: Tx, agentId: string, id: string, now: number): void {
  tx.run('UPDATE bot_report SET told_at = ? WHERE agent_id = ? AND id = ? AND told_at IS NULL', now, agentId, id);
}

/** The step that a report names. */
export function stepOf({ params }: SpooledReport): { dagId?: string; nodeId?: string } {
  const { dagId, nodeId } = params ?? {};
  return typeof dagId === 'string' && typeof nodeId === 'string' ? { dagId, nodeId } : {};
}
