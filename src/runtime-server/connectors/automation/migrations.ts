/**
 * Rules, the jobs that they make of events, and their attempts. Times are milliseconds since the epoch; only `store.ts` and `rule-store.ts` read and
 * write JSON columns. An event's text stays in its ticket.
 */
import type { Migration } from '../../../kit/store/store.ts';

export const automationMigrations: readonly Migration[] = [
  {
    area: 'automation',
    number: 1,
    name: 'rules and jobs',
    sql: `
CREATE TABLE automation_rule (
  id TEXT PRIMARY KEY,
  subscription_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  config TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX automation_rule_subscription ON automation_rule (subscription_id, created_at, id);

CREATE TABLE automation_job (
  id TEXT PRIMARY KEY,
  subscription_id TEXT NOT NULL,
  event_name TEXT NOT NULL,
  rule_id TEXT NOT NULL,
  rule_version INTEGER NOT NULL,
  bot_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('batching', 'awaiting_approval', 'queued', 'running', 'stopping', 'completed', 'failed',
    'interrupted', 'denied', 'cancelled')),
  version INTEGER NOT NULL,
  reason TEXT,
  config TEXT NOT NULL,
  approved INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0,
  batch_until INTEGER,
  stop_by INTEGER,
  session_id TEXT,
  output TEXT,
  error TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX automation_job_subscription ON automation_job (subscription_id, id);
CREATE INDEX automation_job_open ON automation_job (status, rule_id, id)
  WHERE status IN ('batching', 'awaiting_approval', 'queued', 'running', 'stopping');

CREATE TABLE automation_input (
  job_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  ticket_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX automation_input_event ON automation_input (event_id);

CREATE TABLE automation_attempt (
  job_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  run_id TEXT NOT NULL UNIQUE,
  rule_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled', 'interrupted')),
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  usage TEXT,
  error TEXT,
  PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX automation_attempt_rule ON automation_attempt (rule_id, started_at);

CREATE TABLE automation_move (
  job_id TEXT NOT NULL,
  idx INTEGER NOT NULL,
  at INTEGER NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  actor TEXT NOT NULL,
  PRIMARY KEY (job_id, idx)
) STRICT, WITHOUT ROWID;
`,
  },
];
