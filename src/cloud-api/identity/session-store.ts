/** Sign-ins in `cloud.db`, stored only as hashes: whole operations. */
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { Changes } from './changes.ts';

export interface SignInRow {
  readonly digest: string;
  readonly id: string;
  readonly user_id: string;
  /** `browser`: by a cookie. `home`: a paired computer's own server, for its person. */
  readonly kind: 'browser' | 'home';
  readonly device: string;
  /** The computer of a `home`. */
  readonly computer_id: string | null;
  readonly created_at: number;
  readonly used_at: number;
}

export interface SessionStore {
  /** Replaces the computer's previous credential and returns that one's hash. */
  add(row: SignInRow): Promise<string | null>;
  find(digest: string): Promise<SignInRow | null>;
  byId(id: string): Promise<SignInRow | null>;
  touch(digest: string, now: number): Promise<void>;
  /** `replacedBy`: the sign-in that the same browser now uses. */
  remove(row: SignInRow, replacedBy?: string): Promise<void>;
  removeHome(computerId: string): Promise<SignInRow | null>;
  /** Newest first. */
  ofUser(userId: string): Promise<SignInRow[]>;
  /** Removes browsers unused since `idleBefore` or signed in before `madeBefore`. */
  removeOld(idleBefore: number, madeBefore: number): Promise<void>;
}

const columns = 'digest, id, user_id, kind, device, computer_id, created_at, used_at';

export function createSessionStore(store: SharedStore, changes: Pick<Changes, 'note'>): SessionStore {
  function* homeOf(tx: SharedReader, computerId: string): Op<SignInRow | null> {
    return (yield* tx.get<SignInRow>(`SELECT ${columns} FROM sign_in WHERE computer_id = ?`, computerId)) ?? null;
  }
  function* drop(tx: SharedTx, { id, digest }: SignInRow, replacedBy?: string): Op<void> {
    yield* tx.run('DELETE FROM sign_in WHERE digest = ?', digest);
    yield* changes.note(tx, { kind: 'session', id, digest, over: true, replacedBy });
  }
  return {
    add: (row) =>
      store.write(function* (tx) {
        const before = row.computer_id === null ? null : yield* homeOf(tx, row.computer_id);
        if (before !== null) yield* drop(tx, before);
        yield* tx.run(
          `INSERT INTO sign_in (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
          row.digest,
          row.id,
          row.user_id,
          row.kind,
          row.device,
          row.computer_id,
          row.created_at,
          row.used_at,
        );
        return before?.digest ?? null;
      }),
    find: async (digest) =>
      (await store.get<SignInRow>(`SELECT ${columns} FROM sign_in WHERE digest = ?`, digest)) ?? null,
    byId: async (id) => (await store.get<SignInRow>(`SELECT ${columns} FROM sign_in WHERE id = ?`, id)) ?? null,
    async touch(digest, now) {
      const sql = 'UPDATE sign_in SET used_at = ? WHERE digest = ? AND used_at < ?';
      await store.write((tx) => tx.run(sql, now, digest, now), { isolation: 'rows' });
    },
    remove: (row, replacedBy) => store.write((tx) => drop(tx, row, replacedBy)),
    removeHome: (computerId) =>
      store.write(function* (tx) {
        const row = yield* homeOf(tx, computerId);
        if (row !== null) yield* drop(tx, row);
        return row;
      }),
    ofUser: (userId) =>
      store.all<SignInRow>(
        `SELECT ${columns} FROM sign_in WHERE user_id = ? ORDER BY created_at DESC, id DESC`,
        userId,
      ),
    async removeOld(idleBefore, madeBefore) {
      const sql = (column: string) => `DELETE FROM sign_in WHERE kind = 'browser' AND ${column} < ?`;
      await store.write(
        function* (tx) {
          yield* tx.run(sql('used_at'), idleBefore);
          yield* tx.run(sql('created_at'), madeBefore);
        },
        { isolation: 'rows' },
      );
    },
  };
}
