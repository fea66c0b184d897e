/**
 * The cloud's listeners on behalf of computers, and a receipt, never the data, of each event of the last seven days. `key` and `secrets` are sealed.
 * `expired`: dropped events that the computer does not know of yet; the notice under way reports those of `notice`. `ended_at`: the server has said
 * that it sends no more; nothing is accepted until someone subscribes again.
 */
import type { Migration } from '../../kit/store/store.ts';

export const connectorEventMigrations: readonly Migration[] = [
  {
    area: 'connector-events',
    number: 1,
    name: 'registrations and receipts',
    sql: `
      CREATE TABLE connector_registration (
        computer_id TEXT NOT NULL,
        subscription_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        connector_id TEXT NOT NULL,
        event_name TEXT NOT NULL,
        key_hash TEXT NOT NULL UNIQUE,
        key TEXT NOT NULL,
        secrets TEXT NOT NULL,
        expired INTEGER NOT NULL DEFAULT 0,
        notice_id TEXT,
        notice_count INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (computer_id, subscription_id)
      ) STRICT;
      CREATE TABLE connector_receipt (
        id TEXT PRIMARY KEY,
        computer_id TEXT NOT NULL,
        subscription_id TEXT NOT NULL,
        event_id TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('event', 'gap', 'terminated')),
        name TEXT,
        said TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('waiting', 'taken', 'dead', 'expired')),
        reason TEXT,
        received_at INTEGER NOT NULL,
        relayed_at INTEGER,
        seen_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX connector_receipt_seen ON connector_receipt (seen_at);
      CREATE INDEX connector_receipt_left ON connector_receipt (computer_id, subscription_id, received_at, id)
        WHERE status <> 'taken';
    `,
  },
  {
    area: 'connector-events',
    number: 2,
    name: 'a server ends a subscription',
    sql: 'ALTER TABLE connector_registration ADD COLUMN ended_at INTEGER',
  },
];
