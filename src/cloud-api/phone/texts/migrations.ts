/**
 * Texts of numbers, who said STOP, and the person's own phone. `peer`: the other side. `carrier_key`: `in:` or `out:` and the carrier's id, so that
 * each is stored once. `said_at`: by the carrier's clock. Opt-outs are kept even after the number has gone.
 */
import type { Migration } from '../../../kit/store/store.ts';

export const phoneTextMigrations: readonly Migration[] = [
  {
    area: 'phone-texts',
    number: 1,
    name: 'texts, opt-outs and own phones',
    sql: `
      CREATE TABLE phone_text (
        id TEXT PRIMARY KEY,
        number_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        ours TEXT NOT NULL,
        peer TEXT NOT NULL,
        direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
        text TEXT NOT NULL,
        media TEXT NOT NULL,
        parts INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('received', 'kept_back', 'queued', 'sending', 'sent', 'delivered', 'unconfirmed',
          'failed', 'cancelled')),
        reason TEXT,
        code TEXT,
        by_whom TEXT CHECK (by_whom IN ('person', 'bot', 'service')),
        kind TEXT,
        bot_id TEXT,
        bot_name TEXT,
        computer_id TEXT,
        carrier_key TEXT UNIQUE,
        unclear INTEGER NOT NULL DEFAULT 0,
        at INTEGER NOT NULL,
        said_at INTEGER NOT NULL,
        left_at INTEGER,
        relayed_at INTEGER,
        CHECK ((direction = 'out') = (by_whom IS NOT NULL))
      ) STRICT;
      CREATE INDEX phone_text_of_number ON phone_text (number_id, at, id);
      CREATE INDEX phone_text_of_pair ON phone_text (number_id, peer, at, id);
      CREATE INDEX phone_text_waiting ON phone_text (number_id, peer) WHERE status = 'queued';
      CREATE INDEX phone_text_left ON phone_text (number_id, left_at) WHERE left_at IS NOT NULL;
      CREATE TABLE phone_contact (
        number_id TEXT NOT NULL,
        peer TEXT NOT NULL,
        first_text_at INTEGER,
        opted_out INTEGER NOT NULL DEFAULT 0,
        changed_at INTEGER NOT NULL DEFAULT 0,
        last_id TEXT,
        last_at INTEGER,
        PRIMARY KEY (number_id, peer)
      ) STRICT;
      CREATE INDEX phone_contact_last ON phone_contact (number_id, last_at, last_id) WHERE last_id IS NOT NULL;
      CREATE TABLE phone_opt_out (
        id TEXT PRIMARY KEY,
        number_id TEXT NOT NULL,
        peer TEXT NOT NULL,
        action TEXT NOT NULL CHECK (action IN ('stop', 'start')),
        source TEXT NOT NULL CHECK (source IN ('text', 'carrier', 'owner')),
        evidence TEXT,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX phone_opt_out_of_number ON phone_opt_out (number_id, at, id);
      CREATE TABLE phone_own (
        user_id TEXT PRIMARY KEY,
        e164 TEXT NOT NULL,
        number_id TEXT NOT NULL,
        code TEXT,
        code_until INTEGER NOT NULL,
        wrong INTEGER NOT NULL DEFAULT 0,
        wrong_since INTEGER NOT NULL DEFAULT 0,
        confirmed_at INTEGER
      ) STRICT;
      CREATE INDEX phone_own_of_number ON phone_own (number_id);
      CREATE TABLE phone_approval_code (
        approval_id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        code TEXT NOT NULL,
        code_until INTEGER NOT NULL,
        asked_at INTEGER NOT NULL,
        used_at INTEGER,
        UNIQUE (user_id, code)
      ) STRICT;
      CREATE INDEX phone_approval_code_until ON phone_approval_code (code_until);
    `,
  },
];
