/** The SQL of lanes: changes of rows inside a transaction. Owns no state. */
import type { Asked, Fragment, Op, SharedReader, SharedTx } from '../store/shared-store.ts';
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
  trace: string | null;
}

const columns = 'seq, lane, id, body, at, deadline, attempts, sending, interrupted, not_before, trace';

export interface LoadedLane {
  readonly lane: string;
  readonly depth: number;
  /** When the head may be tried again, milliseconds since the epoch. */
  readonly notBefore: number;
  /** How long that was away when it was written, ms. */
  readonly wait: number;
  readonly person: string | null;
  /** When the head was appended. */
  readonly at: number;
}

/** A head and how often it was taken out. */
export type Taken = Pick<LaneItem, 'id' | 'attempt'>;

export function createLaneRows(lanes: string) {
  function* append(
    tx: SharedTx,
    item: LaneAppend,
    { at, trace, cause }: { readonly at: number; readonly trace: string | null; readonly cause: Fragment | undefined },
  ): Op<boolean> {
    const insert = 'INSERT INTO lane_item (lanes, lane, id, body, at, deadline, person, trace)';
    const once = 'ON CONFLICT (lanes, id) DO NOTHING';
    const body = JSON.stringify(item.body ?? null);
    const values = [lanes, item.lane, item.id, body, at, item.deadline ?? null, item.person ?? null, trace];
    const added = yield* cause === undefined
      ? tx.run(`${insert} VALUES (?, ?, ?, ?, ?, ?, ?, ?) ${once}`, ...values)
      : tx.run(
          `WITH cause AS (${cause.sql}) ${insert} SELECT ?, ?, ?, ?, ?, ?, ?, ? FROM cause ${once}`,
          ...cause.values,
          ...values,
        );
    return added.changes === 1;
  }

  /** Removes a row that is not being sent; returns its lane. */
  function* remove(tx: SharedTx, id: string): Op<string | null> {
    const sql = 'DELETE FROM lane_item WHERE lanes = ? AND id = ? AND sending = 0 RETURNING lane';
    return (yield* tx.get<{ lane: string }>(sql, lanes, id))?.lane ?? null;
  }

  /** Removes rows that are not being sent; returns how many. */
  function* clear(tx: SharedTx, lane: string): Op<number> {
    const sql = 'DELETE FROM lane_item WHERE lanes = ? AND lane = ? AND sending = 0';
    return (yield* tx.run(sql, lanes, lane)).changes;
  }

  /**
   * Takes the head out for sending: counted and marked before it is sent. Null: the lane is empty. `unsent`: the item that this process took and did
   * not send, because the commit's outcome was unknown.
   */
  function* takeHead(tx: SharedTx, lane: string, unsent: Taken | null): Op<LaneItem | null> {
    const row = yield* tx.get<ItemRow>(
      `SELECT ${columns} FROM lane_item WHERE lanes = ? AND lane = ? ORDER BY seq LIMIT 1`,
      lanes,
      lane,
    );
    if (row === undefined) return null;
    if (row.sending === 1 && row.id === unsent?.id && row.attempts === unsent.attempt) {
      return { ...toItem(row), attempt: row.attempts, interrupted: row.interrupted === 1 };
    }
    const interrupted = row.interrupted === 1 || row.sending === 1;
    const sql = 'UPDATE lane_item SET attempts = attempts + 1, sending = 1, interrupted = ? WHERE seq = ?';
    yield* tx.run(sql, interrupted ? 1 : 0, row.seq);
    return { ...toItem(row), attempt: row.attempts + 1, interrupted };
  }

  /** Removes the rows whose deadline has passed, at any place; returns them in order. */
  function* expire(tx: SharedTx, lane: string, now: number): Op<LaneItem[]> {
    const rows = yield* tx.all<ItemRow>(
      `SELECT ${columns} FROM lane_item WHERE lanes = ? AND lane = ? AND deadline <= ? ORDER BY seq`,
      lanes,
      lane,
      now,
    );
    for (const row of rows) yield* tx.run('DELETE FROM lane_item WHERE seq = ?', row.seq);
    return rows.map((row) => ({
      ...toItem(row),
      attempt: row.attempts,
      interrupted: row.interrupted + row.sending > 0,
    }));
  }

  const settle = (tx: SharedTx, id: string) => tx.run('DELETE FROM lane_item WHERE lanes = ? AND id = ?', lanes, id);

  /** Nothing was tried, so the attempt does not count. */
  const putBack = (tx: SharedTx, id: string): Asked<unknown> =>
    tx.run('UPDATE lane_item SET sending = 0, attempts = attempts - 1 WHERE lanes = ? AND id = ?', lanes, id);

  const postpone = (tx: SharedTx, id: string, until: number, wait: number): Asked<unknown> => {
    const sql = 'UPDATE lane_item SET sending = 0, not_before = ?, wait_ms = ? WHERE lanes = ? AND id = ?';
    return tx.run(sql, until, wait, lanes, id);
  };

  /** Ends all postponements in these lanes; undefined: in all lanes. */
  function* hasten(tx: SharedTx, named: readonly string[] | undefined): Op<void> {
    const sql = 'UPDATE lane_item SET not_before = 0 WHERE lanes = ? AND not_before > 0';
    if (named === undefined) yield* tx.run(sql, lanes);
    else for (const lane of named) yield* tx.run(`${sql} AND lane = ?`, lanes, lane);
  }

  /** Every lane that has rows, oldest head first. */
  const load = (tx: SharedReader): Asked<LoadedLane[]> =>
    tx.all<LoadedLane>(
      `SELECT head.lane, lane.depth, head.not_before AS "notBefore", head.wait_ms AS wait, head.person, head.at FROM lane_item head
        JOIN (SELECT count(*) AS depth, min(seq) AS seq FROM lane_item WHERE lanes = ? GROUP BY lane) lane
        ON lane.seq = head.seq ORDER BY head.seq`,
      lanes,
    );

  function* list(tx: SharedReader, lane: string): Op<Omit<QueuedItem, 'waiting'>[]> {
    const sql = `SELECT ${columns} FROM lane_item WHERE lanes = ? AND lane = ? ORDER BY seq`;
    const rows = yield* tx.all<ItemRow>(sql, lanes, lane);
    return rows.map((row) => ({ ...toItem(row), attempts: row.attempts, sending: row.sending === 1 }));
  }

  /** Whether the row with the id in this column exists. */
  const waiting = (column: string): Fragment => ({
    sql: `EXISTS (SELECT 1 FROM lane_item WHERE lane_item.lanes = ? AND lane_item.id = ${column})`,
    values: [lanes],
  });

  /** Whether a row of the lane is past its deadline. */
  function* hasExpired(tx: SharedReader, lane: string, now: number): Op<boolean> {
    const sql = 'SELECT 1 AS found FROM lane_item WHERE lanes = ? AND lane = ? AND deadline <= ? LIMIT 1';
    return (yield* tx.get(sql, lanes, lane, now)) !== undefined;
  }

  return {
    append,
    remove,
    clear,
    takeHead,
    expire,
    settle,
    putBack,
    postpone,
    hasten,
    load,
    list,
    waiting,
    hasExpired,
  };
}

function toItem(row: ItemRow): Pick<LaneItem, 'id' | 'lane' | 'body' | 'at' | 'deadline' | 'trace'> {
  const { id, lane, at, deadline, trace } = row;
  return { id, lane, body: JSON.parse(row.body) as unknown, at, deadline, trace };
}
