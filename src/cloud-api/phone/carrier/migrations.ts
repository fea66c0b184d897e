/** Steps begun at the carrier that cost money, and their results. `result` is JSON; NULL: unknown yet. */
import type { Migration } from '../../../kit/store/store.ts';

export const phoneCarrierMigrations: readonly Migration[] = [
  {
    area: 'phone-carrier',
    number: 1,
    name: 'paid steps',
    sql: `
      CREATE TABLE phone_paid_step (
        key TEXT PRIMARY KEY,
        result TEXT,
        holder TEXT NOT NULL,
        held_until INTEGER NOT NULL,
        acted_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX phone_paid_step_done ON phone_paid_step (acted_at) WHERE result IS NOT NULL;
    `,
  },
];
