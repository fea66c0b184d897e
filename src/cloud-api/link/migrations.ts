/** Tables of computers, pairings, the keys of tickets, and which replica holds which link. */
import type { Migration } from '../../kit/store/store.ts';

export const linkMigrations: readonly Migration[] = [
  {
    area: 'link',
    number: 1,
    name: 'devices',
    sql: `
      CREATE TABLE runtime_device (
        computer_id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        token TEXT NOT NULL,
        previous_token TEXT,
        previous_until INTEGER,
        known_since INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    area: 'link',
    number: 2,
    name: 'computers, pairings, keys of tickets',
    sql: `
      CREATE TABLE computer (
        id TEXT PRIMARY KEY,
        cloud_id TEXT NOT NULL UNIQUE,
        user_id TEXT NOT NULL,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        embedded INTEGER NOT NULL,
        is_default INTEGER NOT NULL,
        paired_at INTEGER NOT NULL,
        seen_at INTEGER,
        revoked_at INTEGER,
        token TEXT,
        next_token TEXT,
        previous_token TEXT,
        previous_until INTEGER,
        CHECK ((revoked_at IS NULL) = (token IS NOT NULL))
      ) STRICT;
      CREATE INDEX computer_of_user ON computer (user_id, paired_at) WHERE revoked_at IS NULL;
      INSERT INTO computer (id, cloud_id, user_id, name, version, embedded, is_default, paired_at, token,
          previous_token, previous_until)
        SELECT computer_id, 'cc_' || substr(computer_id, 10), user_id, '', '', 1, 0, known_since, token, previous_token,
          previous_until FROM runtime_device;
      DROP TABLE runtime_device;
      CREATE TABLE pairing (
        device_hash TEXT PRIMARY KEY,
        user_code TEXT NOT NULL UNIQUE,
        computer_id TEXT NOT NULL,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        address TEXT NOT NULL,
        requested_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'taken')),
        user_id TEXT,
        CHECK ((state IN ('approved', 'taken')) <= (user_id IS NOT NULL))
      ) STRICT;
      CREATE INDEX pairing_expires ON pairing (expires_at);
      CREATE TABLE pairing_try (user_id TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
      CREATE INDEX pairing_try_of_user ON pairing_try (user_id, at);
      CREATE TABLE ticket_key (
        kid TEXT PRIMARY KEY,
        public TEXT NOT NULL,
        private TEXT NOT NULL,
        made_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    area: 'link',
    number: 3,
    name: 'which replica holds which link',
    sql: `
      CREATE TABLE cloud_replica (
        id TEXT PRIMARY KEY,
        address TEXT NOT NULL,
        seen_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE runtime_connection (
        computer_id TEXT PRIMARY KEY,
        replica TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        credential TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX runtime_connection_of_replica ON runtime_connection (replica);
      CREATE INDEX computer_paired_at ON computer (paired_at);
      CREATE INDEX computer_revoked_at ON computer (revoked_at) WHERE revoked_at IS NOT NULL;
    `,
  },
  {
    area: 'link',
    number: 4,
    name: 'clocks of computers',
    sql: 'ALTER TABLE computer ADD COLUMN clock_ahead_ms INTEGER',
  },
];
