/** Apps that were let in at the edge: when each first came, and the scopes it had last. */
import type { Migration } from '../../kit/store/store.ts';

export const edgeAppMigrations: readonly Migration[] = [
  {
    area: 'edge-apps',
    number: 1,
    name: 'apps at the edge',
    sql: `
      CREATE TABLE edge_app (
        user_id TEXT NOT NULL,
        client_id TEXT NOT NULL,
        name TEXT NOT NULL,
        scopes TEXT NOT NULL,
        approved_at INTEGER NOT NULL,
        PRIMARY KEY (user_id, client_id)
      ) STRICT;
    `,
  },
];
