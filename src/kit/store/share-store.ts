/**
 * A SQLite store as one that may be shared: each statement is answered the moment it is asked, so operations keep the write groups
 * of {@link Store}. First user: the cloud of one computer; second: what the runtime has in common with it. Must not know tables.
 */
import { createLocalWake } from '../wake/local-wake.ts';
import { onlyOne } from './one-statement.ts';
import type { Asked, SharedReader, SharedStore, SharedTx, Sql } from './shared-store.ts';
import type { Store, Tx } from './store.ts';

type Reader = Pick<Tx, 'get' | 'all'>;

interface Asking {
  /** Made and not asked: a `yield*` that was forgotten. */
  left: number;
  /** The first statement that failed; what went on after it is not kept. */
  failed: { readonly error: unknown } | null;
}

const newAsking = (): Asking => ({ left: 0, failed: null });
const textOf = (sql: Sql) => (typeof sql === 'string' ? sql : sql.sqlite);

function ask<T>(asking: Asking, answer: () => T): Asked<T> {
  asking.left += 1;
  const asked = {
    [Symbol.iterator]: () => asked,
    next: () => {
      asking.left -= 1;
      try {
        return { done: true as const, value: answer() };
      } catch (error) {
        asking.failed ??= { error };
        throw error;
      }
    },
  };
  return asked;
}

function readerOf(tx: Reader, asking: Asking): SharedReader {
  return {
    get: <T>(sql: Sql, ...values: Parameters<Tx['get']>[1][]) => ask(asking, () => tx.get<T>(textOf(sql), ...values)),
    all: <T>(sql: Sql, ...values: Parameters<Tx['all']>[1][]) => ask(asking, () => tx.all<T>(textOf(sql), ...values)),
  };
}

const held = Symbol('transaction');

function txOf(tx: Tx, asking: Asking): SharedTx & { readonly [held]: Tx } {
  return {
    [held]: tx,
    ...readerOf(tx, asking),
    run: (sql, ...values) => ask(asking, () => tx.run(textOf(sql), ...values)),
    afterCommit: tx.afterCommit,
  };
}

/** Runs an operation to its end at once. */
function finish<T>(operation: Asked<T>, asking: Asking): T {
  const end = operation[Symbol.iterator]().next();
  if (asking.failed !== null) throw asking.failed.error;
  if (end.done !== true) throw new Error('An operation of the store yielded something that is no statement.');
  if (asking.left !== 0) throw new Error('A statement was made and not asked: write `yield*` before it.');
  return end.value;
}

/** The transaction behind one that a SQLite store gave out. */
export function syncTx(tx: SharedTx): Tx {
  return (tx as SharedTx & { readonly [held]: Tx })[held];
}

/** One operation inside a transaction of SQLite that is under way. */
export function runSync<T>(tx: Tx, operation: (tx: SharedTx) => Asked<T>): T {
  const asking = newAsking();
  return finish(operation(txOf(tx, asking)), asking);
}

export function shareStore(store: Store): SharedStore {
  return {
    engine: 'sqlite',
    wake: createLocalWake(),
    write: (operation, options) =>
      store.write((tx) => runSync(tx, options?.isolation === 'statement' ? onlyOne(operation) : operation)),
    read: (operation) =>
      store.read((tx) => {
        const asking = newAsking();
        return finish(operation(readerOf(tx, asking)), asking);
      }),
    get: <T>(sql: Sql, ...values: Parameters<Tx['get']>[1][]) => store.read((tx) => tx.get<T>(textOf(sql), ...values)),
    all: <T>(sql: Sql, ...values: Parameters<Tx['all']>[1][]) => store.read((tx) => tx.all<T>(textOf(sql), ...values)),
    trouble: () => store.trouble(),
    close: () => store.close(),
  };
}
