/**
 * Opens a SQLite file as a {@link Store}: checks it, migrates it, sets it up. The only importer of better-sqlite3. One process, one connection for
 * each file. First user: `runtime.db`; second: `cloud.db`.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { systemTimers, type Timers } from '../clock/timers.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import {
  backupFolder,
  backupsOf,
  checkFile,
  moveAside,
  movedAside,
  readStoreId,
  stamp,
  writeStoreId,
} from './damage.ts';
import { appliedSteps, applySteps, pendingSteps } from './migrate.ts';
import { isBusy, isDamage, isTrouble, refusal, sqliteCode } from './sqlite-errors.ts';
import { createStatements } from './statements.ts';
import type { OpenedStore, OpenStoreOptions } from './store.ts';
import { createWriteGroups } from './write-groups.ts';

interface StoreDeps {
  readonly clock: Clock;
  readonly timers?: Timers;
  /** An effect after a commit threw. Default: thrown from the event loop, like any uncaught fault. */
  readonly onFault?: (error: unknown) => void;
  /** {@link Telemetry.remember} of `kit/telemetry`. */
  readonly remember?: Telemetry['remember'];
}

/** Our own connection never competes with itself; a foreign lock is waited for without blocking (write-groups.ts). */
const busyTimeoutMs = 50;
/** With less free space than this, a full disk still counts as full: a commit would only fit by luck. */
const spaceNeeded = 4 * 1024 * 1024;
const maxBackups = 3;

/**
 * Opens or creates the database. Fails with `needs_person` if the file is damaged, empty or missing although it held data (it is moved aside first,
 * and the next start begins with an empty one), `refused` if it is from a newer or other Gantry, `transport` if the disk or another program refuses.
 */
export async function openStore(options: OpenStoreOptions & StoreDeps): Promise<OpenedStore> {
  const { file, clock } = options;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    checkFile(file, clock.now());
  } catch (error) {
    throw error instanceof AppError ? error : cannotOpen(file, error);
  }
  const database = openChecked(file, clock.now());
  try {
    const id = prepare(database, options);
    const notices = noticesAbout(file, id);
    writeStoreId(file, id);
    return serve(database, options, notices);
  } catch (error) {
    database.close();
    const code = sqliteCode(error);
    throw isTrouble(code) || isBusy(code) ? refusal(code, file, error) : error;
  }
}

/** A connection to a file that passes SQLite's check. */
function openChecked(file: string, now: number): Database.Database {
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { timeout: busyTimeoutMs });
    chmodSync(file, 0o600);
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    database.pragma('trusted_schema = OFF');
    database.pragma('cell_size_check = ON');
    // The rollback data of a large group's savepoint: in a file, it cost more writes than the log.
    database.pragma('temp_store = MEMORY');
    // Pages, 16 MB: each checkpoint waits for the disk, and between two of them the same pages are written repeatedly.
    database.pragma('wal_autocheckpoint = 4000');
    database.pragma(`journal_size_limit = ${64 * 1024 * 1024}`);
    const verdict = database.pragma('quick_check(1)', { simple: true });
    if (verdict === 'ok') return database;
    throw Object.assign(new Error(String(verdict)), { code: 'SQLITE_CORRUPT' });
  } catch (error) {
    database?.close();
    const code = sqliteCode(error);
    if (isDamage(code)) throw moveAside(file, now, `is damaged (${firstFinding(error as Error)})`);
    if (isTrouble(code) || isBusy(code)) throw refusal(code, file, error);
    throw cannotOpen(file, error);
  }
}

/** SQLite begins its findings with the name of the database, which is always the same. */
function firstFinding({ message }: Error): string {
  const lines = message.split('\n');
  return lines.find((line) => !line.startsWith('***')) ?? message;
}

function cannotOpen(file: string, cause: unknown): AppError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AppError('transport', `${file} cannot be opened (${why}).`, 'Check the folder and its permissions.', {
    cause,
  });
}

/** Migrates, after a backup if there is data to lose; returns the store's id. */
function prepare(database: Database.Database, options: OpenStoreOptions & StoreDeps): string {
  const { file, clock } = options;
  const pending = pendingSteps(database, file, options.migrations);
  if (pending.length > 0 && appliedSteps(database).length > 0) backup(database, file, clock.now());
  database.exec('CREATE TABLE IF NOT EXISTS store_meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID');
  applySteps(database, pending, clock.now());
  database.prepare(`INSERT INTO store_meta VALUES ('id', ?) ON CONFLICT DO NOTHING`).run(randomUUID());
  return database.prepare<[], string>(`SELECT value FROM store_meta WHERE key = 'id'`).pluck().get() as string;
}

/** A whole copy under `backups/`, made by SQLite itself; only the newest few are kept. */
function backup(database: Database.Database, file: string, now: number): void {
  mkdirSync(backupFolder(file), { recursive: true, mode: 0o700 });
  const copy = join(backupFolder(file), `${basename(file)}.${stamp(now)}.db`);
  rmSync(copy, { force: true });
  database.prepare('VACUUM INTO ?').run(copy);
  chmodSync(copy, 0o600);
  for (const old of backupsOf(file).slice(0, -maxBackups)) rmSync(old, { force: true });
}

function noticesAbout(file: string, id: string): string[] {
  const notices = movedAside(file).map((path) => `An earlier ${basename(file)} was moved aside to ${path}.`);
  const before = readStoreId(file);
  if (before !== null && before !== id) notices.push(`${file} was replaced by another database since the last start.`);
  return notices;
}

function serve(
  database: Database.Database,
  options: OpenStoreOptions & StoreDeps,
  notices: readonly string[],
): OpenedStore {
  const statements = createStatements(database);
  const groups = createWriteGroups({
    database,
    statements,
    file: options.file,
    remember: options.remember,
    timers: options.timers ?? systemTimers,
    hasSpace: () => {
      const disk = statfsSync(dirname(options.file));
      return disk.bavail * disk.bsize >= spaceNeeded;
    },
    onFault:
      options.onFault ??
      ((error) => {
        setImmediate(() => {
          throw error;
        });
      }),
  });
  let closed = false;

  return {
    notices,
    write: groups.write,
    trouble: groups.trouble,
    // One connection, and a group runs without a pause, so a read always sees committed data.
    read: async (operation) =>
      operation({
        get: <T>(sql: string, ...values: unknown[]) => statements.reader(sql).get(...values) as T | undefined,
        all: <T>(sql: string, ...values: unknown[]) => statements.reader(sql).all(...values) as T[],
      }),
    close: async () => {
      if (closed) return;
      closed = true;
      groups.close();
      try {
        database.pragma('optimize');
      } catch {
        // Only statistics: a full disk must not keep the program from ending.
      }
      database.close();
    },
  };
}
