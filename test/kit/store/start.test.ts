/** What a start does with migrations, and with files that are damaged, empty, missing or from another Gantry. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Migration } from '../../../src/kit/store/store.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const clock = createTestClock();
const first: Migration = { number: 1, name: 'notes', sql: 'CREATE TABLE note (text TEXT) STRICT' };
const second: Migration = { number: 2, name: 'authors', sql: 'ALTER TABLE note ADD COLUMN author TEXT' };
const elsewhere: Migration = { area: 'other', number: 1, name: 'tags', sql: 'CREATE TABLE tag (name TEXT) STRICT' };

const open = (file: string, migrations: Migration[] = [first]) => openStore({ file, migrations, clock });

async function refused(opening: Promise<unknown>): Promise<AppError> {
  const error = await opening.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

/** A database with rows on enough pages to have something to damage. */
async function filled(): Promise<string> {
  const file = join(scratchFolder(), 'data', 'x.db');
  const store = await open(file);
  await store.write((tx) => {
    for (let index = 0; index < 500; index += 1) tx.run('INSERT INTO note (text) VALUES (?)', `${index}`.repeat(100));
  });
  await store.close();
  return file;
}

const count = (file: string) => {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare('SELECT count(*) FROM note').pluck().get();
  database.close();
  return rows;
};

test('steps are applied once, also of several areas', async () => {
  const file = await filled();
  for (const migrations of [
    [first, elsewhere],
    [first, second, elsewhere],
  ]) {
    const store = await open(file, migrations);
    await store.close();
  }
  const store = await open(file, [first, second, elsewhere]);
  const rows = await store.read((tx) =>
    tx.all('SELECT area, number, name FROM schema_migration ORDER BY area, number'),
  );
  expect(rows).toEqual([
    { area: 'main', number: 1, name: 'notes' },
    { area: 'main', number: 2, name: 'authors' },
    { area: 'other', number: 1, name: 'tags' },
  ]);
  await store.close();
});

test('a backup is made before an old database is migrated, and none for a new one or without a step', async () => {
  const file = await filled();
  const folder = join(file, '..', 'backups');
  await (await open(file)).close();
  expect(existsSync(folder)).toBe(false);
  await (await open(file, [first, second])).close();
  const backups = readdirSync(folder);
  expect(backups).toHaveLength(1);
  expect(count(join(folder, backups[0] as string))).toBe(500);
});

test('a step that fails leaves the database as the step before it left it', async () => {
  const file = await filled();
  const broken: Migration = {
    number: 2,
    name: 'broken',
    sql: 'CREATE TABLE half (a TEXT) STRICT; CREATE TABLE note (b TEXT)',
  };
  await expect(open(file, [first, broken])).rejects.toThrow('note already exists');
  const store = await open(file);
  expect(await store.read((tx) => tx.get("SELECT 1 FROM sqlite_schema WHERE name = 'half'"))).toBeUndefined();
  await store.close();
});

test('a step whose text has changed is refused by name', async () => {
  const file = await filled();
  const error = await refused(open(file, [{ ...first, sql: `${first.sql} ` }]));
  expect(error.code).toBe('refused');
  expect(error.fact).toContain('main/1 "notes"');
  expect(count(file)).toBe(500);
});

test('a database of a newer Gantry is refused and not touched', async () => {
  const file = await filled();
  await (await open(file, [first, second])).close();
  const before = readFileSync(file);
  const error = await refused(open(file));
  expect(error.code).toBe('refused');
  expect(error.fact).toContain('newer Gantry');
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('steps out of order are a fault of the program', async () => {
  await expect(open(join(scratchFolder(), 'x.db'), [second])).rejects.toThrow('main/1 is expected');
});

const damages: [string, (file: string) => void][] = [
  ['its header zeroed', (file) => overwrite(file, 0, Buffer.alloc(100))],
  ['its header replaced', (file) => overwrite(file, 0, Buffer.from('this is not a database at all'))],
  ['a page in the middle overwritten', (file) => overwrite(file, 4096 * 3, Buffer.alloc(4096, 0x5a))],
  ['its end cut off', (file) => truncateSync(file, 4096 * 4)],
  ['emptied', (file) => truncateSync(file, 0)],
];

function overwrite(file: string, at: number, bytes: Buffer): void {
  const content = readFileSync(file);
  bytes.copy(content, at);
  writeFileSync(file, content);
}

test.each(damages)(
  'a database with %s is moved aside whole, said once, and the next start begins anew',
  async (_, damage) => {
    const file = await filled();
    damage(file);
    const damaged = readFileSync(file);
    const error = await refused(open(file));
    expect(error.code).toBe('needs_person');
    const aside = /moved unchanged to (\S+)\.$/.exec(error.fact)?.[1] as string;
    expect(readFileSync(aside).equals(damaged)).toBe(true);
    expect(error.action).toContain('start Gantry again');
    const store = await open(file);
    expect(store.notices.join()).toContain(aside);
    expect(await store.read((tx) => tx.get('SELECT count(*) AS n FROM note'))).toEqual({ n: 0 });
    await store.close();
  },
);

test('the action names the newest backup', async () => {
  const file = await filled();
  await (await open(file, [first, second])).close();
  overwrite(file, 0, Buffer.alloc(100));
  const error = await refused(open(file, [first, second]));
  const backup = /Copy the backup (\S+) to/.exec(error.action)?.[1] as string;
  expect(count(backup)).toBe(500);
});

test('a database that is gone is said once; a first start is none of that', async () => {
  const file = await filled();
  rmSync(file);
  const error = await refused(open(file));
  expect(error.code).toBe('needs_person');
  expect(error.fact).toContain('is missing although it held data');
  await (await open(file)).close();
});

test('an empty file where no database ever was is a first start', async () => {
  const file = join(scratchFolder(), 'x.db');
  writeFileSync(file, '');
  await (await open(file)).close();
  expect(count(file)).toBe(0);
});

test('a database put in place of another is opened and said', async () => {
  const one = await filled();
  const two = await filled();
  writeFileSync(one, readFileSync(two));
  const store = await open(one);
  expect(store.notices).toEqual([`${one} was replaced by another database since the last start.`]);
  await store.close();
  const again = await open(one);
  expect(again.notices).toEqual([]);
  await again.close();
});

test('a folder in the place of the database is refused in words', async () => {
  const file = join(scratchFolder(), 'x.db');
  mkdirSync(file);
  const error = await refused(open(file));
  expect(error.code).toBe('transport');
  expect(error.fact).toContain(file);
});
