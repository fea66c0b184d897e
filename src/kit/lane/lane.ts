/**
 * Ordered lanes: a message for another program or a busy bot is a row, appended in the transaction of its cause. Owns order, retries, deadlines and
 * waking; must not know what an item means or where it goes. First user: queued sends to a bot; second: rows from the runtime to the cloud.
 *
 * Guarantees: items of one lane are passed to `send` one at a time, in the order of their commits. A lane whose head is held or retried blocks nobody
 * else, nor do many lanes of one person. An item leaves the lane exactly once, in one transaction with `commit`. If the program is killed between
 * `send` and that transaction, the item is sent again with `interrupted: true`: the sender dedupes by `id` or, if the other end cannot, records the
 * outcome as unknown.
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
  /** Milliseconds since the epoch; a head that waits past it is dropped (`onExpired`). null: never. */
  readonly deadline: number | null;
  /** 1 for the first time `send` sees it; durable, counted before `send` is called. */
  readonly attempt: number;
  /**
   * An earlier attempt began and its outcome is unknown: the program was killed or `close` cut `send` off. Stays true until the item is settled, even
   * if it is held or retried in between.
   */
  readonly interrupted: boolean;
  /** `traceparent` of the span that appended it; null: none. */
  readonly trace?: string | null;
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
  /** Only on a head: why it waits (the reason of a hold or a retry). */
  readonly waiting: string | null;
}

/**
 * The outcome of a head. `commit` runs in the transaction that removes the row: write state and ledger rows there. `hold`: it stays; asked again on
 * `wake(lane)` and after `forMs`, by default `recheckMs`. `retry`: it stays; asked again at `at` (milliseconds since the epoch), by default by the
 * backoff schedule. An error thrown by `send` is a retry with its message.
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
  /** The person, the same for all items of a lane: persons take turns, and nobody holds up the others. Absent: each lane takes turns alone. */
  readonly person?: string;
}

export interface Lanes extends LaneWork {
  /** Adds a row at the end of its lane, inside the operation that causes it. False: an item with this id exists already. */
  append(tx: Tx, item: LaneAppend): boolean;
  /** Removes an item. False: unknown, or being sent at this moment. */
  remove(tx: Tx, id: string): boolean;
  /** Removes all items of a lane except the one that is being sent; returns how many. */
  clear(tx: Tx, lane: string): number;
}

/** {@link Lanes} over a shared store: while one of its processes sends a head, no other does. */
export interface SharedLanes extends LaneWork {
  /**
   * `cause`, only on PostgreSQL: an INSERT that returns a row if it inserted. Both are one statement, which may be the whole operation. False: one of
   * them existed already.
   */
  append(tx: SharedTx, item: LaneAppend, cause?: Fragment): Op<boolean>;
  remove(tx: SharedTx, id: string): Op<boolean>;
  clear(tx: SharedTx, lane: string): Op<number>;
  /** A condition on a column of ids: an item with this id is committed and not settled, whichever process sends it. */
  waiting(column: string): Fragment;
}

export interface LaneLoad {
  readonly items: number;
  /** When the oldest of the heads was appended, milliseconds since the epoch; null: nothing waits. */
  readonly oldestAt: number | null;
  readonly sending: number;
  /** Lanes that may send at the same time. */
  readonly parallel: number;
}

interface LaneWork {
  /** Rows of the lane that are committed and not settled; from memory, so changes by other processes may show a second later. */
  depth(lane: string): number;
  /** Lanes that have rows, with their depth; from memory. */
  depths(): ReadonlyMap<string, number>;
  list(lane: string): Promise<QueuedItem[]>;
  /** What waits in all lanes, and how many of them send at this moment; from memory. */
  load(): LaneLoad;
  /** Asks again at once for a held or retried head; for all lanes if none is named. */
  wake(lanes?: string | readonly string[]): void;
  /** Loads the rows of an earlier run and begins to send. Until then rows only queue up. */
  start(): Promise<void>;
  /** Begins nothing more and waits for sends under way, at most `graceMs` (default 2000); all other rows stay. */
  close(graceMs?: number): Promise<void>;
}
