/**
 * Subscriptions of apps at the edge. `epoch` is new with each life of a subscription, so that rows queued in an earlier life can be recognised.
 * `since`: events stored from then on are owed. `gap`: something was lost, and its app hears of it before the next event. `failures`: attempts of the
 * first message; attempts cut off by our shutdown do not count. `edge_claim`: events that were queued; `edge_position`: up to where claims are no
 * longer needed. Deliveries themselves are lanes.
 */
import type { Migration } from '../../kit/store/store.ts';

export const edgeEventMigrations: readonly Migration[] = [
  {
    area: 'edge-events',
    number: 1,
    name: 'subscriptions of apps',
    sql: `
      CREATE TABLE edge_subscription (
        id TEXT PRIMARY KEY,
        epoch TEXT NOT NULL,
        user_id TEXT NOT NULL,
        client_id TEXT NOT NULL,
        server TEXT NOT NULL,
        event TEXT NOT NULL,
        arguments TEXT NOT NULL,
        url TEXT NOT NULL,
        secret TEXT NOT NULL,
        previous_secret TEXT,
        previous_until INTEGER,
        since INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        ended_at INTEGER,
        last_delivery_at INTEGER,
        last_error TEXT,
        failed_since INTEGER,
        failures INTEGER NOT NULL DEFAULT 0,
        given_up_at INTEGER,
        gap TEXT NOT NULL DEFAULT 'none' CHECK (gap IN ('none', 'waiting', 'owed'))
      ) STRICT;
      CREATE INDEX edge_subscription_of_user ON edge_subscription (user_id, event);
      CREATE INDEX edge_subscription_end ON edge_subscription (expires_at);
      CREATE TABLE edge_verified (
        user_id TEXT NOT NULL,
        client_id TEXT NOT NULL,
        url_hash TEXT NOT NULL,
        verified_at INTEGER NOT NULL,
        PRIMARY KEY (user_id, client_id, url_hash)
      ) STRICT;
      CREATE TABLE edge_claim (
        subscription_id TEXT NOT NULL,
        event_id TEXT NOT NULL,
        stored_at INTEGER NOT NULL,
        PRIMARY KEY (subscription_id, event_id)
      ) STRICT;
      CREATE INDEX edge_claim_stored ON edge_claim (stored_at);
      CREATE TABLE edge_position (
        name TEXT PRIMARY KEY,
        through INTEGER NOT NULL
      ) STRICT;
    `,
  },
];
