/** Which rows of the two databases are looked at, and what the doctor says of them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cloudMigrations } from '../../src/host/cloud-migrations.ts';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { cloudRows, runtimeRows, watchRows } from '../../src/host/watched-rows.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { shareStore } from '../../src/kit/store/share-store.ts';
import { flipBit } from '../support/flip-cells.ts';
import { scratchFolder } from '../support/scratch.ts';

const databases = [
  { name: 'runtime.db', tables: runtimeRows, migrations: runtimeMigrations },
  { name: 'cloud.db', tables: cloudRows, migrations: cloudMigrations },
];

async function open(database: (typeof databases)[number], file = join(scratchFolder(), database.name)) {
  const store = shareStore(await openStore({ file, migrations: database.migrations, clock: systemClock }));
  const errors: unknown[] = [];
  const log = { warn: (...of: unknown[]) => errors.push(of), error: (...of: unknown[]) => errors.push(of) };
  const rows = watchRows({ store, tables: database.tables, file, clock: systemClock, log });
  async function close() {
    await rows.close();
    await store.close();
  }
  onTestFinished(close);
  return { file, store, rows, errors, close };
}

test.each(databases)('every watched table of $name is there', async (database) => {
  const { rows, errors } = await open(database);
  expect(await rows.checks()).toMatchObject([{ name: `Rows of ${database.name}`, state: 'ok', fix: null }]);
  expect(errors).toEqual([]);
});

test('the doctor names the row that lost a bit, and what to do', async () => {
  const database = databases[1]!;
  const { file, store, rows, close } = await open(database);
  await store.write((tx) =>
    tx.run(`INSERT INTO phone_consent VALUES ('con_1', 'num_1', '+14155550199', 'form', 'ticked on page 2', 1)`),
  );
  expect(await rows.checks()).toMatchObject([{ state: 'ok' }]);
  await close();
  flipBit(file, readFileSync(file).indexOf('ticked on page'), 1);
  const again = await open(database, file);
  expect(await again.rows.checks()).toMatchObject([
    {
      state: 'warn',
      detail: 'The disk lost data. phone_consent: row con_1 is not as it was written.',
      fix: expect.stringContaining('gantry restore <file>'),
    },
  ]);
  expect(again.errors).toHaveLength(1);
});

test('no watched row is replaced, which removes the old one without its trigger', () => {
  const names = [...runtimeRows, ...cloudRows].map(({ name }) => name).join('|');
  const replaces = new RegExp(`REPLACE\\s+INTO\\s+(${names})\\b`);
  const files = globSync('src/{kit,host,cloud-api,runtime-server}/**/*.ts');
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => replaces.test(readFileSync(file, 'utf8')))).toEqual([]);
});
