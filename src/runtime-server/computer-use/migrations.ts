/** The gate's tables in `runtime.db`: the audit of every call, and questions to a person. Must not know runs. */
import type { Migration } from '../../kit/store/store.ts';

export const handsMigrations: readonly Migration[] = [
  {
    area: 'computer-use-gate',
    number: 1,
    name: 'audit and approvals',
    sql: `
      CREATE TABLE computer_use_action (
        id TEXT PRIMARY KEY,
        user TEXT NOT NULL,
        surface TEXT NOT NULL,
        holder_kind TEXT NOT NULL,
        holder_id TEXT NOT NULL,
        place TEXT NOT NULL,
        toolset TEXT NOT NULL,
        member TEXT NOT NULL,
        input TEXT NOT NULL,
        url TEXT,
        turn_id TEXT,
        call_index INTEGER,
        action_hash TEXT,
        stage TEXT NOT NULL CHECK (stage IN ('contract', 'turn', 'lease', 'look', 'policy', 'approval', 'action')),
        outcome TEXT NOT NULL,
        rule TEXT,
        approval_id TEXT,
        code TEXT,
        message TEXT,
        result TEXT,
        at INTEGER NOT NULL,
        ended_at INTEGER,
        acts INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX computer_use_action_turn ON computer_use_action (holder_id, turn_id) WHERE turn_id IS NOT NULL;
      CREATE UNIQUE INDEX computer_use_action_once ON computer_use_action (holder_id, turn_id, call_index)
        WHERE acts = 1 AND turn_id IS NOT NULL AND call_index IS NOT NULL;
      CREATE INDEX computer_use_action_open ON computer_use_action (outcome) WHERE outcome = 'started';
      CREATE TABLE computer_use_approval (
        id TEXT PRIMARY KEY,
        holder_id TEXT NOT NULL,
        action_hash TEXT NOT NULL,
        seen TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used', 'expired')),
        answered_by TEXT,
        words TEXT NOT NULL,
        shown TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        ended_at INTEGER
      ) STRICT;
      CREATE INDEX computer_use_approval_pending ON computer_use_approval (action_hash) WHERE state = 'pending';
    `,
  },
];
