/** Tables of new runs: what was asked, and the bots that were started for it. Times are milliseconds since the epoch. */
import type { Migration } from '../../kit/store/store.ts';

export const quickRunMigrations: readonly Migration[] = [
  {
    area: 'quick-runs',
    number: 1,
    name: 'quick runs',
    sql: `
CREATE TABLE quick_run (
  workspace TEXT NOT NULL,
  team TEXT NOT NULL,
  dag_id TEXT UNIQUE,
  title TEXT NOT NULL,
  prompt TEXT NOT NULL,
  repository TEXT NOT NULL,
  base_branch TEXT,
  base_commit TEXT NOT NULL,
  setup TEXT,
  saved_as TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, team)
) STRICT, WITHOUT ROWID;

CREATE TABLE quick_bot (
  workspace TEXT NOT NULL,
  team TEXT NOT NULL,
  seq INTEGER NOT NULL,
  slug TEXT NOT NULL,
  harness TEXT,
  model TEXT,
  outcome TEXT CHECK (outcome IN ('merged', 'kept', 'discarded')),
  outcome_at INTEGER,
  branch TEXT,
  kept_as TEXT,
  files INTEGER,
  added INTEGER,
  removed INTEGER,
  PRIMARY KEY (workspace, team, slug)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'quick-runs',
    number: 2,
    name: 'commits of a diff',
    sql: `
ALTER TABLE quick_bot ADD COLUMN diff_base TEXT;
ALTER TABLE quick_bot ADD COLUMN diff_head TEXT;
`,
  },
  {
    area: 'quick-runs',
    number: 3,
    name: 'sandboxes of bots',
    sql: `
ALTER TABLE quick_bot ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'none' CHECK (sandbox IN ('none', 'files', 'closed'));
`,
  },
];
