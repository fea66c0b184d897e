/**
 * The append-only, hash-chained record of what happened. First user: the factory (deliveries, teams); second: approvals
 * and proofs.
 */
import type { Tx } from '../store/store.ts';
import type { StoredRow } from './chain.ts';

export interface LedgerEntry {
  /** Factory event type or an internal one such as `delivery.accepted`. */
  readonly type: string;
  /** Actor: user id, agent id, or `engine`. */
  readonly actor: string;
  /** The surface: `cli`, `browser`, `bot`, `engine`, … */
  readonly surface: string;
  /** The subject: `delivery:<id>`, `team:<name>`, … */
  readonly subject: string;
  /** JSON data; carries `v`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Unique when given: a second append with it returns the first row's id. */
  readonly idemKey?: string;
}

export interface LedgerRow extends LedgerEntry {
  /** Monotonic integer as a string: the event id. */
  readonly id: string;
  readonly at: string;
  readonly hash: string;
}

/** A row as readers get it. `body` is null if its text is not JSON: verify names the row. */
export type FoundRow = Omit<LedgerRow, 'body'> & { readonly body: LedgerRow['body'] | null };

export interface LedgerQuery {
  readonly types?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly actor?: string | undefined;
  /** Ids, both exclusive. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly order: 'ascending' | 'descending';
  readonly limit: number;
}

export type LedgerVerdict =
  | { readonly ok: true; readonly rows: number; readonly head: { readonly id: string; readonly hash: string } }
  | {
      readonly ok: false;
      readonly rows: number;
      readonly id: string;
      readonly problem: 'changed' | 'removed' | 'inserted';
      readonly fact: string;
    };

export interface Ledger {
  /** Genesis id of this runtime: `engine_<ulid>`, the `engine` of `/peer/hello`. */
  readonly engineId: string;
  /** Appends inside the operation whose state it describes. */
  append(tx: Tx, entry: LedgerEntry): { id: string; at: string };
  /** Rows with id > `after`, ascending, at most `limit`; `types` filters. Leaves out rows whose body is not readable. */
  read(after: string, limit: number, types?: readonly string[]): Promise<LedgerRow[]>;
  /** Matching rows; costs only what it returns if at least one filter is narrow. */
  query(query: LedgerQuery): Promise<FoundRow[]>;
  /** Rows with the fields that are hashed, from this `seq` (exclusive) on; null: from the first. */
  stored(after: number | null, limit: number): Promise<StoredRow[]>;
  /** Hash of a row, or null if there is none. */
  hashOf(id: string): Promise<string | null>;
  /** Newest id, `"0"` before the first row after genesis. */
  head(): Promise<string>;
  /** Whether `id` can be replayed from: known here, not from another runtime or pruned. */
  knows(id: string): Promise<boolean>;
  /** Called after each durable group with the new head. Returns a function that unsubscribes. */
  onAppend(listener: (head: string) => void): () => void;
  /** `onProgress` gets how many rows are checked, of how many. */
  verify(onProgress?: (done: number, total: number) => void): Promise<LedgerVerdict>;
}
