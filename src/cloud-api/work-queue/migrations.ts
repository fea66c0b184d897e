/**
 * Tables of the work queue. The next lease is found only by partial indexes: their cost does not grow with what waits or has ended. No other index
 * has that order, because a planner might walk one and read every ended row first.
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

/** What a task counts as: its state, or `later` before its time. */
type Kind = (row: 'NEW' | 'OLD') => string;
const kindOf: Kind = (row) =>
  `CASE WHEN ${row}.status = 'queued' AND ${row}.waits = 1 THEN 'later' ELSE ${row}.status END`;
const kindOfAll: Kind = (row) =>
  `CASE WHEN ${row}.status = 'queued' AND ${row}.waits IN (1, 3) THEN 'later' ELSE ${row}.status END`;
const isCounted = (row: 'NEW' | 'OLD') => `${row}.status NOT IN ('succeeded', 'cancelled')`;
const hasMoved = 'OLD.status <> NEW.status OR OLD.waits <> NEW.waits';
const movedAs = (kind: Kind) => ({
  made: `INSERT INTO work_move (user_id, was, was_since, became, became_since)
    VALUES (NEW.user_id, '', 0, ${kind('NEW')}, NEW.queued_at)`,
  changed: `INSERT INTO work_move (user_id, was, was_since, became, became_since)
    VALUES (NEW.user_id, ${kind('OLD')}, OLD.queued_at, ${kind('NEW')}, NEW.queued_at)`,
  gone: `INSERT INTO work_move (user_id, was, was_since, became, became_since)
    VALUES (OLD.user_id, ${kind('OLD')}, OLD.queued_at, '', 0)`,
});
const moved = movedAs(kindOf);
const movedAll = movedAs(kindOfAll);

/**
 * How many tasks of each kind there are, without counting them: each change leaves a row that describes it (by a trigger, so that no statement can
 * forget it), which nobody else writes to; now and then those are added up to one row for each person, kind and second.
 */
const counts = ({ n, key, tuned }: { n: string; key: string; tuned: string }) => `
CREATE TABLE work_count (
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  since INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (user_id, kind, since)
)${tuned};
CREATE TABLE work_move (
  n ${n},
  user_id TEXT NOT NULL,
  was TEXT NOT NULL,
  was_since INTEGER NOT NULL,
  became TEXT NOT NULL,
  became_since INTEGER NOT NULL${key}
)${tuned.replace(', WITHOUT ROWID', '')};
INSERT INTO work_count (user_id, kind, since, n)
  SELECT user_id, kind, since, count(*) FROM (
    SELECT user_id, CASE WHEN status = 'queued' AND waits = 1 THEN 'later' ELSE status END AS kind,
      CASE WHEN status = 'queued' AND waits = 0 THEN queued_at / 1000 ELSE 0 END AS since
    FROM work_task WHERE status NOT IN ('succeeded', 'cancelled')) AS tasks
  GROUP BY user_id, kind, since;
`;

/**
 * Each list has an index in its order, and finding what expires reads no other rows. Indexes over everybody's rows write their condition in another
 * form, and the list of all of a person's its order: a planner that believes that all rows are one person's, or in one state, would otherwise read
 * the wrong one to its end.
 */
const listIndexes = `
DROP INDEX work_task_ready;
DROP INDEX work_task_list;
DROP INDEX work_task_given_up;
DROP INDEX work_task_changed;
DROP INDEX work_task_due;
CREATE INDEX work_task_due ON work_task (queued_at) WHERE status || '' = 'queued' AND waits = 1;
CREATE INDEX work_task_ready ON work_task (user_id, rank, queued_at, seq, id) WHERE status = 'queued' AND waits = 0;
CREATE INDEX work_task_list ON work_task (user_id, (created_at + 0), id);
CREATE INDEX work_task_status ON work_task (user_id, status, created_at, id);
CREATE INDEX work_task_worker ON work_task (user_id, lease_worker_id, created_at, id) WHERE lease_worker_id IS NOT NULL;
CREATE INDEX work_task_changed ON work_task (user_id, updated_at, id);
CREATE INDEX work_task_over ON work_task (user_id, lease_until)
  WHERE status IN ('leased', 'running') AND (stop_requested = 1 OR attempts >= max_attempts);
CREATE INDEX work_task_all_over ON work_task (lease_until)
  WHERE status || '' IN ('leased', 'running') AND (stop_requested = 1 OR attempts >= max_attempts);
CREATE INDEX work_poller_seen ON work_poller (user_id, seen_at);
CREATE INDEX work_poller_old ON work_poller (seen_at);
`;

/**
 * Queued tasks that name an image, labels or a key, which no index of the other tasks knows. `parked`: empty for those that may be leased, else what
 * they wait for (`line.ts`). Of those with a fairness key `queued_at` may be the place of another, with which they changed turns. A slot is held by each task that a gate has let through; a gate with a time lets nobody through before it.
 */
const line = `
CREATE TABLE work_line (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  needs TEXT NOT NULL,
  rank INTEGER NOT NULL,
  fair INTEGER NOT NULL,
  round INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  parked TEXT NOT NULL
) STRICT;
CREATE INDEX work_line_ready ON work_line (user_id, rank, queued_at, seq, id) WHERE parked = '';
CREATE INDEX work_line_needs ON work_line (user_id, needs, rank, queued_at, seq, id) WHERE parked = '';
CREATE INDEX work_line_fair ON work_line (user_id, rank, round, queued_at, seq, id, needs) WHERE parked = '' AND fair = 1;
CREATE INDEX work_line_fair_needs ON work_line (user_id, needs, rank, round, queued_at, seq, id) WHERE parked = '' AND fair + 0 = 1;
CREATE INDEX work_line_parked ON work_line (user_id, parked, rank, queued_at, seq, id) WHERE parked <> '';
CREATE INDEX work_line_age ON work_line (user_id, queued_at);
CREATE INDEX work_line_due ON work_line (user_id, queued_at) WHERE parked = 'time';
CREATE INDEX work_line_later ON work_line (queued_at) WHERE parked || '' = 'time';
CREATE TABLE work_slot (
  id TEXT NOT NULL,
  gate TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (id, gate)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_slot_gate ON work_slot (user_id, gate, id);
CREATE TABLE work_gate (
  user_id TEXT NOT NULL,
  gate TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, gate)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_gate_due ON work_gate (user_id, due_at) WHERE due_at > 0;
CREATE TABLE work_turn (
  user_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  fairness_key TEXT NOT NULL,
  round INTEGER NOT NULL,
  PRIMARY KEY (user_id, rank, fairness_key)
) STRICT, WITHOUT ROWID;
ALTER TABLE work_task ADD COLUMN needs TEXT;
ALTER TABLE work_task ADD COLUMN options TEXT;
ALTER TABLE work_poller ADD COLUMN can TEXT;
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
    // Otherwise VACUUM passes over the indexes while few pages are touched, and each lease walks over all that were leased before it.
    postgres: 'ALTER TABLE work_task SET (vacuum_index_cleanup = on)',
  },
  {
    area: 'work-queue',
    number: 4,
    name: 'every list has its index, and what is counted is kept',
    sql: `ALTER TABLE work_task ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;${listIndexes}
${counts({ n: 'INTEGER PRIMARY KEY', key: '', tuned: ' STRICT, WITHOUT ROWID' })}
CREATE TRIGGER work_task_made AFTER INSERT ON work_task WHEN ${isCounted('NEW')} BEGIN ${moved.made}; END;
CREATE TRIGGER work_task_moved AFTER UPDATE OF status, waits ON work_task WHEN ${hasMoved} BEGIN ${moved.changed}; END;
CREATE TRIGGER work_task_gone AFTER DELETE ON work_task WHEN ${isCounted('OLD')} BEGIN ${moved.gone}; END;`,
    // The database knows the order of tasks of one millisecond, whichever replica they came through.
    postgres: `ALTER TABLE work_task ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
CREATE SEQUENCE work_task_seq OWNED BY work_task.seq;
ALTER TABLE work_task ALTER COLUMN seq SET DEFAULT nextval('work_task_seq');${listIndexes}
${counts({
  n: 'INTEGER GENERATED BY DEFAULT AS IDENTITY',
  key: ',\n  PRIMARY KEY (user_id, n)',
  tuned: ' WITH (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on)',
})}
CREATE FUNCTION work_task_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${moved.made}; RETURN NULL; END $$;
CREATE FUNCTION work_task_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${moved.changed}; RETURN NULL; END $$;
CREATE FUNCTION work_task_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${moved.gone}; RETURN NULL; END $$;
CREATE TRIGGER work_task_made AFTER INSERT ON work_task FOR EACH ROW WHEN (${isCounted('NEW')}) EXECUTE FUNCTION work_task_made();
CREATE TRIGGER work_task_moved AFTER UPDATE OF status, waits ON work_task FOR EACH ROW WHEN (${hasMoved})
  EXECUTE FUNCTION work_task_moved();
CREATE TRIGGER work_task_gone AFTER DELETE ON work_task FOR EACH ROW WHEN (${isCounted('OLD')}) EXECUTE FUNCTION work_task_gone();`,
  },
  {
    area: 'work-queue',
    number: 5,
    name: 'how the queue went',
    // Sums of the changes of a person's tasks by step; `oldest`: since when, in seconds, the oldest waited at the end of the step, 0 for nothing.
    sql: `CREATE TABLE work_sample (
  user_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  added INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  oldest INTEGER NOT NULL,
  PRIMARY KEY (user_id, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_sample_old ON work_sample (at);`,
  },
  {
    area: 'work-queue',
    number: 6,
    name: 'part of which trace',
    // The `traceparent` of the span that added it; null where nothing is traced.
    sql: 'ALTER TABLE work_task ADD COLUMN trace TEXT',
  },
  {
    area: 'work-queue',
    number: 7,
    name: 'images, labels, keys and retries',
    sql: `${line}
DROP TRIGGER work_task_made;
DROP TRIGGER work_task_moved;
DROP TRIGGER work_task_gone;
CREATE TRIGGER work_task_made AFTER INSERT ON work_task WHEN ${isCounted('NEW')} BEGIN ${movedAll.made}; END;
CREATE TRIGGER work_task_moved AFTER UPDATE OF status, waits ON work_task WHEN ${hasMoved} BEGIN ${movedAll.changed}; END;
CREATE TRIGGER work_task_gone AFTER DELETE ON work_task WHEN ${isCounted('OLD')} BEGIN ${movedAll.gone}; END;`,
    postgres: `${line}
CREATE OR REPLACE FUNCTION work_task_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${movedAll.made}; RETURN NULL; END $$;
CREATE OR REPLACE FUNCTION work_task_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${movedAll.changed}; RETURN NULL; END $$;
CREATE OR REPLACE FUNCTION work_task_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${movedAll.gone}; RETURN NULL; END $$;`,
  },
  {
    area: 'work-queue',
    number: 8,
    name: 'the age of the line has an index of its own form',
    // SQLite otherwise looks for the first due task by walking over all that wait.
    sql: `DROP INDEX work_line_age;
CREATE INDEX work_line_age ON work_line (user_id, (queued_at + 0));`,
  },
  {
    area: 'work-queue',
    number: 9,
    name: 'files of tasks',
    sql: `CREATE TABLE work_file (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  part INTEGER NOT NULL,
  at INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (user_id, name, part)
) STRICT;
CREATE INDEX work_file_old ON work_file (at);`,
  },
];
