/**
 * Tables of the work queue. What is leased next is found by partial indexes alone (store.md 3.5): their cost does not grow with what
 * waits or has ended, and nothing but them holds the order, so that no planner walks another one.
 */
import type { Migration } from '../../kit/store/store.ts';

const tables = `
CREATE TABLE work_session (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  title TEXT,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX work_session_list ON work_session (user_id, created_at, id);
CREATE TABLE work_deployment (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX work_deployment_list ON work_deployment (user_id, created_at, id);
CREATE TABLE work_task (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  status TEXT NOT NULL,
  session_id TEXT,
  deployment_id TEXT,
  rank INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  waits INTEGER NOT NULL,
  not_before INTEGER,
  attempts INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  stop_requested INTEGER NOT NULL,
  lease_id TEXT,
  lease_worker_id TEXT,
  lease_until INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  payload TEXT NOT NULL,
  env TEXT NOT NULL,
  sandbox_image TEXT,
  result TEXT,
  error TEXT
)`;

const indexes = `
CREATE INDEX work_task_ready ON work_task (user_id, rank, queued_at, id) WHERE status = 'queued' AND waits = 0;
CREATE INDEX work_task_later ON work_task (user_id, queued_at) WHERE status = 'queued' AND waits = 1;
CREATE INDEX work_task_due ON work_task (queued_at) WHERE status = 'queued' AND waits = 1;
CREATE INDEX work_task_held ON work_task (user_id, lease_until) WHERE status IN ('leased', 'running');
CREATE INDEX work_task_list ON work_task (user_id, created_at, id);
CREATE INDEX work_task_given_up ON work_task (user_id, created_at, id) WHERE status IN ('failed', 'cancelled');
CREATE INDEX work_task_session ON work_task (session_id, created_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX work_task_deployment ON work_task (deployment_id, created_at, id) WHERE deployment_id IS NOT NULL;
CREATE INDEX work_task_changed ON work_task (user_id, updated_at);
CREATE TABLE work_poller (
  user_id TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, worker_id)
) STRICT, WITHOUT ROWID;
`;

export const workQueueMigrations: readonly Migration[] = [
  {
    area: 'work-queue',
    number: 1,
    name: 'tasks, sessions, deployments',
    sql: `${tables} STRICT;${indexes}`,
    // Rows change three times in a short life: room beside them, and cleaned up early.
    postgres: `${tables} WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);${indexes}`,
  },
  {
    area: 'work-queue',
    number: 2,
    name: 'which workers drain',
    sql: 'ALTER TABLE work_poller ADD COLUMN draining INTEGER NOT NULL DEFAULT 0',
  },
  {
    area: 'work-queue',
    number: 3,
    name: 'what was leased leaves the indexes',
    sql: '',
    // Else VACUUM passes over the indexes while few pages are touched, and each lease walks over all that were leased before it.
    postgres: 'ALTER TABLE work_task SET (vacuum_index_cleanup = on)',
  },
];
