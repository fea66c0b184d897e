/** Events, once each, and the computers that report them. `seq` is the order in which they were stored. */
import type { Migration } from '../../kit/store/store.ts';

export const eventMigrations: readonly Migration[] = [
  {
    area: 'events',
    number: 1,
    name: 'events of users',
    sql: `
      CREATE TABLE user_event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        user_id TEXT NOT NULL,
        type TEXT NOT NULL,
        source_id TEXT NOT NULL,
        computer_id TEXT,
        occurred_at INTEGER NOT NULL,
        stored_at INTEGER NOT NULL,
        data TEXT NOT NULL,
        UNIQUE (user_id, type, source_id)
      ) STRICT;
      CREATE INDEX user_event_stored ON user_event (stored_at, seq);
      CREATE INDEX user_event_of_user ON user_event (user_id, seq DESC);
      CREATE TABLE event_source (
        computer_id TEXT PRIMARY KEY,
        first_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
];
