/** No table grows unnoticed: each has a row in `docs/internals/retention.md`, which says what removes its rows or why they stay. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cloudMigrations } from '../../src/host/cloud-migrations.ts';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../src/kit/store/open-shared-store.ts';
import type { Migration } from '../../src/kit/store/store.ts';
import { sqliteIn } from '../support/engines.ts';
import { postgres } from '../support/postgres.ts';
import { scratchFolder } from '../support/scratch.ts';

const root = new URL('../..', import.meta.url).pathname;
const page = readFileSync(join(root, 'docs/internals/retention.md'), 'utf8');

interface Said {
  readonly table: string;
  readonly removedBy: string;
}

/** The rows below a heading. */
function said(heading: string): Said[] {
  const part = page.split(/^## /m).find((one) => one.startsWith(heading)) ?? '';
  return [...part.matchAll(/^\| `(\w+)` \| [^|]{1,200} \| ([^|]+) \|$/gm)].map(([, table, removedBy]) => ({
    table: table as string,
    removedBy: (removedBy as string).trim(),
  }));
}

const namesOf = (rows: readonly Said[]) => rows.map(({ table }) => table);

async function tablesOfSqlite(migrations: readonly Migration[]): Promise<string[]> {
  const store = await sqliteIn(scratchFolder()).open(migrations);
  const found = await store.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'row_check' ORDER BY name`,
  );
  return found.map(({ name }) => name);
}

test('every table of a cloud and of a computer says how long it keeps its rows', async () => {
  expect(namesOf(said('The cloud'))).toEqual(await tablesOfSqlite(cloudMigrations));
  expect(namesOf(said('A computer'))).toEqual(await tablesOfSqlite(runtimeMigrations));
});

test.skipIf(postgres === null)('the same on PostgreSQL', async () => {
  const databaseUrl = await postgres!.schema();
  const store = await openSharedStore({ databaseUrl, file: '', migrations: cloudMigrations, clock: systemClock });
  onTestFinished(() => store.close());
  const found = await store.all<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY table_name COLLATE "C"',
  );
  const names = found.map(({ name }) => name).filter((name) => name !== 'row_check');
  // SQLite's own notes about its file.
  expect(namesOf(said('The cloud')).filter((name) => name !== 'store_meta')).toEqual(names);
});

test('the source that is named removes rows of its table', () => {
  const wrong = [...said('The cloud'), ...said('A computer')].flatMap(({ table, removedBy }) => {
    if (removedBy === 'bounded' || removedBy === 'nothing: history') return [];
    const path = /^`(src\/[\w/.-]+\.ts)`$/.exec(removedBy)?.[1];
    if (path === undefined) return [`${table}: ${removedBy}`];
    const text = readFileSync(join(root, path), 'utf8');
    const named = new RegExp(`DELETE FROM ${table}\\b`).test(text);
    // One statement for several tables, whose names are given to it, here or by its callers.
    const given = /DELETE FROM \$\{table\}/.test(text) && (text.includes(`'${table}'`) || path.includes('/kit/'));
    return named || given ? [] : [`${table}: ${path} removes none`];
  });
  expect(wrong).toEqual([]);
});
