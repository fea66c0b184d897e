/**
 * The database as a program sees it: whole operations, data in, data out, with no await inside. First user: the runtime's factory; second: its tools.
 * The cloud's data, on one of two engines, goes through shared-store.ts.
 */
export type Value = string | number | bigint | null | Uint8Array;
export type Row = Record<string, unknown>;

/** Statements of one operation. Texts are prepared once and kept. `?` marks parameters. */
export interface Tx {
  run(sql: string, ...values: Value[]): { changes: number };
  get<T = Row>(sql: string, ...values: Value[]): T | undefined;
  all<T = Row>(sql: string, ...values: Value[]): T[];
  /** Runs after this operation's group is durable; never when it was rolled back. */
  afterCommit(effect: () => void): void;
}

export interface WriteGroupOptions {
  /**
   * Default true: only the throwing operation is rolled back. False, for an operation of one statement: SQLite itself undoes a failing statement,
   * which saves a savepoint; code after the statement cannot undo it.
   */
  readonly savepoint?: boolean;
}

export interface Store {
  /**
   * Runs `operation` in a write transaction. Operations of one loop turn share one durable commit (`BEGIN IMMEDIATE`, `synchronous=FULL`), each in a
   * savepoint: a throwing one is rolled back without the others. Resolves when the commit is durable. Rejects with `AppError('transport')` if the
   * disk refuses (full, I/O error); nothing of the group is then kept. (A program killed after such a refusal and before the next commit may find the
   * group after all: only an acknowledged write is certain.)
   */
  write<T>(operation: (tx: Tx) => T, options?: WriteGroupOptions): Promise<T>;
  /** Reads committed state. */
  read<T>(operation: (tx: Omit<Tx, 'run' | 'afterCommit'>) => T): Promise<T>;
  /** Whether writes are refused now (disk full, I/O error) and why; null if all is well. */
  trouble(): string | null;
  close(): Promise<void>;
}

/** One numbered step, up only. `sql` is hashed; a changed step or a newer database is refused at start. */
export interface Migration {
  /** The area of the tables: `ledger`, `lane`, `factory`; numbers count per area. Default `main`. */
  readonly area?: string;
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  /**
   * The same for PostgreSQL if it cannot read the text above. Types and table options need no second text: `INTEGER`, `TEXT`, `BLOB`, `STRICT` and
   * `WITHOUT ROWID` are translated.
   */
  readonly postgres?: string;
}

export interface OpenStoreOptions {
  readonly file: string;
  /** Applied in this order; numbers of one area ascend from 1 without gaps. */
  readonly migrations: readonly Migration[];
}

/** A store as its owning program has it. */
export interface OpenedStore extends Store {
  /** Findings of the start for the person: an earlier file moved aside, a database that was replaced. Sentences. */
  readonly notices: readonly string[];
}
