/** Tables of the files that decide what may run, with the content that their person agreed to. */
import type { Migration } from '../../kit/store/store.ts';

export const trustMigrations: readonly Migration[] = [
  {
    area: 'trust',
    number: 1,
    name: 'files that say what may run',
    sql: `
CREATE TABLE trust_file (
  path TEXT PRIMARY KEY,
  hash TEXT,
  content TEXT,
  ran INTEGER NOT NULL,
  refused TEXT,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE trust_told (workspace TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;
`,
  },
];
