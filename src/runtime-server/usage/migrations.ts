/** Tables of usage: how far transcripts were read, daily limits, holds; up only. Times in ms since the epoch, money in millionths of a dollar. */
import type { Migration } from '../../kit/store/store.ts';

export const meteringMigrations: readonly Migration[] = [
  {
    area: 'metering',
    number: 1,
    name: 'cursors, limits, holds',
    sql: `
CREATE TABLE factory_usage_cursor (
  agent_id TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  cursor TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_spend_limit (
  workspace TEXT NOT NULL,
  subject TEXT NOT NULL,
  daily INTEGER NOT NULL,
  told_day TEXT,
  PRIMARY KEY (workspace, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_spend_grant (
  agent_id TEXT PRIMARY KEY,
  day TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_limit_hold (
  agent_id TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  until INTEGER,
  retry_at INTEGER,
  since INTEGER NOT NULL,
  cut INTEGER NOT NULL CHECK (cut IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_usage_setting (
  workspace TEXT PRIMARY KEY,
  wait_out INTEGER NOT NULL CHECK (wait_out IN (0, 1))
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'metering',
    number: 2,
    name: 'account of a limit',
    sql: `
ALTER TABLE factory_limit_hold ADD COLUMN account TEXT;
`,
  },
];
