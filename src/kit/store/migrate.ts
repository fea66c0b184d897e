/**
 * Up-only migrations (store.md 2.4): each step is applied once, in its own transaction, and its text is remembered by hash.
 * A changed step and a database from a newer Gantry are refused before anything is written.
 */
import { createHash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { AppError } from '../../contracts/common/errors.ts';
import type { Migration } from './store.ts';

interface AppliedStep {
  area: string;
  number: number;
  name: string;
  sha256: string;
}

const table = `CREATE TABLE IF NOT EXISTS schema_migration (
  area TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL,
  PRIMARY KEY (area, number)) STRICT, WITHOUT ROWID`;

const areaOf = (step: Migration) => step.area ?? 'main';
const hashOf = (step: Migration) => createHash('sha256').update(step.sql).digest('hex');

/** A fault of the program: two steps with one number, or a hole. */
function checkOrder(steps: readonly Migration[]): void {
  const last = new Map<string, number>();
  for (const step of steps) {
    const area = areaOf(step);
    const expected = (last.get(area) ?? 0) + 1;
    if (step.number !== expected) {
      throw new Error(`Migration ${area}/${step.number} "${step.name}" stands where ${area}/${expected} is expected.`);
    }
    last.set(area, step.number);
  }
}

/** Steps still to apply. Throws `refused` when this program may not touch the database. Writes nothing. */
export function pendingSteps(database: Database, file: string, steps: readonly Migration[]): Migration[] {
  checkOrder(steps);
  const known = new Map(steps.map((step) => [`${areaOf(step)}/${step.number}`, step]));
  const applied = new Set<string>();
  for (const row of appliedSteps(database)) {
    const key = `${row.area}/${row.number}`;
    const step = known.get(key);
    if (step === undefined) {
      throw new AppError(
        'refused',
        `${file} was written by a newer Gantry (step ${key} "${row.name}" is not known here).`,
        'Start the newer version, or put back a backup from before it (folder "backups" beside the file).',
      );
    }
    if (hashOf(step) !== row.sha256) {
      throw new AppError(
        'refused',
        `Step ${key} "${row.name}" of ${file} is not the one this Gantry knows.`,
        'Start the version that made this database, or put back a backup from before it (folder "backups" beside the file).',
      );
    }
    applied.add(key);
  }
  return steps.filter((step) => !applied.has(`${areaOf(step)}/${step.number}`));
}

/** Steps that have been applied; none for a new file. */
export function appliedSteps(database: Database): AppliedStep[] {
  const exists = database
    .prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'`)
    .get();
  if (exists === undefined) return [];
  return database.prepare<[], AppliedStep>('SELECT area, number, name, sha256 FROM schema_migration').all();
}

/** Applies `steps` in order, each in its own transaction with its mark. */
export function applySteps(database: Database, steps: readonly Migration[], now: number): void {
  if (steps.length === 0) return;
  database.exec(table);
  const mark = database.prepare('INSERT INTO schema_migration VALUES (?, ?, ?, ?, ?)');
  for (const step of steps) {
    database
      .transaction(() => {
        // A second process may have been faster; the exclusive transaction makes the order.
        const done = database
          .prepare('SELECT 1 FROM schema_migration WHERE area = ? AND number = ?')
          .get(areaOf(step), step.number);
        if (done !== undefined) return;
        database.exec(step.sql);
        mark.run(areaOf(step), step.number, step.name, hashOf(step), now);
      })
      .exclusive();
  }
}
