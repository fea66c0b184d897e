/**
 * Usage, one line each, and the budget of a person. Money in millionths of a dollar, so that fractions of a cent add up. `usage_month` is the sum of
 * a month's lines, updated with each of them: counting a month's thousandth text costs as much as counting its first.
 */
import type { Migration } from '../../kit/store/store.ts';

export const usageMigrations: readonly Migration[] = [
  {
    area: 'usage',
    number: 1,
    name: 'usage and budgets',
    sql: `
      CREATE TABLE usage_line (
        user_id TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        computer_id TEXT,
        bot_id TEXT,
        run_id TEXT,
        at INTEGER NOT NULL,
        month TEXT NOT NULL,
        micro_usd INTEGER NOT NULL,
        PRIMARY KEY (user_id, id)
      ) STRICT;
      CREATE INDEX usage_of_month ON usage_line (user_id, month);
      CREATE TABLE usage_budget (
        user_id TEXT PRIMARY KEY,
        budget_cents INTEGER,
        alert_percent INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    area: 'usage',
    number: 2,
    name: 'how much of it',
    sql: 'ALTER TABLE usage_line ADD COLUMN thousandths INTEGER NOT NULL DEFAULT 1000',
  },
  {
    area: 'usage',
    number: 3,
    name: 'the sum of a month',
    sql: `
      CREATE TABLE usage_month (
        user_id TEXT NOT NULL,
        month TEXT NOT NULL,
        micro_usd INTEGER NOT NULL,
        PRIMARY KEY (user_id, month)
      ) STRICT;
      INSERT INTO usage_month (user_id, month, micro_usd)
        SELECT user_id, month, SUM(micro_usd) FROM usage_line GROUP BY user_id, month;
    `,
  },
];
