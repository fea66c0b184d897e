/** Rows of pairings as whole operations: who shows which code, and what a person said to it. */
import type { Tx } from '../../kit/store/store.ts';

export type PairingState = 'pending' | 'approved' | 'denied' | 'taken';

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

type Reader = Pick<Tx, 'get' | 'all'>;
const columns = `device_hash AS deviceHash, user_code AS userCode, computer_id AS computerId, name, version, address,
  requested_at AS requestedAt, expires_at AS expiresAt, state, user_id AS userId`;
/** Ended ones answer why they ended for as long as their computer may still ask. */
const keptMs = 60 * 60_000;

export function forgetPairings(tx: Tx, now: number): void {
  tx.run('DELETE FROM pairing WHERE expires_at < ?', now - keptMs);
}

export function openPairings(tx: Reader, now: number): number {
  const sql = `SELECT count(*) AS n FROM pairing WHERE state = 'pending' AND expires_at > ?`;
  return Number(tx.get<{ n: number }>(sql, now)?.n ?? 0);
}

/** False: that code is in use. */
export function addPairing(tx: Tx, row: Omit<PairingRow, 'state' | 'userId'>): boolean {
  // One computer shows one code: what it showed before is over.
  tx.run(`UPDATE pairing SET state = 'denied' WHERE computer_id = ? AND state = 'pending'`, row.computerId);
  const sql = `INSERT INTO pairing (device_hash, user_code, computer_id, name, version, address, requested_at, expires_at, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending') ON CONFLICT (user_code) DO NOTHING`;
  const { deviceHash, userCode, computerId, name, version, address, requestedAt, expiresAt } = row;
  return tx.run(sql, deviceHash, userCode, computerId, name, version, address, requestedAt, expiresAt).changes === 1;
}

export function pairingOfDevice(tx: Reader, deviceHash: string): PairingRow | null {
  return tx.get<PairingRow>(`SELECT ${columns} FROM pairing WHERE device_hash = ?`, deviceHash) ?? null;
}

export function pairingOfCode(tx: Reader, code: string, now: number): PairingRow | null {
  const sql = `SELECT ${columns} FROM pairing WHERE user_code = ? AND expires_at > ?`;
  return tx.get<PairingRow>(sql, code, now) ?? null;
}

/** False: somebody decided before. */
export function decidePairing(tx: Tx, code: string, state: 'approved' | 'denied', userId: string): boolean {
  const sql = `UPDATE pairing SET state = ?, user_id = ? WHERE user_code = ? AND state = 'pending'`;
  return tx.run(sql, state, userId, code).changes === 1;
}

/** True for the one question that gets the token. */
export function takePairing(tx: Tx, deviceHash: string): boolean {
  const sql = `UPDATE pairing SET state = 'taken' WHERE device_hash = ? AND state = 'approved'`;
  return tx.run(sql, deviceHash).changes === 1;
}

export function noteTry(tx: Tx, userId: string, at: number): void {
  tx.run('INSERT INTO pairing_try (user_id, at) VALUES (?, ?)', userId, at);
}

/** Times of wrong codes since then, oldest first; older ones are forgotten. */
export function triesSince(tx: Tx, userId: string, since: number): number[] {
  tx.run('DELETE FROM pairing_try WHERE at <= ?', since);
  return tx.all<{ at: number }>('SELECT at FROM pairing_try WHERE user_id = ? ORDER BY at', userId).map(({ at }) => at);
}
