/** Migrations on SQLite: each step in its own transaction with its mark. Every refusal comes before anything is written. */
import type { Database } from 'better-sqlite3';
import { type AppliedStep, pendingSteps as pendingOf, type Step, stepsOf } from './steps.ts';
import type { Migration } from './store.ts';

const table = `CREATE TABLE IF NOT EXISTS schema_migration (
  area TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL,
  PRIMARY KEY (area, number)) STRICT, WITHOUT ROWID`;

/** Steps still to apply. Throws `refused` if this program may not touch the database. Writes nothing. */
export function pendingSteps(database: Database, file: string, migrations: readonly Migration[]): Step[] {
  const steps = stepsOf({ migrations, textOf: ({ sql }) => sql });
  return pendingOf(appliedSteps(database), steps, { where: file, backup: ' (folder "backups" beside the file)' });
}

/** Steps that have been applied; empty for a new file. */
export function appliedSteps(database: Database): AppliedStep[] {
  const exists = database
    .prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'`)
    .get();
  if (exists === undefined) return [];
  return database.prepare<[], AppliedStep>('SELECT area, number, name, sha256 FROM schema_migration').all();
}

/** Applies `steps` in order, each in its own transaction with its mark. */
export function applySteps(database: Database, steps: readonly Step[], now: number): void {
  if (steps.length === 0) return;
  database.exec(table);
  const mark = database.prepare('INSERT INTO schema_migration VALUES (?, ?, ?, ?, ?)');
  for (const { area, number, name, sql, sha256 } of steps) {
    database
      .transaction(() => {
        // A second process may have been faster; the exclusive transaction decides the order.
        const done = database.prepare('SELECT 1 FROM schema_migration WHERE area = ? AND number = ?').get(area, number);
        if (done !== undefined) return;
        database.exec(sql);
        mark.run(area, number, name, sha256, now);
      })
      .exclusive();
  }
}
