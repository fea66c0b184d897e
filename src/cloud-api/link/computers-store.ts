/** Rows of computers as whole operations. A revoked one keeps its row, so that its id stays known, but no key. */
import type { Asked, Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';

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
  /** How far its clock is ahead of the cloud's; null: unknown. Milliseconds. */
  readonly clockAheadMs: number | null;
}

interface NewComputer {
  readonly id: string;
  readonly cloudId: string;
  readonly userId: string;
  readonly name: string;
  readonly version: string;
  readonly embedded: boolean;
  readonly at: number;
  readonly sealedToken: string;
}

const columns = `id, cloud_id AS "cloudId", user_id AS "userId", name, version, embedded, is_default AS "isDefault",
  paired_at AS "pairedAt", seen_at AS "seenAt", revoked_at AS "revokedAt",
  clock_ahead_ms AS "clockAheadMs"`;
/** The default comes first: the one that the person chose, otherwise the first that was paired. */
const ordered = 'ORDER BY is_default DESC, paired_at, id';

export function* readComputer(tx: SharedReader, id: string): Op<ComputerRow | null> {
  return (yield* tx.get<ComputerRow>(`SELECT ${columns} FROM computer WHERE id = ?`, id)) ?? null;
}

/** That person's computers, the default first. */
export function computersOf(tx: SharedReader, userId: string): Asked<ComputerRow[]> {
  return tx.all<ComputerRow>(
    `SELECT ${columns} FROM computer WHERE user_id = ? AND revoked_at IS NULL ${ordered}`,
    userId,
  );
}

/** By its own id or the cloud's. */
export function* findComputer(tx: SharedReader, userId: string, id: string): Op<ComputerRow | null> {
  const sql = `SELECT ${columns} FROM computer WHERE (id = ? OR cloud_id = ?) AND user_id = ? AND revoked_at IS NULL`;
  return (yield* tx.get<ComputerRow>(sql, id, id, userId)) ?? null;
}

/** Paired again by the same person, it keeps the cloud's id; its earlier keys are gone. */
export function putComputer(tx: SharedTx, computer: NewComputer): Asked<unknown> {
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
  return tx.run(sql, id, cloudId, userId, name, version, embedded ? 1 : 0, at, sealedToken);
}

export function describeComputer(
  tx: SharedTx,
  id: string,
  { name, version }: { name: string; version: string },
): Asked<unknown> {
  return tx.run('UPDATE computer SET name = ?, version = ? WHERE id = ?', name, version, id);
}

export function noteClock(tx: SharedTx, id: string, aheadMs: number): Asked<unknown> {
  return tx.run('UPDATE computer SET clock_ahead_ms = ? WHERE id = ?', aheadMs, id);
}

export function renameComputer(tx: SharedTx, id: string, name: string): Asked<unknown> {
  return tx.run('UPDATE computer SET name = ? WHERE id = ?', name, id);
}

export function makeDefault(tx: SharedTx, userId: string, id: string): Asked<unknown> {
  return tx.run('UPDATE computer SET is_default = CASE WHEN id = ? THEN 1 ELSE 0 END WHERE user_id = ?', id, userId);
}

/** False: it was revoked before. */
export function* revokeComputerRow(tx: SharedTx, id: string, at: number): Op<boolean> {
  const sql = `UPDATE computer SET revoked_at = ?, is_default = 0, token = NULL, next_token = NULL, previous_token = NULL,
    previous_until = NULL WHERE id = ? AND revoked_at IS NULL`;
  return (yield* tx.run(sql, at, id)).changes === 1;
}

/** A pairing that has ended. */
interface Ending {
  readonly id: string;
  readonly at: number;
  readonly computerId: string;
  /** The pairing that replaced it; null: none did. */
  readonly pairing: number | null;
}

/** Pairings that ended, or were replaced, since then. */
export function endingsSince(store: SharedStore, at: number): Promise<Ending[]> {
  const sql = `SELECT id || ' ended ' || revoked_at AS id, revoked_at AS at, id AS "computerId", CAST(NULL AS BIGINT) AS pairing
      FROM computer WHERE revoked_at IS NOT NULL AND revoked_at > ?
    UNION ALL SELECT id || ' paired ' || paired_at, paired_at, id, paired_at
      FROM computer WHERE revoked_at IS NULL AND paired_at > ?`;
  return store.all<Ending>(sql, at, at);
}

/** The link came or went. */
export function noteSeen(store: SharedStore, id: string, at: number): Promise<unknown> {
  const sql = 'UPDATE computer SET seen_at = ? WHERE id = ?';
  return store.write((tx) => tx.run(sql, at, id), { isolation: 'rows' });
}
