/** Tables of schedules and the result of each of their times, up only. Times are milliseconds since the epoch. */
import type { Migration } from '../../../kit/store/store.ts';

export const scheduleMigrations: readonly Migration[] = [
  {
    area: 'schedules',
    number: 1,
    name: 'schedules',
    sql: `
CREATE TABLE factory_schedule (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  title TEXT NOT NULL,
  run TEXT NOT NULL,
  cron TEXT,
  once_at INTEGER,
  timezone TEXT NOT NULL,
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  run_missed INTEGER NOT NULL CHECK (run_missed IN (0, 1)),
  next_due INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX factory_schedule_due ON factory_schedule (workspace, next_due);

CREATE TABLE factory_occurrence (
  schedule_id TEXT NOT NULL,
  due INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('started', 'missed', 'skipped', 'failed')),
  dag_id TEXT,
  reason TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, due)
) STRICT, WITHOUT ROWID;
`,
  },
];
