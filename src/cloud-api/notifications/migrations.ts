/**
 * The outcome of each event for its person, their preferences, their devices, and the tokens of a notification's buttons. `pending`: devices whose
 * first push has not ended yet. `answers`: a person registered it, not a program with a key.
 */
import type { Migration } from '../../kit/store/store.ts';

export const notificationMigrations: readonly Migration[] = [
  {
    area: 'notifications',
    number: 1,
    name: 'notifications and push',
    sql: `
      CREATE TABLE notification (
        event_id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        claimed_at INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('claimed', 'sent', 'off', 'unreachable', 'skipped')),
        pending INTEGER NOT NULL DEFAULT 0,
        read_at INTEGER
      ) STRICT;
      CREATE INDEX notification_unread ON notification (user_id) WHERE read_at IS NULL;
      CREATE TABLE notification_preference (
        user_id TEXT NOT NULL,
        event TEXT NOT NULL,
        enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
        PRIMARY KEY (user_id, event)
      ) STRICT;
      CREATE TABLE push_message (
        user_id TEXT NOT NULL,
        conversation TEXT NOT NULL,
        at INTEGER NOT NULL,
        direct INTEGER NOT NULL CHECK (direct IN (0, 1))
      ) STRICT;
      CREATE INDEX push_message_of_user ON push_message (user_id, at);
      CREATE TABLE push_device (
        id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        endpoint TEXT NOT NULL UNIQUE,
        p256dh TEXT NOT NULL,
        auth TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_sent_at INTEGER,
        last_outcome TEXT
      ) STRICT;
      CREATE INDEX push_device_of_user ON push_device (user_id);
      CREATE TABLE push_key (
        name TEXT PRIMARY KEY,
        public_key TEXT NOT NULL,
        private_key TEXT NOT NULL,
        made_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE push_action (
        token_hash TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        approval_id TEXT NOT NULL,
        device_id TEXT NOT NULL,
        expires_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX push_action_expiry ON push_action (expires_at);
    `,
  },
  {
    area: 'notifications',
    number: 2,
    name: 'devices whose notifications have buttons',
    sql: 'ALTER TABLE push_device ADD COLUMN answers INTEGER NOT NULL DEFAULT 0;',
  },
  {
    area: 'notifications',
    number: 3,
    name: 'devices end with the sign-in of their browser',
    sql: 'ALTER TABLE push_device ADD COLUMN session_id TEXT;',
  },
  {
    area: 'notifications',
    number: 4,
    name: 'how many there are, of questions and of the rest',
    // Counts along one index instead of reading each event.
    sql: `
      ALTER TABLE notification ADD COLUMN question INTEGER NOT NULL DEFAULT 0;
      UPDATE notification SET question = 1
        WHERE event_id IN (SELECT id FROM user_event WHERE type IN ('approval.requested', 'approval.resolved'));
      CREATE INDEX notification_counted ON notification (user_id, question, read_at);
    `,
  },
  {
    area: 'notifications',
    number: 5,
    name: 'the place in the list, and counts that are kept',
    // A page is read along an index, and showing the list counts no rows.
    sql: `
      ALTER TABLE notification ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
      UPDATE notification SET seq = COALESCE((SELECT e.seq FROM user_event e WHERE e.id = notification.event_id), 0);
      DROP INDEX notification_counted;
      DROP INDEX notification_unread;
      CREATE INDEX notification_listed ON notification (user_id, seq);
      CREATE INDEX notification_unread_listed ON notification (user_id, seq) WHERE read_at IS NULL;
      CREATE INDEX notification_marked ON notification (user_id, read_at) WHERE read_at IS NOT NULL;
      CREATE TABLE notification_count (
        user_id TEXT NOT NULL,
        question INTEGER NOT NULL,
        total INTEGER NOT NULL,
        unread INTEGER NOT NULL,
        PRIMARY KEY (user_id, question)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO notification_count (user_id, question, total, unread)
        SELECT user_id, question, count(*), count(*) - count(read_at) FROM notification GROUP BY user_id, question;
    `,
  },
  {
    area: 'notifications',
    number: 6,
    name: 'quiet hours and muted bots',
    // Minutes of the day by the clocks of the time zone; `held`: pushes held back since quiet hours began, for the digest.
    sql: `
      CREATE TABLE notification_quiet (
        user_id TEXT PRIMARY KEY,
        from_minute INTEGER,
        to_minute INTEGER,
        timezone TEXT NOT NULL,
        questions INTEGER NOT NULL CHECK (questions IN (0, 1)),
        digest INTEGER NOT NULL CHECK (digest IN (0, 1)),
        held INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX notification_quiet_held ON notification_quiet (user_id) WHERE held > 0;
      CREATE TABLE notification_muted_bot (
        user_id TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        PRIMARY KEY (user_id, bot_id)
      ) STRICT;
    `,
  },
];
