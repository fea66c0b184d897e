/**
 * Presents a SQLite store as one that may be shared: each statement is answered at once, so operations keep the write groups of {@link Store}. First
 * user: the cloud of one computer; second: the code that the runtime shares with it. Must not know tables.
 */
import { createLocalWake } from '../wake/local-wake.ts';
import type { Asked, SharedStore, SharedTx, Sql, Statement } from './shared-store.ts';
import type { Store, Tx, Value } from './store.ts';

const textOf = (sql: Sql) => (typeof sql === 'string' ? sql : sql.sqlite);

/** The transaction of one operation. A class, like {@link AskedStatement}, as they are created for every operation and every statement. */
class SqliteTx implements SharedTx {
  readonly tx: Tx;
  /** Created and not asked: a `yield*` was forgotten. */
  left = 0;
  /** Statements that it may still create. */
  max: number;
  /** The first statement that failed; anything done after it is not kept. */
  failed: { readonly error: unknown } | null = null;

  constructor(tx: Tx, max: number) {
    this.tx = tx;
    this.max = max;
  }

  make<T>(how: 'run' | 'get' | 'all', sql: Sql, values: Value[]): Asked<T> {
    this.max -= 1;
    if (this.max < 0) throw new Error('An operation of one statement asked another.');
    this.left += 1;
    return new AskedStatement<T>(this, how, textOf(sql), values);
  }

  run(sql: Sql, ...values: Value[]): Asked<{ readonly changes: number }> {
    return this.make('run', sql, values);
  }

  get<T>(sql: Sql, ...values: Value[]): Asked<T | undefined> {
    return this.make('get', sql, values);
  }

  all<T>(sql: Sql, ...values: Value[]): Asked<T[]> {
    return this.make('all', sql, values);
  }

  afterCommit(effect: () => void): void {
    this.tx.afterCommit(effect);
  }
}

/** Its own iterator, which returns the answer at once. */
class AskedStatement<T> implements Asked<T>, Iterator<Statement, T, unknown> {
  readonly operation: SqliteTx;
  readonly how: 'run' | 'get' | 'all';
  readonly sql: string;
  readonly values: Value[];

  constructor(operation: SqliteTx, how: 'run' | 'get' | 'all', sql: string, values: Value[]) {
    this.operation = operation;
    this.how = how;
    this.sql = sql;
    this.values = values;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): { readonly done: true; readonly value: T } {
    const { operation } = this;
    operation.left -= 1;
    try {
      return { done: true, value: operation.tx[this.how](this.sql, ...this.values) as T };
    } catch (error) {
      operation.failed ??= { error };
      throw error;
    }
  }
}

/** Runs an operation to its end at once. */
function finish<T>(operation: SqliteTx, asked: Asked<T>): T {
  const end = asked[Symbol.iterator]().next();
  if (operation.failed !== null) throw operation.failed.error;
  if (end.done !== true) throw new Error('An operation of the store yielded something that is no statement.');
  if (operation.left !== 0) throw new Error('A statement was made and not asked: write `yield*` before it.');
  return end.value;
}

/** The transaction behind one that a SQLite store gave out. */
export function syncTx(tx: SharedTx): Tx {
  return (tx as SqliteTx).tx;
}

/** One operation inside a SQLite transaction that is under way. */
export function runSync<T>(tx: Tx, operation: (tx: SharedTx) => Asked<T>, max: number = Number.POSITIVE_INFINITY): T {
  const shared = new SqliteTx(tx, max);
  return finish(shared, operation(shared));
}

const aloneOptions = { savepoint: false } as const;

export function shareStore(store: Store): SharedStore {
  return {
    engine: 'sqlite',
    wake: createLocalWake(),
    write: (operation, options) =>
      options?.isolation === 'statement'
        ? store.write((tx) => runSync(tx, operation, 1), aloneOptions)
        : store.write((tx) => runSync(tx, operation)),
    // The reader's type lacks what a reader may not do.
    read: (operation) => store.read((tx) => runSync(tx as Tx, operation)),
    get: <T>(sql: Sql, ...values: Value[]) => store.read((tx) => tx.get<T>(textOf(sql), ...values)),
    all: <T>(sql: Sql, ...values: Value[]) => store.read((tx) => tx.all<T>(textOf(sql), ...values)),
    trouble: () => store.trouble(),
    close: () => store.close(),
  };
}
