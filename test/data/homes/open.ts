/** What `make.ts` keeps of a data folder, and how its rows are counted. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

export interface KeptHome {
  readonly commit: string;
  /** The day of the commit, and its time in seconds since 1970. */
  readonly made: string;
  readonly at: number;
  /** Parts of Gantry that the commit did not have. */
  readonly without: readonly string[];
  /** Rows by `<database>.<table>`. */
  readonly rows: Readonly<Record<string, number>>;
}

/** Rows name the workspace by its path, so each folder is opened where it was made. */
export const placeOf = (commit: string): string => `/tmp/gantry-home-${commit}`;

/** Rows of every table of a data folder that no process has open. */
export function countRows(home: string): Record<string, number> {
  const rows: Record<string, number> = {};
  for (const file of readdirSync(home).filter((name) => name.endsWith('.db') && existsSync(join(home, name)))) {
    const db = new Database(join(home, file));
    const tables = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .pluck()
      .all() as string[];
    for (const table of tables) {
      rows[`${file.slice(0, -3)}.${table}`] = db.prepare(`SELECT count(*) FROM "${table}"`).pluck().get() as number;
    }
    db.close();
  }
  return rows;
}

/** Tables that Gantry writes at a start of its own accord, or forgets when their time is over, and why. */
const free: readonly [table: string, why: string][] = [
  ['cloud.open_code', 'each start prints a sign-in link'],
  ['cloud.signature_seen', 'signatures of the last minutes, so that none counts twice'],
  ['cloud.edge_position', 'how far the edge has read'],
  ['cloud.work_move', 'changes of counts that wait until they are added to work_count'],
  ['cloud.work_count', 'what they add up to'],
  ['cloud.work_sample', 'how the queue stood, each minute'],
];
/** Tables that only grow. */
const growing: readonly string[] = ['runtime.ledger', 'runtime.schema_migration', 'cloud.schema_migration'];
/** Tables whose rows a later migration put into another. */
const moved: Readonly<Record<string, string>> = { 'cloud.runtime_device': 'cloud.computer', 'cloud.session': 'cloud.sign_in' };

/** What of `then` is not in `now`, a sentence for each table. */
export function lostRows(then: KeptHome['rows'], now: KeptHome['rows']): string[] {
  return Object.entries(then)
    .filter(([table]) => !free.some(([name]) => name === table))
    .flatMap(([table, n]) => {
      const found = now[table] ?? now[moved[table] ?? ''];
      if (found === undefined) return [`table ${table} with ${n} rows is gone`];
      const whole = growing.includes(table) || table in moved ? found >= n : found === n;
      return whole ? [] : [`table ${table} had ${n} rows and has ${found}`];
    });
}
