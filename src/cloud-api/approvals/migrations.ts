/** The one table of approvals. Expired is not a state: it is read from `expires_at`. */
import type { Migration } from '../../kit/store/store.ts';

export const approvalMigrations: readonly Migration[] = [
  {
    area: 'approvals',
    number: 1,
    name: 'approvals',
    sql: `
      CREATE TABLE approval (
        id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        computer_id TEXT NOT NULL,
        engine_id TEXT NOT NULL,
        ledger_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        summary TEXT NOT NULL,
        risk TEXT NOT NULL,
        source TEXT NOT NULL,
        agent_id TEXT,
        dag_id TEXT,
        node_id TEXT,
        run_id TEXT,
        requested_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'resolved')),
        decision TEXT CHECK (decision IN ('approve', 'reject')),
        resolved_at INTEGER,
        resolved_user TEXT,
        resolved_surface TEXT,
        note TEXT,
        applied_at INTEGER,
        CHECK ((state = 'resolved') = (resolved_at IS NOT NULL)),
        CHECK (state = 'resolved' OR decision IS NULL)
      ) STRICT;
      CREATE INDEX approval_of_user ON approval (user_id, requested_at DESC, id DESC);
      CREATE INDEX approval_pending ON approval (user_id, expires_at) WHERE state = 'pending';
    `,
  },
  {
    area: 'approvals',
    number: 2,
    name: 'names of bots',
    sql: 'ALTER TABLE approval ADD COLUMN bot_name TEXT',
  },
  {
    area: 'approvals',
    number: 3,
    name: 'reasons',
    sql: 'ALTER TABLE approval ADD COLUMN reason TEXT',
  },
  {
    area: 'approvals',
    number: 4,
    name: 'details',
    sql: 'ALTER TABLE approval ADD COLUMN details TEXT',
  },
  {
    area: 'approvals',
    number: 5,
    name: 'what is over is found by its time',
    sql: 'CREATE INDEX approval_expiry ON approval (expires_at)',
  },
];
