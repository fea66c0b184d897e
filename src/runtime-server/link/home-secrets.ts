/**
 * The secrets with which this computer signs in at its home cloud, sealed in `runtime.db`; the pairing file names the row. The row also holds the
 * cloud's address, so that a changed file cannot hand the token to another cloud. Must not know HTTP.
 */
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { Store } from '../../kit/store/store.ts';

export interface HomeSecret {
  readonly ref: string;
  readonly cloudUrl: string;
  readonly computerId: string;
  readonly user: { readonly id: string; readonly name: string };
  readonly deviceToken: string;
  /** The previous one, for requests that the cloud signed with it. */
  readonly previousToken: string | null;
  readonly homeCredential: string;
  /** When the device token was made, milliseconds since the epoch. */
  readonly tokenAt: number;
}

export interface HomeSecrets {
  /** The only ones from now on. */
  put(secret: Omit<HomeSecret, 'previousToken'>): Promise<void>;
  /** Null: there is no such row, or it was sealed under another master key. */
  get(ref: string): Promise<HomeSecret | null>;
  /** A new device token. The previous one stays for requests under way. */
  replaceToken(ref: string, token: string, at: number): Promise<void>;
  clear(): Promise<void>;
}

interface Row {
  readonly ref: string;
  readonly cloud_url: string;
  readonly computer_id: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly device_token: string;
  readonly previous_token: string | null;
  readonly home_credential: string;
  readonly token_at: number;
}

export function createHomeSecrets({ store, sealer }: { store: Store; sealer: Sealer }): HomeSecrets {
  const place = (column: string, ref: string, cloudUrl: string) => `home_secret|${column}|${ref}|${cloudUrl}`;
  const tokenPlace = (ref: string, cloudUrl: string) => place('device_token', ref, cloudUrl);
  const read = (ref: string) => store.read((tx) => tx.get<Row>('SELECT * FROM home_secret WHERE ref = ?', ref));

  return {
    put: ({ ref, cloudUrl, computerId, user, deviceToken, homeCredential, tokenAt }) =>
      store.write((tx) => {
        tx.run('DELETE FROM home_secret');
        const sql = `INSERT INTO home_secret (ref, cloud_url, computer_id, user_id, user_name, device_token, home_credential, token_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
        const token = sealer.seal(tokenPlace(ref, cloudUrl), deviceToken);
        const credential = sealer.seal(place('home_credential', ref, cloudUrl), homeCredential);
        tx.run(sql, ref, cloudUrl, computerId, user.id, user.name, token, credential, tokenAt);
      }),
    async get(ref) {
      const row = await read(ref);
      if (row === undefined) return null;
      const { cloud_url: cloudUrl, previous_token: previous } = row;
      try {
        return {
          ref,
          cloudUrl,
          computerId: row.computer_id,
          user: { id: row.user_id, name: row.user_name },
          deviceToken: sealer.open(tokenPlace(ref, cloudUrl), row.device_token),
          previousToken: previous === null ? null : sealer.open(tokenPlace(ref, cloudUrl), previous),
          homeCredential: sealer.open(place('home_credential', ref, cloudUrl), row.home_credential),
          tokenAt: row.token_at,
        };
      } catch {
        return null;
      }
    },
    async replaceToken(ref, token, at) {
      const row = await read(ref);
      if (row === undefined) return;
      const sealed = sealer.seal(tokenPlace(ref, row.cloud_url), token);
      const sql = 'UPDATE home_secret SET previous_token = device_token, device_token = ?, token_at = ? WHERE ref = ?';
      await store.write((tx) => tx.run(sql, sealed, at, ref));
    },
    clear: async () => {
      await store.write((tx) => tx.run('DELETE FROM home_secret'));
    },
  };
}
