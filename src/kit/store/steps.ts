/**
 * Which migrations a database still needs: numbered, up only, remembered by the hash of their text. First user: SQLite;
 * second: PostgreSQL. Must not know how a step is applied.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { Migration } from './store.ts';

export interface AppliedStep {
  readonly area: string;
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
}

/** A step for one engine. */
export interface Step extends AppliedStep {
  readonly sql: string;
}

export function stepsOf({
  migrations,
  textOf,
}: {
  readonly migrations: readonly Migration[];
  /** The engine's SQL for a migration. */
  readonly textOf: (migration: Migration) => string;
}): Step[] {
  checkOrder(migrations);
  return migrations.map((migration) => {
    const sql = textOf(migration);
    const sha256 = createHash('sha256').update(sql).digest('hex');
    return { area: areaOf(migration), number: migration.number, name: migration.name, sql, sha256 };
  });
}

const areaOf = (migration: Migration) => migration.area ?? 'main';
const keyOf = ({ area, number }: AppliedStep) => `${area}/${number}`;

/** A fault of the program: two steps with one number, or a gap. */
function checkOrder(migrations: readonly Migration[]): void {
  const last = new Map<string, number>();
  for (const migration of migrations) {
    const area = areaOf(migration);
    const expected = (last.get(area) ?? 0) + 1;
    if (migration.number !== expected) {
      throw new Error(
        `Migration ${area}/${migration.number} "${migration.name}" stands where ${area}/${expected} is expected.`,
      );
    }
    last.set(area, migration.number);
  }
}

/** Throws `refused` if this program may not touch the database. `where` names it; `backup` says where an older one may be. */
export function pendingSteps(
  applied: readonly AppliedStep[],
  steps: readonly Step[],
  { where, backup }: { where: string; backup: string },
): Step[] {
  const known = new Map(steps.map((step) => [keyOf(step), step]));
  for (const row of applied) {
    const key = keyOf(row);
    const step = known.get(key);
    if (step === undefined) {
      throw new AppError(
        'refused',
        `${where} was written by a newer Gantry (step ${key} "${row.name}" is not known here).`,
        `Start the newer version, or restore a backup from before it${backup}.`,
      );
    }
    if (step.sha256 !== row.sha256) {
      throw new AppError(
        'refused',
        `Step ${key} "${row.name}" of ${where} is not the one this Gantry knows.`,
        `Start the version that made this database, or restore a backup from before it${backup}.`,
      );
    }
  }
  const done = new Set(applied.map(keyOf));
  return steps.filter((step) => !done.has(keyOf(step)));
}
