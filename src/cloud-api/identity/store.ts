/** Codes and sessions of `cloud.db`, by hash only: whole operations (architecture.md 10). */
import type { Migration, Store } from '../../kit/store/store.ts';

export const identityMigrations: readonly Migration[] = [
  {
    area: 'identity',
    number: 1,
    name: 'codes and sessions',
    sql: `
CREATE TABLE open_code (
  digest TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE session (
  digest TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
];

export interface SessionRow {
  digest: string;
  user_id: string;
  created_at: number;
  used_at: number;
}

export interface IdentityStore {
  addCode(digest: string, expiresAt: number, now: number): Promise<void>;
  /** Takes the code out of the world, then says whether it was still good: of many at once, one wins. */
  takeCode(digest: string, now: number): Promise<boolean>;
  addSession(row: SessionRow): Promise<void>;
  touchSession(digest: string, now: number): Promise<void>;
  removeSession(digest: string): Promise<void>;
  /** Removes sessions unused since `idleBefore` or made before `madeBefore`, and answers the others. */
  liveSessions(idleBefore: number, madeBefore: number): Promise<SessionRow[]>;
}

export function createIdentityStore(store: Store): IdentityStore {
  return {
    addCode: (digest, expiresAt, now) =>
      store.write((tx) => {
        tx.run('DELETE FROM open_code WHERE expires_at < ?', now);
        tx.run('INSERT INTO open_code (digest, expires_at) VALUES (?, ?)', digest, expiresAt);
      }),
    takeCode: (digest, now) =>
      store.write((tx) => {
        const row = tx.get<{ expires_at: number }>('SELECT expires_at FROM open_code WHERE digest = ?', digest);
        const taken = tx.run('DELETE FROM open_code WHERE digest = ?', digest).changes === 1;
        return taken && row !== undefined && row.expires_at > now;
      }),
    addSession: (row) =>
      store.write((tx) => {
        tx.run(
          'INSERT INTO session (digest, user_id, created_at, used_at) VALUES (?, ?, ?, ?)',
          row.digest,
          row.user_id,
          row.created_at,
          row.used_at,
        );
      }),
    touchSession: (digest, now) =>
      store.write((tx) => {
        tx.run('UPDATE session SET used_at = ? WHERE digest = ?', now, digest);
      }),
    removeSession: (digest) =>
      store.write((tx) => {
        tx.run('DELETE FROM session WHERE digest = ?', digest);
      }),
    liveSessions: (idleBefore, madeBefore) =>
      store.write((tx) => {
        tx.run('DELETE FROM session WHERE used_at < ? OR created_at < ?', idleBefore, madeBefore);
        return tx.all<SessionRow>('SELECT digest, user_id, created_at, used_at FROM session');
      }),
  };
}
