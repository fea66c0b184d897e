/**
 * Tables of hosted bots: turns, and the conversation that each continues. Times are milliseconds since the epoch; only `store.ts` reads and writes
 * JSON columns.
 */
import type { Migration } from '../../kit/store/store.ts';

export const hostedMigrations: readonly Migration[] = [
  {
    area: 'hosted',
    number: 1,
    name: 'turns and conversations',
    sql: `
CREATE TABLE hosted_turn (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  delivery_id TEXT NOT NULL UNIQUE,
  thread_id TEXT,
  dag_id TEXT,
  node_id TEXT,
  duty TEXT CHECK (duty IN ('work', 'review')),
  status TEXT NOT NULL,
  reason TEXT,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX hosted_turn_open ON hosted_turn (status) WHERE ended_at IS NULL;

CREATE TABLE hosted_message (
  agent_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX hosted_message_turn ON hosted_message (turn_id);
`,
  },
];
