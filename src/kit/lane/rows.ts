/** The SQL of lanes: what is done to rows inside a transaction. Owns no state. */
import type { Tx } from '../store/store.ts';
import type { LaneAppend, LaneItem, QueuedItem } from './lane.ts';

interface ItemRow {
  seq: number;
  lane: string;
  id: string;
  body: string;
  at: number;
  deadline: number | null;
  attempts: number;
  sending: number;
  interrupted: number;
  not_before: number;
}

const columns = 'seq, lane, id, body, at, deadline, attempts, sending, interrupted, not_before';

export interface LoadedLane {
  readonly lane: string;
  readonly depth: number;
  /** When the head may be tried again, milliseconds since the epoch. */
  readonly notBefore: number;
}

export function createLaneRows(lanes: string) {
  function append(tx: Tx, item: LaneAppend, at: number): boolean {
    const sql =
      'INSERT INTO lane_item (lanes, lane, id, body, at, deadline) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (lanes, id) DO NOTHING';
    const body = JSON.stringify(item.body ?? null);
    return tx.run(sql, lanes, item.lane, item.id, body, at, item.deadline ?? null).changes === 1;
  }

  /** Takes out a row that is not being sent; answers its lane. */
  function remove(tx: Tx, id: string): string | null {
    const sql = 'DELETE FROM lane_item WHERE lanes = ? AND id = ? AND sending = 0 RETURNING lane';
    return tx.get<{ lane: string }>(sql, lanes, id)?.lane ?? null;
  }

  /** Takes the head out for sending: counted and marked before anybody sends it. Null: the lane is empty. */
  function takeHead(tx: Tx, lane: string): LaneItem | null {
    const row = tx.get<ItemRow>(
      `SELECT ${columns} FROM lane_item WHERE lanes = ? AND lane = ? ORDER BY seq LIMIT 1`,
      lanes,
      lane,
    );
    if (row === undefined) return null;
    const interrupted = row.interrupted === 1 || row.sending === 1;
    const sql = 'UPDATE lane_item SET attempts = attempts + 1, sending = 1, interrupted = ? WHERE seq = ?';
    tx.run(sql, interrupted ? 1 : 0, row.seq);
    return { ...toItem(row), attempt: row.attempts + 1, interrupted };
  }

  /** Removes the rows whose deadline has passed, wherever they stand; answers them in their order. */
  function expire(tx: Tx, lane: string, now: number): LaneItem[] {
    const rows = tx.all<ItemRow>(
      `SELECT ${columns} FROM lane_item WHERE lanes = ? AND lane = ? AND deadline <= ? ORDER BY seq`,
      lanes,
      lane,
      now,
    );
    for (const row of rows) tx.run('DELETE FROM lane_item WHERE seq = ?', row.seq);
    return rows.map((row) => ({
      ...toItem(row),
      attempt: row.attempts,
      interrupted: row.interrupted + row.sending > 0,
    }));
  }

  function settle(tx: Tx, id: string): void {
    tx.run('DELETE FROM lane_item WHERE lanes = ? AND id = ?', lanes, id);
  }

  /** Nothing was tried: the attempt does not count. */
  function putBack(tx: Tx, id: string): void {
    tx.run('UPDATE lane_item SET sending = 0, attempts = attempts - 1 WHERE lanes = ? AND id = ?', lanes, id);
  }

  function postpone(tx: Tx, id: string, until: number): void {
    tx.run('UPDATE lane_item SET sending = 0, not_before = ? WHERE lanes = ? AND id = ?', until, lanes, id);
  }

  /** Every lane that has rows, oldest head first. */
  function load(tx: Pick<Tx, 'all'>): LoadedLane[] {
    // With a bare min(), SQLite takes the other columns from that row: the head.
    const sql = `SELECT lane, count(*) AS depth, min(seq), not_before AS notBefore FROM lane_item
      WHERE lanes = ? GROUP BY lane ORDER BY 3`;
    return tx.all<LoadedLane>(sql, lanes);
  }

  function list(tx: Pick<Tx, 'all'>, lane: string): Omit<QueuedItem, 'waiting'>[] {
    const sql = `SELECT ${columns} FROM lane_item WHERE lanes = ? AND lane = ? ORDER BY seq`;
    return tx
      .all<ItemRow>(sql, lanes, lane)
      .map((row) => ({ ...toItem(row), attempts: row.attempts, sending: row.sending === 1 }));
  }

  /** Whether a row of the lane is past its deadline. */
  function hasExpired(tx: Pick<Tx, 'get'>, lane: string, now: number): boolean {
    const sql = 'SELECT 1 FROM lane_item WHERE lanes = ? AND lane = ? AND deadline <= ? LIMIT 1';
    return tx.get(sql, lanes, lane, now) !== undefined;
  }

  return { append, remove, takeHead, expire, settle, putBack, postpone, load, list, hasExpired };
}

function toItem(row: ItemRow): Pick<LaneItem, 'id' | 'lane' | 'body' | 'at' | 'deadline'> {
  return { id: row.id, lane: row.lane, body: JSON.parse(row.body) as unknown, at: row.at, deadline: row.deadline };
}
