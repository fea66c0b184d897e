/**
 * Who agreed to be called, references for one call each, calls with their legs, and whom they may be transferred to. Consents only grow. A leg's
 * `carrier_leg` is NULL until the carrier has named it; `asked_at`: when it was first spoken to. `look_at`: when a call under way is checked next.
 */
import type { Migration } from '../../../kit/store/store.ts';

export const phoneCallMigrations: readonly Migration[] = [
  {
    area: 'phone-calls',
    number: 1,
    name: 'consents, references, calls and targets',
    sql: `
      CREATE TABLE phone_consent (
        id TEXT PRIMARY KEY,
        number_id TEXT NOT NULL,
        e164 TEXT NOT NULL,
        source TEXT NOT NULL,
        evidence TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX phone_consent_of_number ON phone_consent (number_id, at, id);
      CREATE INDEX phone_consent_of_pair ON phone_consent (number_id, e164, at, id);
      CREATE TABLE phone_call_ref (
        hash TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('call', 'transfer')),
        number_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        peer TEXT NOT NULL,
        purpose TEXT NOT NULL,
        basis TEXT NOT NULL,
        call_id TEXT,
        expires_at INTEGER NOT NULL,
        used_at INTEGER,
        void_at INTEGER
      ) STRICT;
      CREATE INDEX phone_call_ref_of_pair ON phone_call_ref (number_id, peer);
      CREATE INDEX phone_call_ref_until ON phone_call_ref (expires_at);
      CREATE TABLE phone_call (
        id TEXT PRIMARY KEY,
        number_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        ours TEXT NOT NULL,
        peer TEXT NOT NULL,
        direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
        bot_id TEXT NOT NULL,
        bot_name TEXT,
        status TEXT NOT NULL CHECK (status IN ('ringing', 'active', 'held', 'transferring', 'ended')),
        muted INTEGER NOT NULL DEFAULT 0,
        basis TEXT,
        purpose TEXT,
        ref TEXT UNIQUE,
        session_id TEXT,
        attestation TEXT,
        transfer_to TEXT,
        transfer_mode TEXT CHECK (transfer_mode IN ('warm', 'cold')),
        transfer_state TEXT CHECK (transfer_state IN ('asking', 'accepted', 'declined', 'no_answer', 'busy', 'voicemail',
          'failed', 'stopped')),
        transfer_at INTEGER,
        started_at INTEGER NOT NULL,
        answered_at INTEGER,
        ended_at INTEGER,
        ended_because TEXT,
        look_at INTEGER NOT NULL,
        CHECK ((status = 'ended') = (ended_at IS NOT NULL))
      ) STRICT;
      CREATE INDEX phone_call_of_number ON phone_call (number_id, started_at, id);
      CREATE INDEX phone_call_of_pair ON phone_call (number_id, peer, started_at);
      CREATE INDEX phone_call_session ON phone_call (session_id) WHERE session_id IS NOT NULL;
      CREATE INDEX phone_call_live ON phone_call (user_id) WHERE ended_at IS NULL;
      CREATE INDEX phone_call_look ON phone_call (look_at) WHERE ended_at IS NULL;
      CREATE TABLE phone_call_leg (
        id TEXT PRIMARY KEY,
        call_id TEXT NOT NULL,
        role TEXT NOT NULL CHECK (role IN ('person', 'consult')),
        e164 TEXT NOT NULL,
        carrier_leg TEXT UNIQUE,
        state TEXT NOT NULL CHECK (state IN ('ringing', 'talking', 'held', 'ended')),
        ended_because TEXT,
        asked_at INTEGER,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX phone_call_leg_of_call ON phone_call_leg (call_id, at, id);
      CREATE TABLE phone_transfer_target (
        user_id TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        e164 TEXT NOT NULL,
        label TEXT NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (user_id, bot_id, e164)
      ) STRICT;
    `,
  },
];
