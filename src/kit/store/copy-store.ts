/**
 * Whole copies of databases in use, and checks of such a copy before anything relies on it. First user: `gantry backup`; second: `gantry restore`.
 * Must not know tables.
 */
import { chmodSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { AppError } from '../../contracts/common/errors.ts';
import { pendingSteps } from './migrate.ts';
import { isBusy, isTrouble, refusal, sqliteCode } from './sqlite-errors.ts';
import type { Migration, Store } from './store.ts';

/** Pages per turn: a few milliseconds of reading. */
const portion = 2000;
const busyMs = 5_000;

interface StoreCopy {
  readonly from: string;
  readonly to: string;
}

/**
 * Copies databases while others write. All copies show one moment: each is read through a transaction that began before the first page of any was
 * copied. Throws `transport` with the file's name. `onCopied`: bytes copied, of all, and the file that is copied now.
 */
export async function copyStores(
  copies: readonly StoreCopy[],
  onCopied: (done: number, total: number, from: string) => void = () => {},
): Promise<void> {
  const opened: { readonly database: Database.Database; readonly copy: StoreCopy }[] = [];
  let at = copies[0];
  try {
    for (const copy of copies) {
      at = copy;
      opened.push({ database: new Database(copy.from, { readonly: true, timeout: busyMs }), copy });
    }
    for (const { database, copy } of opened) {
      at = copy;
      database.exec('BEGIN');
      // Only a read creates the snapshot.
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
    }
    const sizes = opened.map(({ database }) => sizeOf(database));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    let before = 0;
    for (const [index, { database, copy }] of opened.entries()) {
      at = copy;
      const size = sizes[index] ?? 0;
      const progress = ({ totalPages, remainingPages }: Database.BackupMetadata) => {
        onCopied(before + (totalPages > 0 ? size * (1 - remainingPages / totalPages) : 0), total, copy.from);
        return portion;
      };
      await database.backup(copy.to, { progress });
      before += size;
      chmodSync(copy.to, 0o600);
    }
  } catch (error) {
    throw cannotCopy(at?.from ?? '', error);
  } finally {
    for (const { database } of opened) database.close();
  }
}

const sizeOf = (database: Database.Database) =>
  Number(database.pragma('page_count', { simple: true })) * Number(database.pragma('page_size', { simple: true }));

function cannotCopy(file: string, cause: unknown): AppError {
  const code = sqliteCode(cause);
  if (code === 'SQLITE_FULL') {
    return new AppError(
      'transport',
      `The disk is too full for a copy of ${file}.`,
      'Free some space, then try again.',
      { cause },
    );
  }
  if (isTrouble(code) || isBusy(code)) return refusal(code, file, cause);
  return new AppError('transport', `${file} cannot be copied: ${(cause as Error).message}.`, 'Check its permissions.', {
    cause,
  });
}

/** Opens a copy that nobody else has open, read-only. Closing it removes SQLite's files beside it. */
export function openCopy(file: string): Pick<Store, 'read'> & { close(): void } {
  const database = new Database(file, { readonly: true });
  return {
    read: async (operation) =>
      operation({
        get: <T>(sql: string, ...values: unknown[]) => database.prepare(sql).get(...values) as T | undefined,
        all: <T>(sql: string, ...values: unknown[]) => database.prepare(sql).all(...values) as T[],
      }),
    close() {
      database.close();
      for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
    },
  };
}

/** Describes the damage of a copy; null if it is sound. Throws `refused` for one from a newer or other Gantry. */
export function inspectCopy(file: string, migrations: readonly Migration[], where = file): string | null {
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { readonly: true });
    const verdict = String(database.pragma('integrity_check(1)', { simple: true }));
    if (verdict !== 'ok') return verdict.split('\n')[0] as string;
    pendingSteps(database, where, migrations);
    return null;
  } catch (error) {
    if (sqliteCode(error) !== '') return (error as Error).message;
    throw error;
  } finally {
    database?.close();
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  }
}
