/** What a store finds out about rows that nobody changed. Real SQLite files, in which bits are flipped behind its back. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { copyStores } from '../../../src/kit/store/copy-store.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createRowChecks } from '../../../src/kit/store/row-checks.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import type { Migration } from '../../../src/kit/store/store.ts';
import { flipBit } from '../../support/flip-cells.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const tables = [{ name: 'note' }, { name: 'secret', key: 'name' }];
const notes: Migration = {
  number: 1,
  name: 'notes',
  sql: `CREATE TABLE note (id TEXT PRIMARY KEY, text TEXT NOT NULL, n INTEGER NOT NULL) STRICT;
    CREATE TABLE secret (name TEXT PRIMARY KEY, sealed TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
};

async function open(file = join(scratchFolder(), 'notes.db'), migrations: readonly Migration[] = [notes]) {
  const store = shareStore(await openStore({ file, migrations, clock: systemClock }));
  const timers = createTestClock();
  const told: string[] = [];
  const rows = createRowChecks({
    store,
    file,
    tables,
    clock: systemClock,
    timers,
    tell: (sentence) => told.push(sentence),
    onFault: (fault) => told.push(`fault ${String(fault)}`),
  });
  const run = (sql: string) => store.write((tx) => tx.run(sql));
  const found = async () => (await rows.check(60_000)).found;
  const text = async (n: number) => (await store.get<{ text: string }>('SELECT text FROM note WHERE n = ?', n))?.text;
  async function close() {
    await rows.close();
    await store.close();
  }
  onTestFinished(close);
  return { file, rows, told, timers, run, text, found, close };
}

async function filled(count = 3) {
  const opened = await open();
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  await Promise.all(numbers.map((n) => opened.run(`INSERT INTO note VALUES ('note-${n}', 'the text of ${n}.', ${n})`)));
  await opened.run(`INSERT INTO secret VALUES ('key', 'sealed and never seen')`);
  expect(await opened.found()).toEqual([]);
  return opened;
}

/** Flips the lowest bit of the first byte of a text, wherever a table holds it. */
function rot(file: string, text: string): void {
  const at = readFileSync(file).indexOf(text);
  if (at < 0) throw new Error(`${text} is not in the file.`);
  flipBit(file, at, 0);
}

test('a bit that flipped in a row is found and told, and found again after a restart', async () => {
  const { file, close } = await filled();
  await close();
  rot(file, 'the text of 2.');
  rot(file, 'sealed and never');
  const sentences = ['note: row note-2 differs from what was written', 'secret: row key differs from what was written'];
  for (let start = 0; start < 2; start += 1) {
    const again = await open(file);
    expect(await again.found()).toEqual(sentences);
    expect(await again.found()).toEqual(sentences);
    expect(again.told).toEqual(sentences);
    await again.close();
  }
});

test('a bit that flips below a page that the store has in memory is found without a restart', async () => {
  const { file, found, text } = await filled();
  const other = new Sqlite(file);
  other.pragma('wal_checkpoint(TRUNCATE)');
  other.close();
  // The store reads the page that is about to rot, and keeps it.
  expect(await text(2)).toBe('the text of 2.');
  rot(file, 'the text of 2.');
  expect(await found()).toEqual(['note: row note-2 differs from what was written']);
  expect(await text(2)).toBe('the text of 2.');
});

test('what is written and removed through SQL is never taken for lost data', async () => {
  const { run, found, rows } = await filled(700);
  await run(`UPDATE note SET text = 'another' WHERE n % 2 = 0`);
  await run('DELETE FROM note WHERE n % 3 = 0');
  await run(`INSERT INTO note VALUES ('note-3', 'again', 3) ON CONFLICT DO NOTHING`);
  await run(`INSERT INTO secret VALUES ('key', 'new') ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`);
  expect(await found()).toEqual([]);
  expect((await rows.check(60_000)).rows).toBe(700 - 233 + 1 + 1);
});

test('a row that was written again after it was found is well', async () => {
  const { file, close } = await filled();
  await close();
  rot(file, 'the text of 2.');
  rot(file, 'the text of 3.');
  const { run, found } = await open(file);
  expect(await found()).toHaveLength(2);
  await run(`UPDATE note SET text = 'the text of 2.' WHERE n = 2`);
  await run('DELETE FROM note WHERE n = 3');
  expect(await found()).toEqual([]);
});

test('a row that vanished without being removed is found', async () => {
  const { run, found } = await filled();
  await run(`DELETE FROM row_check WHERE tbl = 'secret'`);
  await run(`INSERT INTO row_check SELECT 'secret', 'another', 'sum'`);
  expect(await found()).toEqual(['secret: row another is gone, and nobody removed it']);
});

test('a copy and a new column leave the checksums as they are or make them anew, without an alarm', async () => {
  const { file, close } = await filled();
  const copy = join(scratchFolder(), 'notes.db');
  await copyStores([{ from: file, to: copy }]);
  await close();
  const later: Migration = {
    number: 2,
    name: 'more',
    sql: `ALTER TABLE note ADD COLUMN more TEXT NOT NULL DEFAULT 'm'`,
  };
  const grown = await open(copy, [notes, later]);
  expect(await grown.found()).toEqual([]);
  await grown.close();
  rot(copy, 'the text of 1.');
  const after = await open(copy, [notes, later]);
  expect(await after.found()).toEqual(['note: row note-1 differs from what was written']);
});

test('a table that was made anew without its triggers is not held against its old rows', async () => {
  const { file, close } = await filled();
  await close();
  const rebuilt: Migration = {
    number: 2,
    name: 'made anew',
    sql: `CREATE TABLE other (id TEXT PRIMARY KEY, text TEXT NOT NULL, n INTEGER NOT NULL) STRICT;
      INSERT INTO other SELECT id, upper(text), n FROM note WHERE n < 3; DROP TABLE note; ALTER TABLE other RENAME TO note;`,
  };
  const { found } = await open(file, [notes, rebuilt]);
  expect(await found()).toEqual([]);
});

test('the walk in the background begins after the start, goes on by itself and ends with its owner', async () => {
  const { file, close } = await filled();
  await close();
  rot(file, 'the text of 2.');
  const { rows, told, timers, close: end } = await open(file);
  rows.start();
  expect(told).toEqual([]);
  await expect
    .poll(async () => {
      await timers.advance(60_000);
      return told;
    })
    .toEqual(['note: row note-2 differs from what was written']);
  await end();
  expect(timers.pending()).toBe(0);
});

test('a walk whose time is over says that it was not all', async () => {
  const { rows } = await filled();
  expect(await rows.check(0)).toMatchObject({ rows: 0, whole: false });
});
