/** Sign-ins in `cloud.db`, by hash only: whole operations (architecture.md 10). */
import type { Store, Tx } from '../../kit/store/store.ts';

export interface SignInRow {
  readonly digest: string;
  readonly id: string;
  readonly user_id: string;
  /** `browser` by a cookie; `home`: a paired computer's own server, for its person. */
  readonly kind: 'browser' | 'home';
  readonly device: string;
  /** Of `home`: which one. */
  readonly computer_id: string | null;
  readonly created_at: number;
  readonly used_at: number;
}

export interface SessionStore {
  /** Takes the place of the computer's credential before, whose hash it answers. */
  add(row: SignInRow): Promise<string | null>;
  find(digest: string): Promise<SignInRow | null>;
  byId(id: string): Promise<SignInRow | null>;
  touch(digest: string, now: number): Promise<void>;
  remove(digest: string): Promise<void>;
  removeHome(computerId: string): Promise<SignInRow | null>;
  /** Newest first. */
  ofUser(userId: string): Promise<SignInRow[]>;
  /** Removes browsers unused since `idleBefore` or signed in before `madeBefore`. */
  removeOld(idleBefore: number, madeBefore: number): Promise<void>;
}

const columns = 'digest, id, user_id, kind, device, computer_id, created_at, used_at';

export function createSessionStore(store: Store): SessionStore {
  const homeOf = (tx: Pick<Tx, 'get'>, computerId: string) =>
    tx.get<SignInRow>(`SELECT ${columns} FROM sign_in WHERE computer_id = ?`, computerId) ?? null;
  return {
    add: (row) =>
      store.write((tx) => {
        const before = row.computer_id === null ? null : homeOf(tx, row.computer_id);
        if (before !== null) tx.run('DELETE FROM sign_in WHERE digest = ?', before.digest);
        tx.run(
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
    find: (digest) =>
      store.read((tx) => tx.get<SignInRow>(`SELECT ${columns} FROM sign_in WHERE digest = ?`, digest) ?? null),
    byId: (id) => store.read((tx) => tx.get<SignInRow>(`SELECT ${columns} FROM sign_in WHERE id = ?`, id) ?? null),
    touch: (digest, now) =>
      store.write((tx) => {
        tx.run('UPDATE sign_in SET used_at = ? WHERE digest = ?', now, digest);
      }),
    remove: (digest) =>
      store.write((tx) => {
        tx.run('DELETE FROM sign_in WHERE digest = ?', digest);
      }),
    removeHome: (computerId) =>
      store.write((tx) => {
        const row = homeOf(tx, computerId);
        if (row !== null) tx.run('DELETE FROM sign_in WHERE digest = ?', row.digest);
        return row;
      }),
    ofUser: (userId) =>
      store.read((tx) =>
        tx.all<SignInRow>(`SELECT ${columns} FROM sign_in WHERE user_id = ? ORDER BY created_at DESC, id DESC`, userId),
      ),
    removeOld: (idleBefore, madeBefore) =>
      store.write((tx) => {
        tx.run(
          "DELETE FROM sign_in WHERE kind = 'browser' AND (used_at < ? OR created_at < ?)",
          idleBefore,
          madeBefore,
        );
      }),
  };
}
