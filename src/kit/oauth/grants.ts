/**
 * The data of a sign-in at somebody else's server: registrations, tokens, and the sign-in under way. One sealed row for each target. Owns
 * `oauth_grant`. Must not know how a sign-in works.
 */
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Sealer } from '../secrets/sealer.ts';
import type { Migration, Store } from '../store/store.ts';

export const oauthMigrations: readonly Migration[] = [
  {
    area: 'oauth',
    number: 1,
    name: 'grants of other servers',
    sql: `
CREATE TABLE oauth_grant (
  target TEXT PRIMARY KEY,
  sealed TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
`,
  },
];

export interface Grant {
  /** By issuer. `redirect`: the registered redirect address; another address needs another registration. */
  readonly clients: Readonly<
    Record<string, { readonly client: StoredOAuthClientInformation; readonly redirect: string }>
  >;
  readonly tokens: {
    readonly set: StoredOAuthTokens;
    /** Milliseconds since the epoch. */
    readonly savedAt: number;
  } | null;
  /** The issuer of the last sign-in that gave a token. */
  readonly issuer: string | null;
  readonly pending: PendingSignIn | null;
}

export interface PendingSignIn {
  /** The unguessable part of the state. */
  readonly secret: string;
  readonly verifier: string;
  readonly redirect: string;
  readonly authorizeUrl: string;
  readonly discovery: OAuthDiscoveryState | null;
  readonly startedAt: number;
}

export interface Grants {
  /** Empty if there is none, and if it was sealed under another master key: the person signs in again. */
  read(target: string): Promise<Grant>;
  write(target: string, grant: Grant): Promise<void>;
  remove(target: string): Promise<void>;
}

export const noGrant: Grant = { clients: {}, tokens: null, issuer: null, pending: null };

export function createGrants({
  store,
  sealer,
  clock,
}: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly clock: { now(): number };
}): Grants {
  const place = (target: string) => `oauth_grant|sealed|${target}`;
  return {
    async read(target) {
      const sql = 'SELECT sealed FROM oauth_grant WHERE target = ?';
      const row = await store.read((tx) => tx.get<{ sealed: string }>(sql, target));
      if (row === undefined) return noGrant;
      try {
        return JSON.parse(sealer.open(place(target), row.sealed)) as Grant;
      } catch {
        return noGrant;
      }
    },
    async write(target, grant) {
      const sealed = sealer.seal(place(target), JSON.stringify(grant));
      const sql = `INSERT INTO oauth_grant (target, sealed, updated_at) VALUES (?, ?, ?)
        ON CONFLICT (target) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at`;
      await store.write((tx) => tx.run(sql, target, sealed, clock.now()));
    },
    async remove(target) {
      await store.write((tx) => tx.run('DELETE FROM oauth_grant WHERE target = ?', target));
    },
  };
}
