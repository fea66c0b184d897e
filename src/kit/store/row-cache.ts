/**
 * A cache of rows that every request needs: the database stays the truth, and code that changes a row removes or replaces it here in the same step.
 * First users: sign-ins and people; second: API keys; third: the person of each computer. Must not know what the rows are.
 */

interface Kept<Row> {
  /** The cached row; undefined if it must be loaded. */
  peek(key: string): Row | undefined;
  /** Loads a row that is not cached. Null is not cached: guesses must not cost memory. */
  load(key: string): Promise<Row | null>;
  put(key: string, row: Row): void;
  forget(key: string): void;
}

const defaultMax = 10_000;

export interface CacheOptions {
  readonly max?: number;
  /** How long a row is cached, in case another process changed it and its notice was lost. */
  readonly age?: { readonly clock: { monotonic(): number }; readonly maxAgeMs: number } | null;
}

export function createRowCache<Row>(
  read: (key: string) => Promise<Row | null>,
  { max = defaultMax, age = null }: CacheOptions = {},
): Kept<Row> {
  const rows = new Map<string, Row>();
  let since = age?.clock.monotonic() ?? 0;
  // A row that was read before a change must not be cached after it.
  let changes = 0;
  const put = (key: string, row: Row) => {
    if (rows.size >= max) rows.delete(rows.keys().next().value!);
    rows.set(key, row);
  };
  return {
    peek(key) {
      if (age !== null && age.clock.monotonic() - since > age.maxAgeMs) {
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
