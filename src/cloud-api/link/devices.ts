/**
 * The signing key of each computer, sealed and not hashed: signatures are made with the token's hash, so the hash would be as good as the token. A
 * new token takes over with its first use, so that a lost answer locks no computer out; from then on the previous one is valid for another hour. Must
 * not know routes.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { KnownDevice } from '../../kit/signing/authenticator.ts';
import { signingKey } from '../../kit/signing/signature.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';

export interface Devices {
  /** Null: unknown or revoked. The first key is the one to sign with. */
  find(computerId: string): Promise<KnownDevice | null>;
  /** A request was signed with this key; if the key is new, it takes over now. */
  used(computerId: string, key: string): Promise<void>;
  /** Adds a token beside the existing ones; null: unknown or revoked. */
  rotate(computerId: string): Promise<string | null>;
  /** A token as stored in a row of `computer`. */
  seal(computerId: string, token: string): string;
  /** Writes to an existing row: `token` becomes the only one, or the old one is kept for an hour. */
  replace(tx: SharedTx, computerId: string, token: string): Op<void>;
}

/** Limit of opened keys in memory. */
const maxOpened = 1000;
/** Long enough for requests that were signed before the change to arrive. */
const previousRetentionMs = 60 * 60_000;

interface KeyRow {
  readonly user_id: string;
  readonly token: string;
  readonly next_token: string | null;
  readonly previous_token: string | null;
  readonly previous_until: number | null;
}

const select = `SELECT user_id, token, next_token, previous_token, previous_until FROM computer
  WHERE id = ? AND revoked_at IS NULL`;

export function createDevices({
  store,
  sealer,
  clock,
}: {
  readonly store: SharedStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
}): Devices {
  // Part of every existing seal; the name is that of the first table.
  const place = (computerId: string) => `runtime_device|token|${computerId}`;
  /** Opened keys; a sealed row always opens to the same key. */
  const opened = new Map<string, string>();

  /** None if it was sealed under a master key that is gone. */
  function keyOf(computerId: string, sealed: string | null): string[] {
    if (sealed === null) return [];
    const known = opened.get(sealed);
    if (known !== undefined) return [known];
    const token = open(sealed, computerId);
    if (token === null) return [];
    const key = signingKey(token);
    if (opened.size > maxOpened) opened.clear();
    opened.set(sealed, key);
    return [key];
  }

  function open(sealed: string, computerId: string): string | null {
    try {
      return sealer.open(place(computerId), sealed);
    } catch {
      return null;
    }
  }

  const seal = (computerId: string, token: string) => sealer.seal(place(computerId), token);

  return {
    seal,
    async find(computerId) {
      const row = await store.get<KeyRow>(select, computerId);
      if (row === undefined) return null;
      const recent = (row.previous_until ?? 0) > clock.now() ? row.previous_token : null;
      const keys = [row.token, row.next_token, recent].flatMap((sealed) => keyOf(computerId, sealed));
      return keys.length === 0 ? null : { userId: row.user_id, keys };
    },
    async used(computerId, key) {
      const row = await store.get<KeyRow>(select, computerId);
      if (row === undefined || row.next_token === null || keyOf(computerId, row.next_token)[0] !== key) return;
      const sql = `UPDATE computer SET previous_token = token, previous_until = ?, token = next_token, next_token = NULL
        WHERE id = ? AND next_token = ?`;
      const { next_token: next } = row;
      await store.write((tx) => tx.run(sql, clock.now() + previousRetentionMs, computerId, next), {
        isolation: 'rows',
      });
    },
    rotate: (computerId) =>
      store.write(function* (tx) {
        const token = newToken();
        const sql = 'UPDATE computer SET next_token = ? WHERE id = ? AND revoked_at IS NULL';
        return (yield* tx.run(sql, seal(computerId, token), computerId)).changes === 1 ? token : null;
      }),
    *replace(tx, computerId, token) {
      const row = yield* tx.get<KeyRow>(select, computerId);
      if (row === undefined || open(row.token, computerId) === token) return;
      const sql = `UPDATE computer SET previous_token = token, previous_until = ?, token = ?, next_token = NULL WHERE id = ?`;
      yield* tx.run(sql, clock.now() + previousRetentionMs, seal(computerId, token), computerId);
    },
  };
}
