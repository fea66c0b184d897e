/**
 * Registrations, their timelines, and the codes that sole proprietors got. `form` is masked; `ein` is sealed and stored only until its registry has
 * decided. `identity` and `texts` are digests of the business and of its texts: equal ones are filed once. `look_at`: when it is next checked; NULL:
 * nothing moves without an event.
 */
import type { Migration } from '../../../kit/store/store.ts';

export const phoneRegistrationMigrations: readonly Migration[] = [
  {
    area: 'phone-registration',
    number: 1,
    name: 'registrations, their steps and codes',
    sql: `
      CREATE TABLE phone_registration (
        id TEXT PRIMARY KEY,
        number_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        e164 TEXT NOT NULL,
        kind TEXT NOT NULL,
        stage TEXT NOT NULL,
        form TEXT NOT NULL,
        revision INTEGER NOT NULL,
        identity TEXT NOT NULL,
        texts TEXT NOT NULL,
        ein TEXT,
        reason TEXT,
        problems TEXT NOT NULL,
        waiting TEXT,
        retry_at INTEGER,
        look_at INTEGER,
        read_at INTEGER NOT NULL,
        brand_key TEXT NOT NULL,
        brand_id TEXT,
        campaign_key TEXT NOT NULL,
        campaign_id TEXT,
        request_id TEXT,
        code_confirmed_at INTEGER,
        approved_at INTEGER,
        created_at INTEGER NOT NULL,
        followed_at INTEGER,
        ended_at INTEGER,
        fees_ended_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX phone_registration_number ON phone_registration (number_id) WHERE followed_at IS NULL;
      CREATE INDEX phone_registration_identity ON phone_registration (user_id, identity);
      CREATE INDEX phone_registration_look ON phone_registration (look_at) WHERE look_at IS NOT NULL;
      CREATE INDEX phone_registration_brand ON phone_registration (brand_id);
      CREATE INDEX phone_registration_campaign ON phone_registration (campaign_key);
      CREATE INDEX phone_registration_campaign_id ON phone_registration (campaign_id);
      CREATE INDEX phone_registration_e164 ON phone_registration (e164);
      CREATE TABLE phone_registration_step (
        registration_id TEXT NOT NULL,
        n INTEGER NOT NULL,
        step TEXT NOT NULL,
        state TEXT NOT NULL,
        text TEXT NOT NULL,
        field TEXT,
        at INTEGER NOT NULL,
        PRIMARY KEY (registration_id, n)
      ) STRICT;
      CREATE TABLE phone_registration_code (
        id TEXT PRIMARY KEY,
        registration_id TEXT NOT NULL,
        mobile TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        tries INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX phone_registration_code_of ON phone_registration_code (registration_id, asked_at);
      CREATE INDEX phone_registration_code_mobile ON phone_registration_code (mobile, asked_at);
    `,
  },
  {
    area: 'phone-registration',
    number: 2,
    name: 'since when a campaign is paid for',
    sql: 'ALTER TABLE phone_registration ADD COLUMN campaign_filed_at INTEGER',
  },
  {
    area: 'phone-registration',
    number: 3,
    name: 'corrections of what is registered',
    // `brand_asked`: 1 if the registry must get the business again before its campaign.
    sql: `
      ALTER TABLE phone_registration ADD COLUMN brand_asked INTEGER NOT NULL DEFAULT 0;
      CREATE TABLE phone_registration_correction (
        id TEXT PRIMARY KEY,
        registration_id TEXT NOT NULL,
        brand_key TEXT NOT NULL,
        campaign_key TEXT NOT NULL,
        stage TEXT NOT NULL,
        fields TEXT NOT NULL,
        form TEXT NOT NULL,
        form_before TEXT NOT NULL,
        reason TEXT,
        problems TEXT NOT NULL,
        waiting TEXT,
        retry_at INTEGER,
        created_at INTEGER NOT NULL,
        ended_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX phone_registration_correction_open ON phone_registration_correction (brand_key) WHERE ended_at IS NULL;
      CREATE INDEX phone_registration_correction_of ON phone_registration_correction (brand_key, created_at);
    `,
  },
];
