/** Usage in the database. Must not know budgets' events or HTTP. */
import type { Budget, UsageLine } from '../../contracts/usage/routes.ts';
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';

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
  /** Quantity: 1000 is one request, action or minute. */
  readonly thousandths: number;
  readonly microUsd: number;
}

const defaultBudget: Budget = { budgetCents: null, alertPercent: 80 };
const microPerCent = 10_000;
const thousandthsOfOne = 1000;

/** False: it was counted before. */
export function* addLine(tx: SharedTx, line: NewLine): Op<boolean> {
  const sql = `INSERT INTO usage_line (user_id, id, kind, name, computer_id, bot_id, run_id, at, month, thousandths, micro_usd)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, id) DO NOTHING`;
  const { userId, id, kind, name, computerId, botId, runId, at, month, thousandths, microUsd } = line;
  const values = [userId, id, kind, name, computerId, botId, runId, at, month, thousandths, microUsd];
  if ((yield* tx.run(sql, ...values)).changes === 0) return false;
  const sum = `INSERT INTO usage_month (user_id, month, micro_usd) VALUES (?, ?, ?)
    ON CONFLICT (user_id, month) DO UPDATE SET micro_usd = usage_month.micro_usd + excluded.micro_usd`;
  yield* tx.run(sum, userId, month, microUsd);
  return true;
}

export function* spentCents(tx: SharedReader, userId: string, month: string): Op<number> {
  const sql = 'SELECT micro_usd AS micro FROM usage_month WHERE user_id = ? AND month = ?';
  return ((yield* tx.get<{ micro: number }>(sql, userId, month))?.micro ?? 0) / microPerCent;
}

/** Summed by purpose, the most expensive first. */
export function* sumLines(tx: SharedReader, userId: string, month: string): Op<UsageLine[]> {
  const sql = `SELECT kind, name, bot_id AS "botId", computer_id AS "computerId", SUM(micro_usd) AS micro,
      SUM(thousandths) AS thousandths, COUNT(*) AS count
    FROM usage_line WHERE user_id = ? AND month = ? GROUP BY kind, name, bot_id, computer_id
    ORDER BY SUM(micro_usd) DESC, name, COALESCE(bot_id, ''), COALESCE(computer_id, '')`;
  type Sum = Omit<UsageLine, 'cents' | 'quantity'> & { micro: number; thousandths: number };
  const rows = yield* tx.all<Sum>(sql, userId, month);
  return rows.map(({ micro, thousandths, ...line }) => ({
    ...line,
    cents: micro / microPerCent,
    quantity: thousandths / thousandthsOfOne,
  }));
}

export function* readBudget(tx: SharedReader, userId: string): Op<Budget> {
  const sql =
    'SELECT budget_cents AS "budgetCents", alert_percent AS "alertPercent" FROM usage_budget WHERE user_id = ?';
  return (yield* tx.get<Budget>(sql, userId)) ?? defaultBudget;
}

export function* writeBudget(tx: SharedTx, userId: string, { budgetCents, alertPercent }: Budget): Op<void> {
  const sql = `INSERT INTO usage_budget (user_id, budget_cents, alert_percent) VALUES (?, ?, ?)
    ON CONFLICT (user_id) DO UPDATE SET budget_cents = excluded.budget_cents, alert_percent = excluded.alert_percent`;
  yield* tx.run(sql, userId, budgetCents, alertPercent);
}
