/** A data folder without its master key: nothing that it sealed is lost without a word, and only a person's word goes on without it. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataFolder } from '../../src/host/data-folder.ts';
import { placesIn } from '../../src/host/places.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { createSealer } from '../../src/kit/secrets/sealer.ts';
import { ensureTokenFile } from '../../src/kit/secrets/token-file.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { run } from '../cli/support.ts';
import { scratchHome } from './support.ts';

const table = {
  area: 'vault',
  number: 1,
  name: 'secrets',
  sql: 'CREATE TABLE engine_secret (name TEXT PRIMARY KEY, sealed TEXT NOT NULL) STRICT',
};

async function folderWith(secrets: readonly string[]) {
  const home = scratchHome();
  const places = placesIn(home);
  const open = () => openDataFolder({ places, clock: systemClock, ids: createIds(systemClock), gantry: 'gantry' });
  const folder = open();
  const store = await openStore({ file: places.runtimeDb, migrations: [table], clock: systemClock });
  const sealer = createSealer({ masterKey: folder.masterKey, purpose: 'vault' });
  await store.write((tx) => {
    for (const name of secrets) {
      tx.run('INSERT INTO engine_secret VALUES (?, ?)', name, sealer.seal(`engine_secret|${name}`, 'x'));
    }
  });
  await store.close();
  folder.release();
  rmSync(places.masterKey);
  return { home, places, open };
}

test('a missing master key stops the start and names what would be lost; nothing is made in its place', async () => {
  const { places, open } = await folderWith(['NPM_TOKEN', 'DEPLOY']);
  for (const _again of [1, 2]) {
    expect(open).toThrow(/master\.key is missing .* secrets of the vault \(2\)/);
    expect(existsSync(places.masterKey)).toBe(false);
  }
  let action = '';
  try {
    open();
  } catch (error) {
    action = (error as { action: string }).action;
  }
  expect(action).toContain('gantry restore <file>');
  expect(action).toContain('--new-master-key');
});

test('with the word of a person it goes on, with a new key; one that is there stays', async () => {
  const { home, places, open } = await folderWith(['NPM_TOKEN']);
  const env = { PATH: process.env.PATH ?? '', HOME: home, GANTRY_HOME: home };
  // No cloud is paired, so that nothing is started.
  await run(env, ['runtime', '--new-master-key', '--cloud', 'no address']);
  const made = readFileSync(places.masterKey, 'utf8');
  open().release();
  await run(env, ['runtime', '--new-master-key', '--cloud', 'no address']);
  expect(readFileSync(places.masterKey, 'utf8')).toBe(made);
});

test('a folder in which nothing was sealed starts as ever', async () => {
  const { home, places, open } = await folderWith([]);
  open().release();
  expect(ensureTokenFile(places.masterKey)).not.toBe('');
  expect(existsSync(join(home, 'master.key'))).toBe(true);
});
