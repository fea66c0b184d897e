/**
 * Ordered lanes: what must reach another program or a busy bot is a row, appended in the transaction of its cause. Owns
 * order, retries, deadlines and waking; must not know what an item means or where it goes. First user: queued sends to
 * a bot; second: rows from the runtime to the cloud.
 *
 * Guarantees: items of one lane are handed to `send` one at a time, in the order of their commits. A lane whose head is
 * held or retried blocks nobody else, nor do many lanes of one person. An item leaves the lane exactly once, in one
 * transaction with `commit`. A program killed between `send` and that transaction hands the item out again with
 * `interrupted: true`: the sender dedupes by `id`, or, where the other end cannot, records the outcome as unknown.
 */
import type { Asked, Fragment, Op, SharedTx } from '../store/shared-store.ts';
import type { Tx } from '../store/store.ts';

export interface LaneItem {
  /** Chosen by the cause; unique in these lanes while the row exists. */
  readonly id: string;
  readonly lane: string;
  /** JSON, as appended. */
  readonly body: unknown;
  /** When it was appended, milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds since the epoch; a head that waits past it is given up (`onExpired`). null: never. */
  readonly deadline: number | null;
  /** 1 for the first time `send` sees it; durable, counted before `send` is called. */
  readonly attempt: number;
  /**
   * An earlier attempt began and nobody knows how it ended: the program was killed or `send` was cut off by `close`. Stays
   * true until the item is settled, also when it is held or retried meanwhile.
   */
  readonly interrupted: boolean;
}

/** A row as {@link Lanes.list} shows it. */
export interface QueuedItem {
  readonly id: string;
  readonly lane: string;
  readonly body: unknown;
  readonly at: number;
  readonly deadline: number | null;
  readonly attempts: number;
  readonly sending: boolean;
  /** Only on a head: why it waits (a hold's or a retry's reason). */
  readonly waiting: string | null;
}

/**
 * What became of a head. `commit` runs in the transaction that removes the row: state and ledger rows go in there.
 * `hold`: it stays; asked again on `wake(lane)` and after `forMs`, by default `recheckMs`. `retry`: it stays; asked again at `at`
 * (milliseconds since the epoch), by default by the backoff schedule. Throwing from `send` is a retry with its message.
 */
export type LaneOutcome = Outcome<(tx: Tx) => void>;
/** The same over a shared store. */
export type SharedLaneOutcome = Outcome<(tx: SharedTx) => Asked<unknown>>;

type Outcome<Commit> =
  | { readonly to: 'done'; readonly commit?: Commit }
  | { readonly to: 'dead'; readonly reason: string; readonly commit?: Commit }
  | { readonly to: 'hold'; readonly reason: string; readonly forMs?: number }
  | { readonly to: 'retry'; readonly reason: string; readonly at?: number };

export interface LaneAppend {
  readonly lane: string;
  readonly id: string;
  /** Any JSON value. */
  readonly body: unknown;
  /** Milliseconds since the epoch. */
  readonly deadline?: number | null;
  /** For whom, the same for all items of a lane: persons take turns, and nobody holds up the others. Absent: each lane for itself. */
  readonly person?: string;
}

export interface Lanes extends LaneWork {
  /** Adds a row at the end of its lane, inside the operation that causes it. False: an item with this id is there already. */
  append(tx: Tx, item: LaneAppend): boolean;
  /** Takes an item out again. False: unknown, or being sent at this moment. */
  remove(tx: Tx, id: string): boolean;
  /** Takes all items of a lane out again but the one that is being sent; answers how many. */
  clear(tx: Tx, lane: string): number;
}

/** {@link Lanes} over a shared store: whichever of the processes that share it sends a head, no other does meanwhile. */
export interface SharedLanes extends LaneWork {
  /**
   * `cause`, only on PostgreSQL: an INSERT that returns a row where it inserted. Both are one statement, which may be the whole
   * operation. False: one of them was there already.
   */
  append(tx: SharedTx, item: LaneAppend, cause?: Fragment): Op<boolean>;
  remove(tx: SharedTx, id: string): Op<boolean>;
  clear(tx: SharedTx, lane: string): Op<number>;
  /** A condition on a column of ids: an item with this id is committed and not settled, whichever process sends it. */
  waiting(column: string): Fragment;
}

interface LaneWork {
  /** Rows of the lane that are committed and not settled; from memory, so what other processes did may show a second later. */
  depth(lane: string): number;
  /** Lanes that have rows, with their depth; from memory. */
  depths(): ReadonlyMap<string, number>;
  list(lane: string): Promise<QueuedItem[]>;
  /** Asks again at once for a held or retried head; all lanes when none is named. */
  wake(lanes?: string | readonly string[]): void;
  /** Loads what an earlier run left and begins to send. Until then rows only gather. */
  start(): Promise<void>;
  /** Begins nothing more and waits for sends under way, at most `graceMs` (default 2000); the rows of the rest stay. */
  close(graceMs?: number): Promise<void>;
}
