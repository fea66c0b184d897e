/** Which replica holds the link of a computer, and which replicas there are: rows as whole operations. Times are by the store's clock. */
import type { Asked, Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';

/** A computer, paired or hosted, with the replica that holds its link; without one, all but the first are null. */
export interface ReachRow {
  /** When its link last came or went. */
  readonly seenAt: number | null;
  readonly replica: string | null;
  readonly epoch: number | null;
  /** The bearer that the computer accepts over it, sealed. */
  readonly credential: string | null;
  /** Since when the replica holds it. */
  readonly at: number | null;
  /** Of the replica; null for one that is gone. */
  readonly address: string | null;
  /** When the replica last reported. */
  readonly beatAt: number | null;
}

interface Claim {
  readonly computerId: string;
  readonly replica: string;
  readonly epoch: number;
  readonly credential: string;
  readonly at: number;
  /** A replica that has not reported since then holds nothing. */
  readonly aliveSince: number;
}

export function findReach(store: SharedStore, computerId: string): Promise<ReachRow | undefined> {
  const sql = `SELECT k.seen_at AS "seenAt", c.replica, c.epoch, c.credential, c.at, r.address, r.seen_at AS "beatAt"
    FROM (SELECT CAST(? AS TEXT) AS id) a LEFT JOIN computer k ON k.id = a.id
      LEFT JOIN runtime_connection c ON c.computer_id = a.id LEFT JOIN cloud_replica r ON r.id = c.replica`;
  return store.get<ReachRow>(sql, computerId);
}

/** `lost`: another replica holds a newer one. `from`: the replica that held it before, for a notice. */
export function* claimConnection(tx: SharedTx, claim: Claim): Op<{ lost: boolean; from: string | null }> {
  const { computerId, replica, epoch, credential, at, aliveSince } = claim;
  const read = 'SELECT replica FROM runtime_connection WHERE computer_id = ?';
  const before = yield* tx.get<{ replica: string }>(read, computerId);
  const sql = `INSERT INTO runtime_connection (computer_id, replica, epoch, credential, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (computer_id) DO UPDATE SET replica = excluded.replica, epoch = excluded.epoch,
      credential = excluded.credential, at = excluded.at
    WHERE runtime_connection.epoch < excluded.epoch OR runtime_connection.replica = excluded.replica
      OR NOT EXISTS (SELECT 1 FROM cloud_replica r WHERE r.id = runtime_connection.replica AND r.seen_at > ?)`;
  const { changes } = yield* tx.run(sql, computerId, replica, epoch, credential, at, aliveSince);
  return { lost: changes === 0, from: before === undefined || before.replica === replica ? null : before.replica };
}

/** Unless another replica holds it now. */
export function releaseConnection(tx: SharedTx, computerId: string, replica: string): Asked<unknown> {
  return tx.run('DELETE FROM runtime_connection WHERE computer_id = ? AND replica = ?', computerId, replica);
}

export function heldBy(store: SharedStore, replica: string): Promise<{ id: string; epoch: number }[]> {
  return store.all('SELECT computer_id AS id, epoch FROM runtime_connection WHERE replica = ?', replica);
}

export function noteReplica(tx: SharedTx, id: string, address: string, at: number): Asked<unknown> {
  const sql = `INSERT INTO cloud_replica (id, address, seen_at) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen_at = excluded.seen_at`;
  return tx.run(sql, id, address, at);
}

export function* removeReplica(tx: SharedTx, id: string): Op<void> {
  yield* tx.run('DELETE FROM runtime_connection WHERE replica = ?', id);
  yield* tx.run('DELETE FROM cloud_replica WHERE id = ?', id);
}

/** Removes replicas that have not reported since then; their links count as down from their last report. */
export function* removeSilent(tx: SharedTx, since: number): Op<void> {
  const silent = yield* tx.all<{ id: string; seen_at: number }>(
    'SELECT id, seen_at FROM cloud_replica WHERE seen_at <= ? ORDER BY id',
    since,
  );
  for (const { id, seen_at: seenAt } of silent) {
    const sql = `UPDATE computer SET seen_at = ? WHERE (seen_at IS NULL OR seen_at < ?)
      AND id IN (SELECT computer_id FROM runtime_connection WHERE replica = ?)`;
    yield* tx.run(sql, seenAt, seenAt, id);
    yield* removeReplica(tx, id);
  }
}
