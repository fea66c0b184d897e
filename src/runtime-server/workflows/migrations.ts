/**
 * Tables of campaigns, runs and their nodes, up only. Boards read only the narrow `factory_node`; long texts are in a table beside it, so that a
 * board of thousands of nodes never reads them. Times are milliseconds since the epoch.
 */
import type { Migration } from '../../kit/store/store.ts';

export const workflowMigrations: readonly Migration[] = [
  {
    area: 'workflows',
    number: 1,
    name: 'projects, campaigns, runs, nodes, proofs',
    sql: `
CREATE TABLE factory_project (
  workspace TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  worker_bot TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_campaign (
  workspace TEXT NOT NULL,
  id TEXT NOT NULL,
  project_id TEXT,
  title TEXT NOT NULL,
  intent TEXT NOT NULL,
  owner TEXT NOT NULL,
  executor TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_run (
  dag_id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  campaign_id TEXT NOT NULL,
  title TEXT NOT NULL,
  status TEXT NOT NULL,
  stopping INTEGER NOT NULL CHECK (stopping IN (0, 1)),
  cancel_at INTEGER,
  created_at INTEGER NOT NULL,
  team TEXT,
  preset TEXT,
  intent TEXT NOT NULL,
  params TEXT NOT NULL,
  template TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX factory_run_campaign ON factory_run (workspace, campaign_id, created_at);
CREATE INDEX factory_run_open ON factory_run (workspace, status) WHERE status IN ('running', 'needs_you');

CREATE TABLE factory_node (
  dag_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  depth INTEGER NOT NULL,
  title TEXT NOT NULL,
  assignee TEXT NOT NULL,
  binding TEXT,
  checker TEXT,
  status TEXT NOT NULL,
  cause TEXT NOT NULL,
  detail TEXT,
  attempt INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  rounds INTEGER NOT NULL,
  holder TEXT,
  handed TEXT NOT NULL CHECK (handed IN ('no', 'sending', 'sent')),
  delivery TEXT,
  gate TEXT NOT NULL CHECK (gate IN ('closed', 'waiting', 'open')),
  gate_kind TEXT,
  gate_about TEXT,
  wake_at INTEGER,
  parents TEXT NOT NULL,
  proof_total INTEGER NOT NULL,
  proven TEXT NOT NULL,
  PRIMARY KEY (dag_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX factory_node_assignee ON factory_node (assignee, status);
CREATE INDEX factory_node_holder ON factory_node (holder) WHERE holder IS NOT NULL;

CREATE TABLE factory_node_text (
  dag_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  output TEXT,
  progress TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (dag_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_node_move (
  dag_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  receipt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  status TEXT NOT NULL,
  cause TEXT NOT NULL,
  detail TEXT,
  attempt INTEGER NOT NULL,
  actor TEXT NOT NULL,
  PRIMARY KEY (dag_id, seq, receipt)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_proof (
  dag_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  receipt INTEGER NOT NULL,
  line TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('proven', 'rejected')),
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  sha256 TEXT,
  path TEXT,
  name TEXT,
  mime TEXT,
  size INTEGER,
  PRIMARY KEY (dag_id, seq, receipt)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'workflows',
    number: 2,
    name: 'nodes found by their id',
    sql: 'CREATE INDEX factory_node_id ON factory_node (node_id);',
  },
  {
    area: 'workflows',
    number: 3,
    name: 'the record of the bot at work on a node',
    sql: 'ALTER TABLE factory_node ADD COLUMN agent_run TEXT;',
  },
  {
    area: 'workflows',
    number: 4,
    name: 'templates that were removed',
    sql: `
CREATE TABLE removed_template (
  workspace TEXT NOT NULL,
  id TEXT NOT NULL,
  path TEXT NOT NULL,
  bytes BLOB NOT NULL,
  counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
  removed_at INTEGER NOT NULL,
  PRIMARY KEY (workspace, id, path)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'workflows',
    number: 5,
    name: 'budgets of runs, steps and campaigns',
    sql: `
CREATE TABLE factory_budget (
  workspace TEXT NOT NULL,
  subject TEXT NOT NULL,
  budget TEXT NOT NULL,
  portions INTEGER NOT NULL,
  used_ms INTEGER NOT NULL,
  rejected INTEGER NOT NULL CHECK (rejected IN (0, 1)),
  PRIMARY KEY (workspace, subject)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'workflows',
    number: 6,
    name: 'tasks of the queue that carry out steps',
    sql: `
CREATE TABLE factory_worker_task (
  key TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  dag_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  top TEXT NOT NULL,
  base TEXT NOT NULL,
  request TEXT NOT NULL,
  task_id TEXT
) STRICT, WITHOUT ROWID;
`,
  },
];
