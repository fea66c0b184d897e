/** Usage in the database. Must not know budgets' events or HTTP. */
import type { Budget, UsageLine } from '../../contracts/usage/routes.ts';
import type { Tx } from '../../kit/store/store.ts';

export interface NewLine {
  readonly userId: string;
  readonly id: string;
  readonly kind: UsageLine['kind'];
  readonly name: string;
  readonly computerId: string | null;
  readonly botId: string | null;
  readonly runId: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly month: string;
  readonly microUsd: number;
}

type Reader = Pick<Tx, 'get' | 'all'>;
export const usualBudget: Budget = { budgetCents: null, alertPercent: 80 };
const microPerCent = 10_000;

/** False: it was known. */
export function addLine(tx: Tx, line: NewLine): boolean {
  const sql = `INSERT INTO usage_line (user_id, id, kind, name, computer_id, bot_id, run_id, at, month, micro_usd)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, id) DO NOTHING`;
  const { userId, id, kind, name, computerId, botId, runId, at, month, microUsd } = line;
  return tx.run(sql, userId, id, kind, name, computerId, botId, runId, at, month, microUsd).changes === 1;
}

export function spentCents(tx: Pick<Tx, 'get'>, userId: string, month: string): number {
  const sql = 'SELECT COALESCE(SUM(micro_usd), 0) AS micro FROM usage_line WHERE user_id = ? AND month = ?';
  return (tx.get<{ micro: number }>(sql, userId, month)?.micro ?? 0) / microPerCent;
}

/** Summed by what it was for, the dearest first. */
export function sumLines(tx: Reader, userId: string, month: string): UsageLine[] {
  const sql = `SELECT kind, name, bot_id AS botId, computer_id AS computerId, SUM(micro_usd) AS micro, COUNT(*) AS count
    FROM usage_line WHERE user_id = ? AND month = ? GROUP BY kind, name, bot_id, computer_id
    ORDER BY micro DESC, name, bot_id, computer_id`;
  return tx
    .all<Omit<UsageLine, 'cents'> & { micro: number }>(sql, userId, month)
    .map(({ micro, ...line }) => ({ ...line, cents: micro / microPerCent }));
}

export function readBudget(tx: Pick<Tx, 'get'>, userId: string): Budget {
  const sql = 'SELECT budget_cents AS budgetCents, alert_percent AS alertPercent FROM usage_budget WHERE user_id = ?';
  return tx.get<Budget>(sql, userId) ?? usualBudget;
}

export function writeBudget(tx: Tx, userId: string, { budgetCents, alertPercent }: Budget): void {
  const sql = `INSERT INTO usage_budget (user_id, budget_cents, alert_percent) VALUES (?, ?, ?)
    ON CONFLICT (user_id) DO UPDATE SET budget_cents = excluded.budget_cents, alert_percent = excluded.alert_percent`;
  tx.run(sql, userId, budgetCents, alertPercent);
}
