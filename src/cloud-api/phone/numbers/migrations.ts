/**
 * Numbers and the invites on them. Of an invite, `asked_e164`, `code`, `code_until` and `evidence` hold a yes from its page, which counts only once a
 * text or call from that number brings the code. `address` and `port_details` are sealed, and cleared as soon as nobody needs them; a released number
 * keeps its row, since consents and opt-outs name it.
 */
import type { Migration } from '../../../kit/store/store.ts';

export const phoneNumberMigrations: readonly Migration[] = [
  {
    area: 'phone-numbers',
    number: 1,
    name: 'numbers and invites',
    sql: `
      CREATE TABLE phone_number (
        id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        e164 TEXT NOT NULL,
        type TEXT NOT NULL CHECK (type IN ('local', 'toll_free')),
        country TEXT NOT NULL,
        locality TEXT,
        monthly_cost TEXT,
        carrier TEXT NOT NULL,
        origin TEXT NOT NULL CHECK (origin IN ('bought', 'ported')),
        phase TEXT NOT NULL CHECK (phase IN ('buying', 'porting', 'held', 'releasing', 'failed', 'gone')),
        problem TEXT,
        fault TEXT,
        told INTEGER NOT NULL DEFAULT 0,
        order_id TEXT,
        carrier_number_id TEXT,
        profile_id TEXT,
        sms_state TEXT NOT NULL,
        voice_state TEXT NOT NULL,
        runtime_id TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        bot_name TEXT,
        address_hash TEXT UNIQUE,
        address TEXT,
        port_state TEXT,
        port_messaging TEXT,
        port_problems TEXT,
        port_ready_on INTEGER,
        port_given TEXT,
        port_details TEXT,
        looked_at INTEGER,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        ended_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX phone_number_taken ON phone_number (e164)
        WHERE phase IN ('buying', 'porting', 'held', 'releasing');
      CREATE INDEX phone_number_of ON phone_number (user_id, created_at);
      CREATE INDEX phone_number_at ON phone_number (runtime_id);
      CREATE INDEX phone_number_order ON phone_number (order_id) WHERE order_id IS NOT NULL;
      CREATE TABLE phone_invite (
        id TEXT PRIMARY KEY,
        number_id TEXT NOT NULL,
        token_hash TEXT NOT NULL UNIQUE,
        token TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER,
        used_by TEXT
      ) STRICT;
      CREATE INDEX phone_invite_of ON phone_invite (number_id, created_at);
    `,
  },
  {
    area: 'phone-numbers',
    number: 2,
    name: 'an invite waits for the number to say so itself',
    sql: `
      ALTER TABLE phone_invite ADD COLUMN asked_e164 TEXT;
      ALTER TABLE phone_invite ADD COLUMN code TEXT;
      ALTER TABLE phone_invite ADD COLUMN code_until INTEGER;
      ALTER TABLE phone_invite ADD COLUMN evidence TEXT;
      CREATE INDEX phone_invite_asked ON phone_invite (number_id, asked_e164) WHERE used_at IS NULL AND asked_e164 IS NOT NULL;
    `,
  },
  {
    area: 'phone-numbers',
    number: 3,
    name: 'what a number costs at its start, and since when it is here',
    sql: `
      ALTER TABLE phone_number ADD COLUMN upfront_cost TEXT;
      ALTER TABLE phone_number ADD COLUMN held_at INTEGER;
    `,
  },
];
