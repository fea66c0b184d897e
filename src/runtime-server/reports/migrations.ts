/** The table of reports that were taken, up only. Times are milliseconds since the epoch. */
import type { Migration } from '../../kit/store/store.ts';

export const reportMigrations: readonly Migration[] = [
  {
    area: 'reports',
    number: 1,
    name: 'reports of bots',
    sql: `
CREATE TABLE bot_report (
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL,
  op TEXT NOT NULL,
  dag_id TEXT,
  node_id TEXT,
  at INTEGER NOT NULL,
  taken_at INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('applied', 'refused', 'stale')),
  why TEXT,
  told_at INTEGER,
  PRIMARY KEY (agent_id, id)
) STRICT;
CREATE INDEX bot_report_taken ON bot_report (taken_at);
CREATE INDEX bot_report_untold ON bot_report (taken_at) WHERE told_at IS NULL;
`,
  },
];
