/**
 * Receipts of events that others post: each event is accepted once, however often it is posted and to whichever process. Its receipt and the item
 * that delivers it are one commit. A receipt is removed some time after its event was last posted, and never while its item waits: the lane knows
 * that id and would not accept it again. First user: events of connectors; second: posts of the phone's carrier. Must not know signatures, or what an
 * event means.
 */
import type { LaneAppend, SharedLanes } from '../lane/lane.ts';
import { answered } from '../store/answered.ts';
import { portion, removePortions } from '../store/remove-portions.ts';
import type { Asked, Fragment, Op, SharedStore, SharedTx } from '../store/shared-store.ts';
import type { Value } from '../store/store.ts';

/** A row of a table of receipts. */
export interface Receipt {
  /** The same for the same event; also the id of its item. */
  readonly id: string;
  /** When it was posted, milliseconds since the epoch. */
  readonly seen_at: number;
  /** The table's other columns, the same ones for each of its receipts. */
  readonly [column: string]: Value;
}

/** `first`: accepted; `again`: it came before; `other`: another event has this id; `absent`: nobody wants it. */
export type Seen = 'first' | 'again' | 'other' | 'absent';

export interface Arrival {
  readonly receipt: Receipt;
  readonly item: Omit<LaneAppend, 'id'>;
  /** A SELECT that must find a row, otherwise the result is `absent`. On PostgreSQL it should lock the row. */
  readonly wanted?: Fragment<{ readonly sqlite: string; readonly postgres: string }>;
  /** The result if its receipt exists already, by default `again`. `first`: nobody will process the earlier one, so this one is accepted. */
  readonly known?: (tx: SharedTx) => Asked<'first' | 'again' | 'other'>;
  /** Further writes of its commit when it is accepted. */
  readonly also?: (tx: SharedTx) => Asked<void>;
}

export interface Receipts {
  /** Resolves once it is durable. */
  take(arrival: Arrival): Promise<Seen>;
  forgetOld(now: number): Promise<void>;
}

/** After it was last posted. */
const retentionMs = 7 * 24 * 60 * 60_000;

/** `table`: has the columns of its {@link Receipt}s, `id` as its key, and an index on `seen_at`. */
export function createReceipts(
  store: SharedStore,
  table: string,
  lanes: Pick<SharedLanes, 'append' | 'waiting'>,
): Receipts {
  /** Most events are new: one statement accepts them, which shares its commit with others. False: {@link look} says why. */
  function takeFirst({ receipt, item, wanted }: Arrival): Promise<boolean> {
    const from = wanted === undefined ? '' : `FROM (${wanted.sql.postgres}) wanted`;
    const sql = `${insert(table, receipt)} SELECT ${places(receipt)} ${from} ${once} RETURNING id`;
    const cause = { sql, values: [...Object.values(receipt), ...(wanted?.values ?? [])] };
    return store.write((tx) => lanes.append(tx, { ...item, id: receipt.id }, cause), { isolation: 'statement' });
  }

  function* look(tx: SharedTx, { receipt, item, wanted, known, also }: Arrival): Op<Seen> {
    if (wanted !== undefined && (yield* tx.get(wanted.sql, ...wanted.values)) === undefined) return 'absent';
    const sql = `${insert(table, receipt)} VALUES (${places(receipt)}) ${once}`;
    const isNew = (yield* tx.run(sql, ...Object.values(receipt))).changes === 1;
    const seen = isNew ? 'first' : yield* (known ?? itCameBefore)(tx);
    if (seen === 'again') yield* tx.run(`UPDATE ${table} SET seen_at = ? WHERE id = ?`, receipt.seen_at, receipt.id);
    if (seen !== 'first') return seen;
    yield* lanes.append(tx, { ...item, id: receipt.id });
    if (also !== undefined) yield* also(tx);
    return seen;
  }

  return {
    async take(arrival) {
      if (store.engine === 'postgres' && arrival.also === undefined && (await takeFirst(arrival))) return 'first';
      return store.write((tx) => look(tx, arrival), { isolation: 'rows' });
    },
    forgetOld(now) {
      const waiting = lanes.waiting(`${table}.id`);
      const sql = `DELETE FROM ${table} WHERE seen_at < ? AND id IN (SELECT id FROM ${table}
        WHERE seen_at < ? AND NOT ${waiting.sql} ORDER BY seen_at LIMIT ${portion})`;
      return removePortions(store, sql, now - retentionMs, now - retentionMs, ...waiting.values);
    },
  };
}

const itCameBefore = () => answered('again' as const);
const insert = (table: string, receipt: Receipt) => `INSERT INTO ${table} (${Object.keys(receipt).join(', ')})`;
const once = 'ON CONFLICT (id) DO NOTHING';
const places = (receipt: Receipt) =>
  Object.keys(receipt)
    .map(() => '?')
    .join(', ');
