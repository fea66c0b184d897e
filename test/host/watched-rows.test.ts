/** Which rows of the two databases are looked at, and what the doctor says of them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cloudMigrations } from '../../src/host/cloud-migrations.ts';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { cloudRows, runtimeRows, watchRows } from '../../src/host/watched-rows.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../src/kit/store/open-shared-store.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { shareStore } from '../../src/kit/store/share-store.ts';
import { startBenchPostgres } from '../support/bench/postgres.ts';
import { flipBit } from '../support/flip-cells.ts';
import { postgres } from '../support/postgres.ts';
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
      detail: 'The disk lost data. phone_consent: row con_1 differs from what was written.',
      fix: expect.stringContaining('gantry restore <file>'),
    },
  ]);
  expect(again.errors).toHaveLength(1);
});

async function onPostgres(databaseUrl: string) {
  const migrations = [
    { area: 'notes', number: 1, name: 'notes', sql: 'CREATE TABLE note (text TEXT NOT NULL) STRICT' },
  ];
  const store = await openSharedStore({ databaseUrl, file: '', migrations, clock: systemClock });
  const log = { warn() {}, error() {} };
  const { checks } = watchRows({ store, tables: cloudRows, file: '', clock: systemClock, log });
  return { store, checks };
}

test.skipIf(postgres === null)(
  'the doctor says that PostgreSQL keeps no data checksums, and how to have them',
  async () => {
    const { store, checks } = await onPostgres(await postgres!.schema());
    onTestFinished(() => store.close());
    expect(await checks()).toMatchObject([
      { name: 'Data checksums', state: 'warn', fix: expect.stringContaining('pg_checksums --enable') },
    ]);
  },
);

test.skipIf(postgres === null)(
  'the doctor says that PostgreSQL met a page that differs from its checksum',
  async () => {
    const server = await startBenchPostgres();
    onTestFinished(() => server.stop());
    const { store, checks } = await onPostgres(server.url);
    expect(await checks()).toMatchObject([{ name: 'Data checksums', state: 'ok', fix: null }]);
    await store.write((tx) => tx.run("INSERT INTO note VALUES ('the text')"));
    const [place] = await server.ask<{ folder: string; file: string }>(
      server.url,
      "SELECT current_setting('data_directory') AS folder, pg_relation_filepath('note') AS file",
    );
    await store.close();
    await server.ask(server.url, 'CHECKPOINT');
    await server.crash();
    const file = join(place!.folder, place!.file);
    flipBit(file, readFileSync(file).indexOf('the text'), 0);
    await server.restart();
    const again = await onPostgres(server.url);
    await expect(again.store.all('SELECT * FROM note')).rejects.toThrow();
    expect(await again.checks()).toMatchObject([
      { state: 'warn', detail: expect.stringContaining('damaged pages: 1'), fix: expect.any(String) },
    ]);
    await again.store.close();
  },
);

/** File that seals a value → the table that keeps it. Null: it is made anew by itself. */
const sealedBy: Readonly<Record<string, string | null>> = {
  'src/cloud-api/connector-events/registrations.ts': 'connector_registration',
  'src/cloud-api/edge/subscriptions.ts': 'edge_subscription',
  'src/cloud-api/link/computers.ts': 'computer',
  'src/cloud-api/link/devices.ts': 'computer',
  // The bearer of a link, at each connection.
  'src/cloud-api/link/replicas.ts': null,
  'src/cloud-api/link/tickets.ts': 'ticket_key',
  'src/cloud-api/notifications/push-keys.ts': 'push_key',
  'src/cloud-api/phone/numbers/address.ts': 'phone_number',
  'src/cloud-api/phone/numbers/invites.ts': 'phone_invite',
  'src/cloud-api/phone/numbers/port-work.ts': 'phone_number',
  'src/cloud-api/phone/registration/submit.ts': 'phone_registration',
  'src/host/shared-secrets.ts': 'cloud_secret',
  'src/kit/oauth/grants.ts': 'oauth_grant',
  'src/runtime-server/connectors/subscriptions/enrol.ts': 'connector_subscription',
  'src/runtime-server/link/device.ts': 'device',
  'src/runtime-server/link/home-secrets.ts': 'home_secret',
  'src/runtime-server/models/stored-models.ts': 'model_place',
  'src/runtime-server/tool-server/servers/records.ts': 'attached_server',
  'src/runtime-server/vault/vault.ts': 'engine_secret',
};

test('each table that keeps a sealed value is watched; a file that seals another one is added to the list of this test', () => {
  const seals = globSync('src/{kit,host,cloud-api,runtime-server}/**/*.ts').filter((file) =>
    /\.seal\(/.test(readFileSync(file, 'utf8')),
  );
  expect(seals.sort()).toEqual(Object.keys(sealedBy).sort());
  const watched = new Set([...runtimeRows, ...cloudRows].map(({ name }) => name));
  for (const [file, table] of Object.entries(sealedBy))
    if (table !== null) expect([file, table, watched.has(table)]).toEqual([file, table, true]);
});

test('no watched row is replaced, which removes the old one without its trigger', () => {
  const names = [...runtimeRows, ...cloudRows].map(({ name }) => name).join('|');
  const replaces = new RegExp(`REPLACE\\s+INTO\\s+(${names})\\b`);
  const files = globSync('src/{kit,host,cloud-api,runtime-server}/**/*.ts');
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => replaces.test(readFileSync(file, 'utf8')))).toEqual([]);
});
