/**
 * The database that several processes may share, on two engines: whole operations, each a generator function that asks
 * one statement after another with `yield*`. SQLite answers at once, inside a write group; PostgreSQL answers between
 * BEGIN and COMMIT of one client. Nothing else can be awaited inside, because only `tx` can make the type of what is
 * yielded. First user: the cloud's identity; second: the work queue. Must not know tables.
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
 * What `yield*` answers, once: a statement, or a whole {@link Op}. Nothing is asked until then; an operation that ends before its
 * statements were asked is refused as a fault.
 */
export type Asked<T> = Iterable<Statement, T, unknown>;

/** One text for both engines, or one for each. `?` marks parameters. */
export type Sql = string | { readonly sqlite: string; readonly postgres: string };

/** A piece of SQL, and the values of its `?`. */
export interface Fragment<Text extends Sql = string> {
  readonly sql: Text;
  readonly values: readonly Value[];
}

/** Sees one state of the database, however many statements it asks. */
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
   * `serial` (default): as if no other operation ran at the same time. `rows`: only rows that the statements lock themselves are
   * safe; for operations that are correct by single statements and must not be run twice under load. `statement`: the same for
   * the one statement that the operation asks; those that come together share one commit there too, and what the operation does
   * after its statement undoes nothing. SQLite is always serial.
   */
  readonly isolation?: 'serial' | 'rows' | 'statement';
}

export interface SharedStore {
  readonly engine: 'sqlite' | 'postgres';
  /** Tells who waits for something, in every process that shares the database. */
  readonly wake: Wake;
  /**
   * Runs the operation in one transaction; resolves once it is durable. PostgreSQL may run it again from its beginning when
   * another operation was in the way, so what it does outside of `tx` goes into `afterCommit`. An operation that goes on after
   * a failed statement is rolled back all the same. Rejects with `AppError('transport')` when the database is away or refuses;
   * whether the last operation was kept is then not known.
   */
  write<T>(operation: (tx: SharedTx) => Asked<T>, options?: WriteOptions): Promise<T>;
  /** One committed state. */
  read<T>(operation: (tx: SharedReader) => Asked<T>): Promise<T>;
  /** {@link read} of a single statement. */
  get<T = Row>(sql: Sql, ...values: Value[]): Promise<T | undefined>;
  all<T = Row>(sql: Sql, ...values: Value[]): Promise<T[]>;
  /** Whether writes are refused now and why; null when all is well. */
  trouble(): string | null;
  close(): Promise<void>;
}

export interface OpenedSharedStore extends SharedStore {
  /** What the person should know about the start. Sentences. */
  readonly notices: readonly string[];
}
