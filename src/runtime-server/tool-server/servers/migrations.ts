/** Tables of attached servers in `runtime.db`: the servers, and the last good list of each, which outlives a restart. */
import type { Migration } from '../../../kit/store/store.ts';

export const attachedServerMigrations: readonly Migration[] = [
  {
    area: 'attached-servers',
    number: 1,
    name: 'attached servers and their last good lists',
    sql: `
      CREATE TABLE attached_server (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        transport TEXT NOT NULL,
        secrets TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        timeout_ms INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE attached_list (
        server_id TEXT PRIMARY KEY REFERENCES attached_server (id) ON DELETE CASCADE,
        tools TEXT NOT NULL,
        problems TEXT NOT NULL,
        listed_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    area: 'attached-servers',
    number: 2,
    name: 'prompts of attached servers',
    sql: `ALTER TABLE attached_list ADD COLUMN prompts TEXT NOT NULL DEFAULT '[]';`,
  },
];
