/**
 * Checks a database file for damage before it is used, and moves a damaged one aside, never deleting it. Must not know tables.
 *
 * Beside `x.db` is `x.db.id`: the store's id, written once the database exists. It distinguishes a first start from a file that is wrongly empty or
 * missing, because SQLite opens an empty file as a new database.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';

const idFile = (file: string) => `${file}.id`;
export const backupFolder = (file: string) => join(dirname(file), 'backups');

/** Date and time that can stand in a file name. */
export const stamp = (now: number) => new Date(now).toISOString().replaceAll(':', '-').replace('.', '-');

/** The id beside the database; null if none was ever written. */
export function readStoreId(file: string): string | null {
  return existsSync(idFile(file)) ? readFileSync(idFile(file), 'utf8').trim() : null;
}

export function writeStoreId(file: string, id: string): void {
  const temporary = `${idFile(file)}.new`;
  const out = openSync(temporary, 'w', 0o600);
  writeSync(out, `${id}\n`);
  fsyncSync(out);
  closeSync(out);
  renameSync(temporary, idFile(file));
}

/** Refuses a file that is missing or empty although it held data, or that is no SQLite database; moves it aside first. */
export function checkFile(file: string, now: number): void {
  const expected = readStoreId(file) !== null;
  if (!existsSync(file)) {
    if (!expected) return;
    rmSync(idFile(file), { force: true });
    throw missing(file, now);
  }
  const head = readHead(file);
  if (head.size === 0) {
    if (expected) throw moveAside(file, now, 'is empty although it held data');
    return;
  }
  if (!head.text.startsWith('SQLite format 3\0'))
    throw moveAside(file, now, 'is not a database (its first bytes are wrong)');
}

function readHead(file: string): { size: number; text: string } {
  const input = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(16);
    readSync(input, bytes, 0, 16, 0);
    return { size: fstatSync(input).size, text: bytes.toString('latin1') };
  } finally {
    closeSync(input);
  }
}

function missing(file: string, now: number): AppError {
  const leftOver = asideSuffixes.filter((suffix) => suffix !== '' && existsSync(file + suffix));
  for (const suffix of leftOver) renameSync(file + suffix, `${file}.damaged-${stamp(now)}${suffix}`);
  return new AppError('needs_person', `${file} is missing although it held data.`, whatNext(file));
}

const asideSuffixes = ['', '-wal', '-shm'] as const;

/** Moves the database with its write-ahead log to a dated name and returns the error that says so. */
export function moveAside(file: string, now: number, what: string): AppError {
  const aside = `${file}.damaged-${stamp(now)}`;
  for (const suffix of asideSuffixes) {
    if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
  }
  rmSync(idFile(file), { force: true });
  return new AppError('needs_person', `${file} ${what}. It was moved unchanged to ${aside}.`, whatNext(file));
}

function whatNext(file: string): string {
  const backup = newestBackup(file);
  const before = backup === null ? '' : `Copy the backup ${backup} to ${file}, `;
  const restore = `${before === '' ? 'Restore' : 'restore'} a full backup with \`gantry restore <file>\``;
  return `${before}${restore}, or start Gantry again to begin with an empty one.`;
}

/** Backups of this database, oldest first. */
export function backupsOf(file: string): string[] {
  const folder = backupFolder(file);
  if (!existsSync(folder)) return [];
  const prefix = `${basename(file)}.`;
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith('.db'))
    .sort()
    .map((name) => join(folder, name));
}

function newestBackup(file: string): string | null {
  return backupsOf(file).at(-1) ?? null;
}

/** Earlier files that were moved aside and still exist. */
export function movedAside(file: string): string[] {
  const prefix = `${basename(file)}.damaged-`;
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(prefix) && !name.endsWith('-wal') && !name.endsWith('-shm'))
    .sort()
    .map((name) => join(dirname(file), name));
}
