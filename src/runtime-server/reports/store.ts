/** Reads the reports that were taken. Must not know spools. */
import type { Report } from '../../contracts/factory/report-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Tx, Value } from '../../kit/store/store.ts';

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
