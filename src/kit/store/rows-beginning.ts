/**
 * Counts the rows of each table of a closed SQLite file that contain a text with a given prefix. Reads every row: for the rare moment in which
 * nothing may be opened yet. Must not know what the texts are.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';

/** By table, only those that have such rows. A missing or damaged file has none: opening it as a store reports that. */
export function rowsBeginning(file: string, prefix: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  if (!existsSync(file)) return found;
  const database = new Database(file, { readonly: true });
  try {
    const tables = database
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .pluck()
      .all() as string[];
    for (const table of tables) {
      const columns = database.prepare(`SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'`).pluck().all(table);
      if (columns.length === 0) continue;
      const begins = columns.map((column) => `substr("${String(column)}", 1, ?) = ?`).join(' OR ');
      const values = columns.flatMap(() => [prefix.length, prefix]);
      const count = database
        .prepare(`SELECT count(*) FROM "${table}" WHERE ${begins}`)
        .pluck()
        .get(...values);
      if (Number(count) > 0) found.set(table, Number(count));
    }
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || !/^SQLITE_(?:NOTADB|CORRUPT)/.test(error.code)) throw error;
  } finally {
    database.close();
  }
  return found;
}
