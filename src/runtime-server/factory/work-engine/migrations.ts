/** Tables of the work engine, up only. Times are milliseconds since the epoch; parties are `owner` or an agent's id. */
import type { Migration } from '../../../kit/store/store.ts';

export const workEngineMigrations: readonly Migration[] = [
  {
    area: 'work-engine',
    number: 1,
    name: 'mail',
    sql: `
CREATE TABLE engine_mail (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL,
  read_at INTEGER,
  in_reply_to TEXT
) STRICT;
CREATE INDEX engine_mail_in ON engine_mail (workspace, recipient, id);
CREATE INDEX engine_mail_out ON engine_mail (workspace, sender, id);
CREATE INDEX engine_mail_unread ON engine_mail (workspace, recipient, id) WHERE read_at IS NULL;
`,
  },
];
