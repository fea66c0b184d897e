/** Rows of computers as whole operations. A revoked one keeps its row, so that its id stays known, and no key. */
import type { Store, Tx } from '../../kit/store/store.ts';

/** Times in milliseconds since the epoch. */
export interface ComputerRow {
  readonly id: string;
  readonly cloudId: string;
  readonly userId: string;
  readonly name: string;
  readonly version: string;
  readonly embedded: number;
  readonly isDefault: number;
  readonly pairedAt: number;
  /** When its link last came or went. */
  readonly seenAt: number | null;
  readonly revokedAt: number | null;
}

export interface NewComputer {
  readonly id: string;
  readonly cloudId: string;
  readonly userId: string;
  readonly name: string;
  readonly version: string;
  readonly embedded: boolean;
  readonly at: number;
  readonly sealedToken: string;
}

type Reader = Pick<Tx, 'get' | 'all'>;
const columns = `id, cloud_id AS cloudId, user_id AS userId, name, version, embedded, is_default AS isDefault,
  paired_at AS pairedAt, seen_at AS seenAt, revoked_at AS revokedAt`;
/** The default comes first; until a person chooses one it is the first that was paired. */
const ordered = 'ORDER BY is_default DESC, paired_at, id';

export function readComputer(tx: Reader, id: string): ComputerRow | null {
  return tx.get<ComputerRow>(`SELECT ${columns} FROM computer WHERE id = ?`, id) ?? null;
}

/** What that person has, the default first. */
export function computersOf(tx: Reader, userId: string): ComputerRow[] {
  return tx.all<ComputerRow>(
    `SELECT ${columns} FROM computer WHERE user_id = ? AND revoked_at IS NULL ${ordered}`,
    userId,
  );
}

/** By its own id or the cloud's. */
export function findComputer(tx: Reader, userId: string, id: string): ComputerRow | null {
  const sql = `SELECT ${columns} FROM computer WHERE (id = ? OR cloud_id = ?) AND user_id = ? AND revoked_at IS NULL`;
  return tx.get<ComputerRow>(sql, id, id, userId) ?? null;
}

/** Paired anew it keeps the cloud's id for as long as it stays with the same person; keys of before are gone. */
export function putComputer(tx: Tx, computer: NewComputer): void {
  const { id, cloudId, userId, name, version, embedded, at, sealedToken } = computer;
  const sql = `INSERT INTO computer (id, cloud_id, user_id, name, version, embedded, is_default, paired_at, token)
    VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
      cloud_id = CASE WHEN computer.user_id = excluded.user_id THEN computer.cloud_id ELSE excluded.cloud_id END,
      is_default = CASE WHEN computer.user_id = excluded.user_id AND computer.revoked_at IS NULL
        THEN computer.is_default ELSE 0 END,
      user_id = excluded.user_id, name = excluded.name, version = excluded.version, embedded = excluded.embedded,
      paired_at = excluded.paired_at, seen_at = NULL, revoked_at = NULL, token = excluded.token, next_token = NULL,
      previous_token = NULL, previous_until = NULL`;
  tx.run(sql, id, cloudId, userId, name, version, embedded ? 1 : 0, at, sealedToken);
}

export function describeComputer(tx: Tx, id: string, { name, version }: { name: string; version: string }): void {
  tx.run('UPDATE computer SET name = ?, version = ? WHERE id = ?', name, version, id);
}

export function renameComputer(tx: Tx, id: string, name: string): void {
  tx.run('UPDATE computer SET name = ? WHERE id = ?', name, id);
}

export function makeDefault(tx: Tx, userId: string, id: string): void {
  tx.run('UPDATE computer SET is_default = CASE WHEN id = ? THEN 1 ELSE 0 END WHERE user_id = ?', id, userId);
}

/** False: it was revoked before. */
export function revokeComputerRow(tx: Tx, id: string, at: number): boolean {
  const sql = `UPDATE computer SET revoked_at = ?, is_default = 0, token = NULL, next_token = NULL, previous_token = NULL,
    previous_until = NULL WHERE id = ? AND revoked_at IS NULL`;
  return tx.run(sql, at, id).changes === 1;
}

/** The link came or went. */
export function noteSeen(store: Store, id: string, at: number): Promise<unknown> {
  return store.write((tx) => tx.run('UPDATE computer SET seen_at = ? WHERE id = ?', at, id));
}
