/** Rows of pairings as whole operations: which computer shows which code, and the person's decision. */
import type { Asked, Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';

type PairingState = 'pending' | 'approved' | 'denied' | 'taken';

/** Times in milliseconds since the epoch. */
export interface PairingRow {
  readonly deviceHash: string;
  readonly userCode: string;
  readonly computerId: string;
  readonly name: string;
  readonly version: string;
  readonly address: string;
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly state: PairingState;
  readonly userId: string | null;
}

const columns = `device_hash AS "deviceHash", user_code AS "userCode", computer_id AS "computerId", name, version, address,
  requested_at AS "requestedAt", expires_at AS "expiresAt", state, user_id AS "userId"`;
/** Ended pairings keep the reason for as long as their computer may still ask. */
const retentionMs = 60 * 60_000;

export function forgetPairings(tx: SharedTx, now: number): Asked<unknown> {
  return tx.run('DELETE FROM pairing WHERE expires_at < ?', now - retentionMs);
}

export function* openPairings(tx: SharedReader, now: number): Op<number> {
  const sql = `SELECT count(*) AS n FROM pairing WHERE state = 'pending' AND expires_at > ?`;
  return (yield* tx.get<{ n: number }>(sql, now))?.n ?? 0;
}

/** False: that code is in use. */
export function* addPairing(tx: SharedTx, row: Omit<PairingRow, 'state' | 'userId'>): Op<boolean> {
  // One computer shows one code: a new one ends the previous one.
  yield* tx.run(`UPDATE pairing SET state = 'denied' WHERE computer_id = ? AND state = 'pending'`, row.computerId);
  const sql = `INSERT INTO pairing (device_hash, user_code, computer_id, name, version, address, requested_at, expires_at, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending') ON CONFLICT (user_code) DO NOTHING`;
  const { deviceHash, userCode, computerId, name, version, address, requestedAt, expiresAt } = row;
  const values = [deviceHash, userCode, computerId, name, version, address, requestedAt, expiresAt];
  return (yield* tx.run(sql, ...values)).changes === 1;
}

export function* pairingOfDevice(tx: SharedReader, deviceHash: string): Op<PairingRow | null> {
  return (yield* tx.get<PairingRow>(`SELECT ${columns} FROM pairing WHERE device_hash = ?`, deviceHash)) ?? null;
}

export function* pairingOfCode(tx: SharedReader, code: string, now: number): Op<PairingRow | null> {
  const sql = `SELECT ${columns} FROM pairing WHERE user_code = ? AND expires_at > ?`;
  return (yield* tx.get<PairingRow>(sql, code, now)) ?? null;
}

/** False: it was decided before. */
export function* decidePairing(tx: SharedTx, code: string, state: 'approved' | 'denied', userId: string): Op<boolean> {
  const sql = `UPDATE pairing SET state = ?, user_id = ? WHERE user_code = ? AND state = 'pending'`;
  return (yield* tx.run(sql, state, userId, code)).changes === 1;
}

/** True only for the one request that gets the token. */
export function* takePairing(tx: SharedTx, deviceHash: string): Op<boolean> {
  const sql = `UPDATE pairing SET state = 'taken' WHERE device_hash = ? AND state = 'approved'`;
  return (yield* tx.run(sql, deviceHash)).changes === 1;
}

export function noteTry(tx: SharedTx, userId: string, at: number): Asked<unknown> {
  return tx.run('INSERT INTO pairing_try (user_id, at) VALUES (?, ?)', userId, at);
}

/** Times of wrong codes since then, oldest first; older ones are removed. */
export function* triesSince(tx: SharedTx, userId: string, since: number): Op<number[]> {
  yield* tx.run('DELETE FROM pairing_try WHERE at <= ?', since);
  const rows = yield* tx.all<{ at: number }>('SELECT at FROM pairing_try WHERE user_id = ? ORDER BY at', userId);
  return rows.map(({ at }) => at);
}
