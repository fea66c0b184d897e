/** Tables of the work engine, up only. Times are milliseconds since the epoch; parties are `owner` or an agent's id. */
import type { Migration } from '../../kit/store/store.ts';

export const workEngineMigrations: readonly Migration[] = [
  {
    area: 'work-engine',
    number: 1,
    name: 'mail',
    sql: `
CREATE TABLE engine_mail (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL,
  read_at INTEGER,
  in_reply_to TEXT
) STRICT;
CREATE INDEX engine_mail_in ON engine_mail (workspace, recipient, id);
CREATE INDEX engine_mail_out ON engine_mail (workspace, sender, id);
CREATE INDEX engine_mail_unread ON engine_mail (workspace, recipient, id) WHERE read_at IS NULL;
`,
  },
  {
    area: 'work-engine',
    number: 2,
    name: 'leases',
    sql: `
CREATE TABLE engine_lease (
  fence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  workspace TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('path', 'name')),
  key TEXT NOT NULL,
  holder TEXT NOT NULL,
  note TEXT,
  claimed_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (workspace, kind, key)
) STRICT;
`,
  },
  {
    area: 'work-engine',
    number: 3,
    name: 'plans',
    sql: `
CREATE TABLE engine_plan (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  title TEXT NOT NULL,
  intent TEXT,
  state TEXT NOT NULL CHECK (state IN ('draft', 'started', 'discarded')),
  revision INTEGER NOT NULL,
  author TEXT NOT NULL,
  template TEXT NOT NULL,
  steps INTEGER NOT NULL,
  history TEXT NOT NULL,
  dag_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX engine_plan_author ON engine_plan (workspace, author, id);
`,
  },
  {
    area: 'work-engine',
    number: 4,
    name: 'vault',
    sql: `
CREATE TABLE engine_secret (
  name TEXT PRIMARY KEY,
  sealed TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'work-engine',
    number: 5,
    name: 'peers',
    sql: `
CREATE TABLE engine_peer (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  about TEXT,
  owner TEXT NOT NULL,
  ttl_seconds INTEGER NOT NULL,
  registered_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
CREATE TABLE engine_peer_message (
  id TEXT PRIMARY KEY,
  peer_id TEXT NOT NULL REFERENCES engine_peer (id) ON DELETE CASCADE,
  sender TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX engine_peer_message_peer ON engine_peer_message (peer_id, id);
`,
  },
  {
    area: 'work-engine',
    number: 6,
    name: 'checkpoints',
    sql: `
CREATE TABLE engine_checkpoint (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX engine_checkpoint_agent ON engine_checkpoint (agent_id, id);
CREATE INDEX engine_checkpoint_workspace ON engine_checkpoint (workspace, id);
`,
  },
  {
    area: 'work-engine',
    number: 7,
    name: 'tickets',
    sql: `
CREATE TABLE engine_ticket (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  bot_id TEXT NOT NULL,
  source_kind TEXT NOT NULL CHECK (source_kind IN ('connector', 'webhook', 'vendor')),
  source_ref TEXT NOT NULL,
  title TEXT NOT NULL,
  data TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
  thread_id TEXT,
  created_at INTEGER NOT NULL,
  closed_at INTEGER,
  UNIQUE (source_kind, source_ref)
) STRICT;
CREATE INDEX engine_ticket_recent ON engine_ticket (workspace, id);
CREATE INDEX engine_ticket_bot ON engine_ticket (bot_id, id);
CREATE INDEX engine_ticket_open ON engine_ticket (workspace, id) WHERE status = 'open';
`,
  },
  {
    area: 'work-engine',
    number: 8,
    name: 'triggers',
    sql: `
CREATE TABLE engine_trigger (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  key_hash TEXT NOT NULL UNIQUE,
  bot_id TEXT NOT NULL,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  tickets INTEGER NOT NULL
) STRICT;
`,
  },
  {
    area: 'work-engine',
    number: 9,
    name: 'agent runs',
    sql: `
CREATE TABLE engine_agent_run (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  bot_id TEXT NOT NULL,
  source_kind TEXT NOT NULL CHECK (source_kind IN ('automation', 'workflow', 'message', 'work')),
  source_ref TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled', 'interrupted')),
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  usage TEXT,
  output TEXT,
  error TEXT
) STRICT;
CREATE INDEX engine_agent_run_recent ON engine_agent_run (workspace, id);
CREATE INDEX engine_agent_run_bot ON engine_agent_run (bot_id, id);
CREATE INDEX engine_agent_run_source ON engine_agent_run (source_kind, source_ref, id);
`,
  },
  {
    area: 'work-engine',
    number: 10,
    name: 'placeholders of secrets',
    sql: `
ALTER TABLE engine_secret ADD COLUMN destination TEXT;
CREATE TABLE engine_secret_placeholder (
  agent_id TEXT NOT NULL,
  name TEXT NOT NULL,
  placeholder TEXT NOT NULL,
  PRIMARY KEY (agent_id, name)
) STRICT, WITHOUT ROWID;
`,
  },
];
