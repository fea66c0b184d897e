/** Tables of subscriptions in `runtime.db`. Must not know their use. */
import type { Migration } from '../../../kit/store/store.ts';

export const subscriptionMigrations: readonly Migration[] = [
  {
    area: 'connector-subscriptions',
    number: 1,
    name: 'subscriptions, their trail, removals that are owed, and what is archived',
    sql: `
      CREATE TABLE connector_subscription (
        id TEXT PRIMARY KEY,
        connector_id TEXT NOT NULL,
        connector_url TEXT NOT NULL,
        name TEXT NOT NULL,
        arguments TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        execution_mode TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('pending', 'active', 'error', 'needs_reauth')),
        error_code INTEGER,
        error_reason TEXT,
        error_message TEXT,
        secret TEXT,
        next_secret TEXT,
        home TEXT,
        callback_url TEXT,
        payload_schema TEXT,
        refreshed_at INTEGER,
        refresh_before INTEGER,
        cursor TEXT,
        last_event_at INTEGER,
        last_event_id TEXT,
        event_count INTEGER NOT NULL,
        history_lost_at INTEGER,
        expired_count INTEGER NOT NULL,
        expired_notice TEXT,
        login_told INTEGER NOT NULL CHECK (login_told IN (0, 1)),
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX connector_subscription_connector ON connector_subscription (connector_id, created_at);

      CREATE TABLE connector_trail (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        subscription_id TEXT NOT NULL,
        event_id TEXT NOT NULL,
        name TEXT,
        status TEXT NOT NULL CHECK (status IN ('ticket', 'dead', 'gap')),
        reason TEXT,
        received_at INTEGER,
        at INTEGER NOT NULL,
        ticket_id TEXT,
        UNIQUE (subscription_id, event_id)
      ) STRICT;
      CREATE INDEX connector_trail_newest ON connector_trail (subscription_id, seq);
      CREATE INDEX connector_trail_at ON connector_trail (at);

      CREATE TABLE connector_removal (
        subscription_id TEXT NOT NULL,
        home TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        PRIMARY KEY (subscription_id, home)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE connector_archived (
        id TEXT PRIMARY KEY,
        connector_id TEXT NOT NULL,
        name TEXT NOT NULL,
        ended_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX connector_archived_newest ON connector_archived (connector_id, ended_at);
    `,
  },
];
