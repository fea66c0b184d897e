/** Tables of accounts: which there are, and the usage limits that bots met with them; up only. Times in ms since the epoch. */
import type { Migration } from '../../../kit/store/store.ts';

export const accountMigrations: readonly Migration[] = [
  {
    area: 'accounts',
    number: 1,
    name: 'accounts and their limits',
    sql: `
CREATE TABLE account (
  program TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (program, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE account_limit (
  program TEXT NOT NULL,
  name TEXT NOT NULL,
  reason TEXT NOT NULL,
  until INTEGER,
  since INTEGER NOT NULL,
  PRIMARY KEY (program, name)
) STRICT, WITHOUT ROWID;
`,
  },
];
