/**
 * Apps at the edge: which program acts with a credential, noted at its first accepted use. Must not know endpoints,
 * tools or subscriptions.
 */
import type { EdgeApp } from '../../contracts/edge/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

/** The parts of an API key by which an app is shown. */
export interface AppKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Neither revoked nor expired. */
  readonly lives: boolean;
}

type ListedApp = Omit<EdgeApp, 'subscriptions'> & {
  /** Whether its credential is still valid, as far as can be known: false for a revoked key. */
  readonly lives: boolean;
};

export interface Apps {
  /** Notes its first use. Costs nothing after the first call. */
  admit(principal: Principal): Promise<void>;
  /** Newest first. */
  list(userId: string): Promise<ListedApp[]>;
}

interface AppRow {
  readonly client_id: string;
  readonly name: string;
  readonly scopes: string;
  readonly approved_at: number;
}

const keyPrefix = 'key:';
const tokenPrefix = 'oidc:';
/** Apps known to be stored, in this process. */
const maxKnown = 10_000;

/** The app behind a credential; null for a person who acts in person. */
export function clientIdOf({ kind, keyId, client }: Principal): string | null {
  if (kind === 'key') return keyId === undefined ? null : `${keyPrefix}${keyId}`;
  if (client?.startsWith(tokenPrefix) !== true) return null;
  const id = decoded(client.slice(tokenPrefix.length));
  // An OpenID client must never look like a key.
  return id.startsWith(keyPrefix) ? `${tokenPrefix}${id}` : id;
}

export function keyIdOf(clientId: string): string | null {
  return clientId.startsWith(keyPrefix) ? clientId.slice(keyPrefix.length) : null;
}

export function createApps({
  store,
  clock,
  keyOf,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  /** Null: it never existed. */
  readonly keyOf: (keyId: string) => Promise<AppKey | null>;
}): Apps {
  // The stored scopes by person and app; the oldest entry is evicted first.
  const known = new Map<string, string>();

  return {
    async admit(principal) {
      const clientId = clientIdOf(principal);
      if (clientId === null) return;
      const { userId } = principal;
      const place = `${userId} ${clientId}`;
      const scopes = [...principal.scopes].toSorted().join(' ');
      if (known.get(place) === scopes) return;
      const keyId = keyIdOf(clientId);
      const name = (keyId === null ? null : await keyOf(keyId))?.name ?? clientId;
      const now = clock.now();
      await store.write(
        function* (tx) {
          yield* tx.run(
            `INSERT INTO edge_app (user_id, client_id, name, scopes, approved_at) VALUES (?, ?, ?, ?, ?)
              ON CONFLICT (user_id, client_id) DO UPDATE SET scopes = excluded.scopes`,
            ...[userId, clientId, name, scopes, now],
          );
        },
        { isolation: 'statement' },
      );
      if (known.size >= maxKnown) known.delete(known.keys().next().value!);
      known.set(place, scopes);
    },
    async list(userId) {
      const sql = `SELECT client_id, name, scopes, approved_at FROM edge_app WHERE user_id = ?
        ORDER BY approved_at DESC, client_id`;
      const rows = await store.all<AppRow>(sql, userId);
      return Promise.all(rows.map(toListed));
    },
  };

  async function toListed({ client_id: clientId, name, scopes, approved_at: at }: AppRow): Promise<ListedApp> {
    const keyId = keyIdOf(clientId);
    const lives = keyId === null || (await keyOf(keyId))?.lives === true;
    const held = scopes === '' ? [] : scopes.split(' ');
    return { clientId, clientName: name, approvedAt: iso(at), scopes: held, lives };
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
