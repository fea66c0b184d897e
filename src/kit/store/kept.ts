/**
 * Rows that every request asks for, kept from the store: the database stays the truth, and whoever changes a row forgets or puts
 * it here in the same step. First users: sign-ins and people; second: API keys; third: whose a computer is. Must not know what the rows are.
 */

export interface Kept<Row> {
  /** What is kept; undefined when it must be loaded. */
  peek(key: string): Row | undefined;
  /** Loads what is not kept. Null is not kept: a guess must not cost memory. */
  load(key: string): Promise<Row | null>;
  put(key: string, row: Row): void;
  forget(key: string): void;
}

const defaultMost = 10_000;

export interface KeptOptions {
  readonly most?: number;
  /** Another process may have changed a row and its word not arrived: nothing is kept longer. */
  readonly age?: { readonly clock: { monotonic(): number }; readonly mostMs: number } | null;
}

export function createKept<Row>(
  read: (key: string) => Promise<Row | null>,
  { most = defaultMost, age = null }: KeptOptions = {},
): Kept<Row> {
  const rows = new Map<string, Row>();
  let since = age?.clock.monotonic() ?? 0;
  // A row that was read before a change must not be kept after it.
  let changes = 0;
  const put = (key: string, row: Row) => {
    if (rows.size >= most) rows.delete(rows.keys().next().value!);
    rows.set(key, row);
  };
  return {
    peek(key) {
      if (age !== null && age.clock.monotonic() - since > age.mostMs) {
        since = age.clock.monotonic();
        rows.clear();
      }
      return rows.get(key);
    },
    async load(key) {
      const before = changes;
      const row = await read(key);
      if (row !== null && before === changes) put(key, row);
      return row;
    },
    put(key, row) {
      changes += 1;
      put(key, row);
    },
    forget(key) {
      changes += 1;
      rows.delete(key);
    },
  };
}
