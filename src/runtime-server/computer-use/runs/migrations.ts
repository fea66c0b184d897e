/**
 * Tables of runs in `runtime.db`. Times are milliseconds since the epoch. The actions of `direct` are not kept: they may contain private text, and
 * nothing is replayed.
 */
import type { Migration } from '../../../kit/store/store.ts';

export const runMigrations: readonly Migration[] = [
  {
    area: 'computer-use-runs',
    number: 1,
    name: 'runs, their sessions, events and artifacts',
    sql: `
CREATE TABLE computer_use_session (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  target_scope TEXT NOT NULL,
  of_run INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  closed_at INTEGER
) STRICT;
CREATE INDEX computer_use_session_user ON computer_use_session (user_id, seq);

CREATE TABLE computer_use_run (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  status TEXT NOT NULL,
  task TEXT,
  target_scope TEXT NOT NULL,
  steps INTEGER NOT NULL,
  max_steps INTEGER NOT NULL,
  actions INTEGER NOT NULL,
  next_event INTEGER NOT NULL,
  result TEXT,
  error TEXT,
  approval TEXT,
  pause TEXT,
  model TEXT,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  micro_usd INTEGER,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER
) STRICT;
CREATE INDEX computer_use_run_user ON computer_use_run (user_id, seq);
CREATE INDEX computer_use_run_status ON computer_use_run (status, seq);
CREATE INDEX computer_use_run_finished ON computer_use_run (finished_at);
CREATE INDEX computer_use_run_session ON computer_use_run (session_id, seq);

CREATE TABLE computer_use_event (
  run_id TEXT NOT NULL,
  idx INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  message TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (run_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE computer_use_artifact (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  step INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX computer_use_artifact_run ON computer_use_artifact (run_id, seq);
CREATE INDEX computer_use_artifact_blob ON computer_use_artifact (sha256);
`,
  },
];
