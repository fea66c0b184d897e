/**
 * Tables of agents over ACP: the session that each continues, its turns, and the conversation as Gantry saw it. Times are milliseconds since the epoch;
 * only `store.ts` reads and writes JSON columns.
 */
import type { Migration } from '../../kit/store/store.ts';

export const acpMigrations: readonly Migration[] = [
  {
    area: 'acp',
    number: 1,
    name: 'sessions, turns and conversations',
    sql: `
CREATE TABLE acp_session (
  agent_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  command TEXT NOT NULL,
  cwd TEXT NOT NULL,
  mode TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE acp_turn (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  delivery_id TEXT NOT NULL UNIQUE,
  thread_id TEXT,
  status TEXT NOT NULL,
  reason TEXT,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  answer TEXT,
  answered_at INTEGER
) STRICT;
CREATE INDEX acp_turn_open ON acp_turn (agent_id) WHERE ended_at IS NULL;
CREATE INDEX acp_turn_unanswered ON acp_turn (agent_id) WHERE answer IS NOT NULL AND answered_at IS NULL;

CREATE TABLE acp_entry (
  agent_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX acp_entry_rev ON acp_entry (agent_id, rev);
`,
  },
];
