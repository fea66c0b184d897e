/** Tables of identity in `cloud.db`. Secrets are stored only as hashes, so a copied database signs nobody in. */
import type { Migration } from '../../kit/store/store.ts';

export const identityMigrations: readonly Migration[] = [
  {
    area: 'identity',
    number: 1,
    name: 'codes and sessions',
    sql: `
CREATE TABLE open_code (
  digest TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE session (
  digest TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'identity',
    number: 2,
    name: 'people, sign-ins with names, keys, projects, prices',
    // A signed-in browser stays signed in; its id is part of the hash, which is no secret.
    sql: `
CREATE TABLE account (
  id TEXT PRIMARY KEY,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  email TEXT,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  UNIQUE (issuer, subject)
) STRICT;
CREATE TABLE sign_in (
  digest TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  device TEXT NOT NULL,
  computer_id TEXT UNIQUE,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_user ON sign_in (user_id);
INSERT INTO sign_in (digest, id, user_id, kind, device, computer_id, created_at, used_at)
  SELECT digest, 'session_' || substr(digest, 1, 26), user_id, 'browser', 'Browser', NULL, created_at, used_at FROM session;
DROP TABLE session;
CREATE TABLE api_key (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE INDEX api_key_user ON api_key (user_id);
CREATE TABLE project (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  hosted_driver_enabled INTEGER NOT NULL,
  spend_cap_cents INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE price (
  name TEXT PRIMARY KEY,
  millionths_of_cent INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
`,
  },
  {
    area: 'identity',
    number: 3,
    name: 'changes that other processes hear of',
    sql: `
CREATE TABLE identity_change (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  what TEXT NOT NULL
) STRICT;
CREATE INDEX identity_change_at ON identity_change (at);
`,
  },
  {
    area: 'identity',
    number: 4,
    name: 'projects by person',
    sql: 'CREATE INDEX project_user ON project (user_id, created_at, id)',
  },
  {
    area: 'identity',
    number: 5,
    name: 'keys for one address',
    sql: 'ALTER TABLE api_key ADD COLUMN resource TEXT',
  },
  {
    area: 'identity',
    number: 6,
    name: 'sign-ins that are over are found by their times',
    sql: `CREATE INDEX sign_in_used ON sign_in (used_at) WHERE kind = 'browser';
CREATE INDEX sign_in_made ON sign_in (created_at) WHERE kind = 'browser'`,
  },
  {
    area: 'identity',
    number: 7,
    name: 'keys for some tools',
    sql: 'ALTER TABLE api_key ADD COLUMN tools TEXT',
  },
];
