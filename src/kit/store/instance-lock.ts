/**
 * One process at a time in a data folder. The lock is the operating system's, held through SQLite: it ends with the process however that ends, so
 * there is never a stale one to judge. First user: the runtime; second: a separate cloud API.
 */
import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { isBusy, sqliteCode } from './sqlite-errors.ts';

/**
 * Takes the lock and returns a function that releases it, or null while another holder lives. `waitMs` outlasts a process that only checks whether
 * the lock is free. Throws `ENOENT` if there is no such folder.
 */
export function takeInstanceLock(file: string, waitMs = 0): (() => void) | null {
  // Never open the file itself here: closing it again would drop a lock that this very process holds (POSIX).
  statSync(dirname(file));
  const database = new Database(file, { timeout: waitMs });
  try {
    chmodSync(file, 0o600);
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
    return () => database.close();
  } catch (error) {
    database.close();
    if (isBusy(sqliteCode(error))) return null;
    throw error;
  }
}
