/**
 * What hosted bots were told, said and did: turns, and the conversation that each goes on with. Times are milliseconds since the
 * epoch; JSON columns are written and read by `store.ts` alone.
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
