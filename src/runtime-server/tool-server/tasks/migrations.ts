/** The table of tasks in `runtime.db`: calls whose results clients fetch later. */
import type { Migration } from '../../../kit/store/store.ts';

export const toolTaskMigrations: readonly Migration[] = [
  {
    area: 'mcp-tasks',
    number: 1,
    name: 'calls that became tasks',
    sql: `
      CREATE TABLE mcp_task (
        id TEXT PRIMARY KEY,
        client TEXT NOT NULL,
        caller TEXT NOT NULL,
        tool TEXT NOT NULL,
        input TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('working', 'completed', 'failed', 'cancelled')),
        message TEXT,
        approval_id TEXT,
        verdict TEXT,
        shown INTEGER NOT NULL,
        began_at INTEGER,
        result TEXT,
        error TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        CHECK ((status = 'completed') = (result IS NOT NULL)),
        CHECK ((status = 'failed') = (error IS NOT NULL))
      ) STRICT;
      CREATE INDEX mcp_task_client ON mcp_task (client, id);
      CREATE INDEX mcp_task_expires ON mcp_task (expires_at);
      CREATE INDEX mcp_task_working ON mcp_task (id) WHERE status = 'working';
    `,
  },
  {
    area: 'mcp-tasks',
    number: 2,
    name: 'tasks of attached servers, and what those ask',
    sql: `
      ALTER TABLE mcp_task ADD COLUMN upstream TEXT;
      ALTER TABLE mcp_task ADD COLUMN input_id TEXT;
    `,
  },
];
