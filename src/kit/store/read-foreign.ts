/**
 * Reads rows from a SQLite file that another program owns and may have open: opened read-only, for one query, never held. Null if there is no such
 * file or it cannot be read. Must not be used on a store of Gantry.
 */
import Database from 'better-sqlite3';

const busyMs = 500;

export function readForeign(
  file: string,
  sql: string,
  ...values: readonly (string | number)[]
): readonly Readonly<Record<string, unknown>>[] | null {
  let database: Database.Database | null = null;
  try {
    database = new Database(file, { readonly: true, fileMustExist: true, timeout: busyMs });
    return database.prepare(sql).all(...values) as Record<string, unknown>[];
  } catch {
    return null;
  } finally {
    database?.close();
  }
}
