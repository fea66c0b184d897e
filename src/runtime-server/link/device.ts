/**
 * This computer's identity towards the cloud of its own process: a device token, made at the first start and kept sealed in
 * `runtime.db`. Requests in both directions are signed with the key made from it. The secrets for a paired cloud are in
 * `home-secrets.ts`. Must not know routes.
 */

import type { Sealer } from '../../kit/secrets/sealer.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { Migration } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';

export const deviceMigrations: readonly Migration[] = [
  {
    area: 'link',
    number: 1,
    name: 'device',
    sql: `
      CREATE TABLE device (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        computer_id TEXT NOT NULL,
        token TEXT NOT NULL,
        made_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    area: 'link',
    number: 2,
    name: 'secrets of the home cloud',
    sql: `
      CREATE TABLE home_secret (
        ref TEXT PRIMARY KEY,
        cloud_url TEXT NOT NULL,
        computer_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        user_name TEXT NOT NULL,
        device_token TEXT NOT NULL,
        previous_token TEXT,
        home_credential TEXT NOT NULL,
        token_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
];

/** The device token; created if it is missing, or if the master key that sealed it is gone: then pairing has to be repeated. */
export async function ensureDeviceToken({
  store,
  sealer,
  clock,
  computerId,
  log,
}: Pick<Base, 'store' | 'clock'> & {
  readonly sealer: Sealer;
  readonly computerId: string;
  readonly log: { warn(message: string): void };
}): Promise<string> {
  const place = `device|token|${computerId}`;
  return store.write((tx) => {
    const row = tx.get<{ token: string }>('SELECT token FROM device WHERE one = 1 AND computer_id = ?', computerId);
    if (row !== undefined) {
      try {
        return sealer.open(place, row.token);
      } catch {
        log.warn(
          'The identity of this computer could not be opened: the master key has changed. It gets a new identity.',
        );
      }
    }
    const token = newToken();
    const sql = `INSERT INTO device (one, computer_id, token, made_at) VALUES (1, ?, ?, ?)
      ON CONFLICT (one) DO UPDATE SET computer_id = excluded.computer_id, token = excluded.token, made_at = excluded.made_at`;
    tx.run(sql, computerId, sealer.seal(place, token), clock.now());
    return token;
  });
}
