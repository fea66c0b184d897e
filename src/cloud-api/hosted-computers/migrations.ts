/** Tables of hosted computers. Times are milliseconds of the store's clock; minutes and actions are kept in thousandths. */
import type { Migration } from '../../kit/store/store.ts';

export const hostedComputerMigrations: readonly Migration[] = [
  {
    area: 'hosted-computers',
    number: 1,
    name: 'computers, their events, meters and approvals',
    sql: `
      CREATE TABLE hosted_computer (
        id TEXT PRIMARY KEY,
        project_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        key_id TEXT,
        account_id TEXT,
        name TEXT NOT NULL,
        metadata TEXT NOT NULL,
        phase TEXT NOT NULL,
        starts INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        started_at INTEGER,
        used_at INTEGER NOT NULL,
        metered_at INTEGER,
        ended_at INTEGER,
        next_event INTEGER NOT NULL,
        lock_id TEXT,
        lock_until INTEGER
      ) STRICT;
      CREATE INDEX hosted_computer_list ON hosted_computer (project_id, created_at, id);
      CREATE INDEX hosted_computer_there ON hosted_computer (phase, used_at) WHERE phase <> 'deleted';
      CREATE TABLE hosted_event (
        computer_id TEXT NOT NULL,
        event_index INTEGER NOT NULL,
        type TEXT NOT NULL,
        at INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (computer_id, event_index)
      ) STRICT;
      CREATE TABLE hosted_meter (
        computer_id TEXT NOT NULL,
        id TEXT NOT NULL,
        meter TEXT NOT NULL,
        thousandths INTEGER NOT NULL,
        key_id TEXT,
        window_start INTEGER NOT NULL,
        PRIMARY KEY (computer_id, id)
      ) STRICT;
      CREATE TABLE hosted_spend (
        project_id TEXT NOT NULL,
        month TEXT NOT NULL,
        micro_usd INTEGER NOT NULL,
        PRIMARY KEY (project_id, month)
      ) STRICT;
      CREATE TABLE hosted_call (
        id TEXT PRIMARY KEY,
        computer_id TEXT NOT NULL,
        key_id TEXT,
        until INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX hosted_call_computer ON hosted_call (computer_id);
      CREATE INDEX hosted_call_key ON hosted_call (key_id);
      CREATE TABLE hosted_approval (
        id TEXT PRIMARY KEY,
        computer_id TEXT NOT NULL,
        member TEXT NOT NULL,
        toolset TEXT NOT NULL,
        risk TEXT NOT NULL,
        words TEXT NOT NULL,
        requested_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        resolved_by TEXT,
        told_at INTEGER
      ) STRICT;
      CREATE INDEX hosted_approval_computer ON hosted_approval (computer_id, requested_at);
      CREATE TABLE hosted_settings (
        project_id TEXT PRIMARY KEY,
        approval_mode TEXT NOT NULL,
        per_key_concurrency INTEGER NOT NULL,
        browser_toolset INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE hosted_pool (
        name TEXT PRIMARY KEY,
        running INTEGER NOT NULL,
        idle_seconds INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE hosted_job (
        name TEXT PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    area: 'hosted-computers',
    number: 2,
    name: 'which deleted computers their driver may still have',
    sql: `
      ALTER TABLE hosted_computer ADD COLUMN removed_at INTEGER;
      CREATE INDEX hosted_computer_left ON hosted_computer (id) WHERE phase = 'deleted' AND removed_at IS NULL;
    `,
  },
  {
    area: 'hosted-computers',
    number: 3,
    name: 'those that are there are found beside very many that were deleted',
    sql: `
      DROP INDEX hosted_computer_list;
      CREATE INDEX hosted_computer_list ON hosted_computer (project_id, created_at, id) WHERE phase <> 'deleted';
      CREATE INDEX hosted_computer_present ON hosted_computer (id) WHERE phase <> 'deleted';
      CREATE INDEX hosted_computer_locked ON hosted_computer (id) WHERE lock_id IS NOT NULL;
    `,
  },
  {
    area: 'hosted-computers',
    number: 4,
    name: 'what a sleeping computer keeps',
    sql: `ALTER TABLE hosted_computer ADD COLUMN sleep_keeps TEXT NOT NULL DEFAULT 'memory';`,
  },
  {
    area: 'hosted-computers',
    number: 5,
    name: 'computers without a screen, and without a network',
    sql: `
      ALTER TABLE hosted_computer ADD COLUMN toolset TEXT NOT NULL DEFAULT 'desktop';
      ALTER TABLE hosted_computer ADD COLUMN egress TEXT NOT NULL DEFAULT 'public';
    `,
  },
  {
    area: 'hosted-computers',
    number: 6,
    name: 'computers of an image, with limits and a lifetime of their own',
    sql: `
      ALTER TABLE hosted_computer ADD COLUMN image TEXT;
      ALTER TABLE hosted_computer ADD COLUMN memory INTEGER;
      ALTER TABLE hosted_computer ADD COLUMN processes INTEGER;
      ALTER TABLE hosted_computer ADD COLUMN lifetime INTEGER;
    `,
  },
  {
    area: 'hosted-computers',
    number: 7,
    name: 'computer hosts that joined, and which computers they have',
    sql: `
      CREATE TABLE computer_host (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        removed_at INTEGER
      ) STRICT;
      CREATE TABLE hosted_place (
        computer_id TEXT PRIMARY KEY,
        host TEXT NOT NULL
      ) STRICT;
      CREATE INDEX hosted_place_of_host ON hosted_place (host);
    `,
  },
];
