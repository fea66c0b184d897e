/**
 * The database that several processes may share, on two engines: whole operations, each a generator function that asks one statement after another
 * with `yield*`. SQLite answers at once, inside a write group; PostgreSQL answers between BEGIN and COMMIT of one client. Nothing else can be awaited
 * inside, because only `tx` can create the type that is yielded. First user: the cloud's identity; second: the work queue. Must not know tables.
 */
import type { Wake } from '../wake/wake.ts';
import type { Row, Value } from './store.ts';

declare const made: unique symbol;

/** One statement on its way to the engine. Only a transaction makes them. */
export interface Statement {
  readonly [made]: true;
}

/** Part of an operation: `const row = yield* find(tx, id)`. */
export type Op<T> = Generator<Statement, T, unknown>;

/**
 * Yielded with `yield*`, once: a statement, or a whole {@link Op}. Nothing is asked until then; an operation that ends before its statements were
 * asked is refused as a fault.
 */
export type Asked<T> = Iterable<Statement, T, unknown>;

/** One text for both engines, or one for each. `?` marks parameters. */
export type Sql = string | { readonly sqlite: string; readonly postgres: string };

/** A piece of SQL, and the values of its `?`. */
export interface Fragment<Text extends Sql = string> {
  readonly sql: Text;
  readonly values: readonly Value[];
}

/** Sees one state of the database, over all its statements. */
export interface SharedReader {
  get<T = Row>(sql: Sql, ...values: Value[]): Asked<T | undefined>;
  all<T = Row>(sql: Sql, ...values: Value[]): Asked<T[]>;
}

export interface SharedTx extends SharedReader {
  run(sql: Sql, ...values: Value[]): Asked<{ readonly changes: number }>;
  /** Runs after this operation is durable; never when it was rolled back. */
  afterCommit(effect: () => void): void;
}

export interface WriteOptions {
  /**
   * `serial` (default): as if no other operation ran at the same time. `rows`: only rows that the statements lock themselves are safe; for operations
   * that are correct by single statements and must not be run twice under load. `statement`: the same for an operation of one statement; concurrent
   * ones share one commit there too, and code after the statement cannot undo it. SQLite is always serial.
   */
  readonly isolation?: 'serial' | 'rows' | 'statement';
}

export interface SharedStore {
  readonly engine: 'sqlite' | 'postgres';
  /** Wakes waiters in every process that shares the database. */
  readonly wake: Wake;
  /**
   * Runs the operation in one transaction; resolves once it is durable. PostgreSQL may run it again from its beginning if another operation
   * interfered, so effects outside of `tx` belong in `afterCommit`. An operation that continues after a failed statement is rolled back all the same.
   * Rejects with `AppError('transport')` if the database is away or refuses; whether the last operation was kept is then unknown.
   */
  write<T>(operation: (tx: SharedTx) => Asked<T>, options?: WriteOptions): Promise<T>;
  /** One committed state. */
  read<T>(operation: (tx: SharedReader) => Asked<T>): Promise<T>;
  /** {@link read} of a single statement. */
  get<T = Row>(sql: Sql, ...values: Value[]): Promise<T | undefined>;
  all<T = Row>(sql: Sql, ...values: Value[]): Promise<T[]>;
  /** Whether writes are refused now and why; null if all is well. */
  trouble(): string | null;
  close(): Promise<void>;
}

export interface OpenedSharedStore extends SharedStore {
  /** Of PostgreSQL: how many connections are lent, how many callers wait for one, and the most there may be. */
  readonly connections?: () => { readonly lent: number; readonly waiting: number; readonly max: number };
  /** Findings of the start for the person. Sentences. */
  readonly notices: readonly string[];
}
