/**
 * Write groups: the operations of one loop turn in one durable commit, each in a savepoint, since a commit costs a flush to disk. Owns the queue, the
 * commit and the meaning of its failure; must not know files, migrations or tables.
 */
import type { Database } from 'better-sqlite3';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../clock/timers.ts';
import type { InSpan, Telemetry } from '../telemetry/telemetry.ts';
import { runEffects } from './effects.ts';
import { isBusy, isDamage, isTrouble, refusal, sqliteCode } from './sqlite-errors.ts';
import type { Statements } from './statements.ts';
import type { Tx, Value, WriteGroupOptions } from './store.ts';

interface Pending {
  readonly operation: (tx: Tx) => unknown;
  readonly savepoint: boolean;
  /** Of the caller that queued the operation. */
  readonly inSpan: InSpan;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome =
  | { readonly ok: true; readonly value: unknown; readonly effects: (() => void)[] }
  | { readonly ok: false; readonly error: unknown };

/** The transaction of one operation. A class for its shape: one is created per operation, and closures would cost more than it does. */
class GroupTx implements Tx {
  readonly statements: Statements;
  readonly effects: (() => void)[] = [];
  /** False once its operation has returned. */
  open = true;

  constructor(statements: Statements) {
    this.statements = statements;
  }

  get<T>(sql: string, ...values: Value[]): T | undefined {
    this.guard();
    return this.statements.get(sql).get(...values) as T | undefined;
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    this.guard();
    return this.statements.get(sql).all(...values) as T[];
  }

  run(sql: string, ...values: Value[]): { changes: number } {
    this.guard();
    return { changes: this.statements.get(sql).run(...values).changes };
  }

  afterCommit(effect: () => void): void {
    this.guard();
    this.effects.push(effect);
  }

  guard(): void {
    if (!this.open) throw new Error('A transaction was used after its operation had returned.');
  }
}

/** How long to wait for another program's lock, without blocking the loop. */
const busyPauseMs = 25;
const busyTries = 80;
/** After the disk refused, a test write is tried this often. */
const probeMs = 1000;

interface WriteGroups {
  write<T>(operation: (tx: Tx) => T, options?: WriteGroupOptions): Promise<T>;
  trouble(): string | null;
  /** Commits queued operations, then refuses everything. */
  close(): void;
}

export function createWriteGroups(deps: {
  readonly database: Database;
  readonly statements: Statements;
  readonly file: string;
  readonly timers: Timers;
  /** Whether to try writing again after the disk was full. */
  readonly hasSpace: () => boolean;
  /** An effect after a commit threw: a fault of the program. The write itself is durable. */
  readonly onFault: (error: unknown) => void;
  /** What a group does for each caller belongs to that caller's span. Absent: nothing is traced. */
  readonly remember?: Telemetry['remember'];
}): WriteGroups {
  const { database, statements } = deps;
  let queue: Pending[] = [];
  let scheduled = false;
  let tries = 0;
  let closed = false;
  let cancelTimer = () => {};
  const disk = createDisk(deps);

  function write<T>(operation: (tx: Tx) => T, { savepoint = true }: WriteGroupOptions = {}): Promise<T> {
    if (closed) return Promise.reject(new AppError('transport', `${deps.file} is closed.`, 'Start Gantry again.'));
    const refused = disk.refusal();
    if (refused !== null) return Promise.reject(refused);
    return new Promise<T>((resolve, reject) => {
      const inSpan = deps.remember?.() ?? atOnce;
      queue.push({ operation, savepoint, inSpan, resolve: resolve as (value: unknown) => void, reject });
      if (scheduled) return;
      scheduled = true;
      // After the poll phase: by then, everything that arrived in this turn of the loop has queued its operation.
      setImmediate(flush);
    });
  }

  function flush(): void {
    scheduled = false;
    const group = queue;
    queue = [];
    if (group.length === 0) return;
    const begun = begin();
    if (begun === 'later') {
      queue = group.concat(queue);
      scheduled = true;
      cancelTimer = deps.timers.after(busyPauseMs, flush);
      return;
    }
    if (begun !== 'begun') {
      for (const pending of group) pending.reject(begun);
      return;
    }
    commit(group);
  }

  function begin(): 'begun' | 'later' | AppError {
    try {
      statements.begin();
      tries = 0;
      return 'begun';
    } catch (error) {
      const code = sqliteCode(error);
      if (isBusy(code) && tries < busyTries && !closed) {
        tries += 1;
        return 'later';
      }
      tries = 0;
      return disk.fail(error);
    }
  }

  function commit(group: readonly Pending[]): void {
    const outcomes: Outcome[] = [];
    try {
      for (const { operation, savepoint, inSpan } of group) {
        outcomes.push(inSpan(() => runOne(operation, savepoint, group.length > 1)));
      }
      statements.commit();
    } catch (error) {
      rollback(deps);
      const reason = disk.fail(error);
      for (const pending of group) pending.reject(reason);
      return;
    }
    outcomes.forEach((outcome, index) => {
      if (outcome.ok) (group[index] as Pending).inSpan(() => runEffects(outcome.effects, deps.onFault));
    });
    group.forEach((pending, index) => {
      const outcome = outcomes[index] as Outcome;
      if (outcome.ok) pending.resolve(outcome.value);
      else pending.reject(outcome.error);
    });
  }

  /** One operation in its savepoint. Throws only errors that end the whole group. */
  function runOne(operation: (tx: Tx) => unknown, savepoint: boolean, shared: boolean): Outcome {
    // A single operation needs no savepoint unless it fails; then there is nothing else to keep.
    const saved = savepoint && shared;
    if (saved) statements.savepoint();
    const tx = new GroupTx(statements);
    try {
      const value = operation(tx);
      tx.open = false;
      if (typeof (value as { then?: unknown } | null | undefined)?.then === 'function') {
        throw new Error('An operation of the store returned a promise: nothing may be awaited inside.');
      }
      if (saved) statements.release();
      return { ok: true, value, effects: tx.effects };
    } catch (error) {
      tx.open = false;
      // SQLite itself may have ended the transaction (disk full, I/O error): then nothing of the group is left.
      if (!database.inTransaction || isTrouble(sqliteCode(error))) throw error;
      if (saved) statements.rollbackTo();
      else if (savepoint) {
        statements.rollback();
        statements.begin();
      }
      return { ok: false, error };
    }
  }

  function close(): void {
    if (closed) return;
    cancelTimer();
    disk.close();
    closed = true;
    flush();
  }

  return { write, trouble: disk.trouble, close };
}

/** What the disk refused: no write is accepted until a test write succeeds. */
function createDisk({
  database,
  statements,
  file,
  timers,
  hasSpace,
}: Pick<Parameters<typeof createWriteGroups>[0], 'database' | 'statements' | 'file' | 'timers' | 'hasSpace'>) {
  let refused: AppError | null = null;
  let closed = false;
  let cancelTimer = () => {};

  /** Turns the error that ended a group into its callers' error, and stops accepting writes while the disk refuses. */
  function fail(error: unknown): AppError {
    const code = sqliteCode(error);
    if (isTrouble(code)) {
      refused = refusal(code, file, error);
      // Damage does not heal while we run; a start moves the file aside.
      if (!isDamage(code)) cancelTimer = timers.after(probeMs, probe);
      return again(refused);
    }
    if (isBusy(code)) return refusal(code, file, error);
    return new AppError('internal', `${file} could not be written.`, 'See the log.', { cause: error });
  }

  function probe(): void {
    if (closed || refused === null) return;
    try {
      if (hasSpace()) {
        // A log that cannot grow any more still accepts a small row: only after truncating it do larger ones fit.
        statements.emptyLog();
        statements.begin();
        statements.touch();
        statements.commit();
        refused = null;
        return;
      }
    } catch {
      rollback({ database, statements });
    }
    cancelTimer = timers.after(probeMs, probe);
  }

  return {
    fail,
    /** Null: it accepts writes. */
    refusal: (): AppError | null => (refused === null ? null : again(refused)),
    trouble: (): string | null => refused?.fact ?? null,
    close(): void {
      closed = true;
      cancelTimer();
    },
  };
}

function rollback({ database, statements }: { readonly database: Database; readonly statements: Statements }): void {
  try {
    if (database.inTransaction) statements.rollback();
  } catch {
    // The transaction is gone already; the next BEGIN shows whether the connection is usable.
  }
}

const atOnce: InSpan = (run) => run();

/** A new error for each caller: a stack belongs to one. */
function again(error: AppError): AppError {
  return new AppError(error.code, error.fact, error.action, error.options);
}
