/** The carrier's posts of the last seven days, by a hash of each id, so that each is taken once. Never their content. */
import type { Migration } from '../../../kit/store/store.ts';

export const phoneWebhookMigrations: readonly Migration[] = [
  {
    area: 'phone-webhooks',
    number: 1,
    name: 'receipts',
    sql: `
      CREATE TABLE phone_webhook_receipt (
        id TEXT PRIMARY KEY,
        seen_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX phone_webhook_receipt_seen ON phone_webhook_receipt (seen_at);
    `,
  },
];
