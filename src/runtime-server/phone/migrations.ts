/** Tables of this computer's numbers as the cloud reports them, and of the texts it has brought. */
import type { Migration } from '../../kit/store/store.ts';

export const phoneMigrations: readonly Migration[] = [
  {
    area: 'phone',
    number: 1,
    name: 'numbers and texts that came',
    sql: `
CREATE TABLE phone_number (id TEXT PRIMARY KEY, e164 TEXT NOT NULL, bot_id TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE phone_text (message_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`,
  },
];
