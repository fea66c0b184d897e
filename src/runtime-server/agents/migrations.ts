/**
 * Tables of the factory; migrations only go up. Reads use the state tables; the ledger records what happened. Times are milliseconds since the
 * epoch; only `store/` writes and reads JSON columns.
 */
import type { Migration } from '../../kit/store/store.ts';

export const factoryMigrations: readonly Migration[] = [
  {
    area: 'factory',
    number: 1,
    name: 'agents, teams, deliveries, threads',
    sql: `
CREATE TABLE factory_agent (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  team TEXT NOT NULL,
  slug TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  spec TEXT,
  state TEXT NOT NULL,
  state_reason TEXT,
  since INTEGER NOT NULL,
  memory TEXT,
  UNIQUE (workspace, team, slug)
) STRICT;

CREATE TABLE factory_pane (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES factory_agent (id),
  started_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX factory_pane_agent ON factory_pane (agent_id, started_at);

CREATE TABLE factory_team (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  file TEXT NOT NULL CHECK (file IN ('unseen', 'valid', 'invalid', 'gone')),
  file_hash TEXT,
  up INTEGER NOT NULL CHECK (up IN (0, 1)),
  preset TEXT,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_delivery (
  id TEXT PRIMARY KEY,
  agent_id TEXT,
  recipient TEXT NOT NULL,
  via TEXT NOT NULL,
  state TEXT NOT NULL,
  evidence TEXT,
  detail TEXT,
  ticket TEXT,
  message_id TEXT,
  thread_id TEXT,
  dag_id TEXT,
  node_id TEXT,
  at INTEGER NOT NULL,
  caller TEXT NOT NULL,
  surface TEXT NOT NULL,
  idem_key TEXT,
  UNIQUE (caller, idem_key)
) STRICT;
CREATE INDEX factory_delivery_agent ON factory_delivery (agent_id, id);
CREATE INDEX factory_delivery_thread ON factory_delivery (thread_id, id) WHERE thread_id IS NOT NULL;
CREATE INDEX factory_delivery_node ON factory_delivery (node_id, id) WHERE node_id IS NOT NULL;

CREATE TABLE factory_thread (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  agent_id TEXT,
  channel TEXT,
  created_at INTEGER NOT NULL,
  last_message_at INTEGER NOT NULL
) STRICT;
CREATE INDEX factory_thread_recent ON factory_thread (last_message_at, id);
CREATE INDEX factory_thread_agent ON factory_thread (agent_id, last_message_at, id);

CREATE TABLE factory_message (
  id TEXT PRIMARY KEY,
  thread_id TEXT NOT NULL REFERENCES factory_thread (id),
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL,
  direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
  delivery_id TEXT,
  agent_id TEXT
) STRICT;
CREATE INDEX factory_message_thread ON factory_message (thread_id, id);
CREATE INDEX factory_message_reader ON factory_message (thread_id, agent_id);
`,
  },
  {
    area: 'factory',
    number: 2,
    name: 'one thread a bot and channel',
    sql: `
CREATE UNIQUE INDEX factory_thread_channel ON factory_thread (channel, agent_id) WHERE channel IS NOT NULL;
`,
  },
  {
    area: 'factory',
    number: 3,
    name: 'sender and first words of a delivery',
    sql: `
ALTER TABLE factory_delivery ADD COLUMN sender TEXT;
ALTER TABLE factory_delivery ADD COLUMN first_words TEXT;
`,
  },
];
