/** A backup that is taken while everything runs, and what a restore of it gives back. */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { list } from 'tar';
import { expect, test } from 'vitest';
import { exchange } from '../../../src/host/backup/exchange.ts';
import { besides, kept, leftOut } from '../../../src/host/backup/manifest.ts';
import { restoreBackup } from '../../../src/host/backup/restore-backup.ts';
import { writeBackup } from '../../../src/host/backup/write-backup.ts';
import { startCombined } from '../../../src/host/combined.ts';
import { openDataFolder } from '../../../src/host/data-folder.ts';
import { placesIn } from '../../../src/host/places.ts';
import { readSettings } from '../../../src/host/settings.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { verifyLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { keepReport } from '../../../src/kit/spool/bot-spool.ts';
import { copyStores, openCopy } from '../../../src/kit/store/copy-store.ts';
import { takeInstanceLock } from '../../../src/kit/store/instance-lock.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { clock, everything, type Filled, filledHome, machine } from './support.ts';

const homeBackup = (home: Filled, file: string, withSecrets = true) => ({
  places: home.places,
  file,
  withSecrets,
  clock,
  machine,
});
const backUp = (...args: Parameters<typeof homeBackup>) => writeBackup(homeBackup(...args));
const restore = (home: string, file: string, more: { salvage?: boolean; dryRun?: boolean; machine?: string } = {}) =>
  restoreBackup({ places: placesIn(home), file, salvage: false, dryRun: false, clock, machine, ...more });

async function names(file: string): Promise<string[]> {
  const found: string[] = [];
  await list({ file, onReadEntry: (entry) => void found.push(entry.path.replace('./', '')) });
  return found;
}

test('a backup taken while rows are written holds every row acknowledged before, in a whole chain', async () => {
  const home = await filledHome();
  await home.append(300);
  const file = join(scratchFolder(), 'backup.tar.gz');
  let writing = true;
  const writer = (async () => {
    while (writing) await home.append(1);
  })();
  const written = await backUp(home, file);
  writing = false;
  await writer;
  expect(written.databases).toEqual(['runtime.db', 'cloud.db']);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dirname(file))).toEqual(['backup.tar.gz']);
  expect(readdirSync(home.places.home).filter((name) => name.startsWith('.backup-'))).toEqual([]);

  const there = join(scratchFolder(), 'home');
  const done = await restore(there, file);
  expect(done.ledger?.problem).toBeNull();
  expect(done.ledger?.rows).toBeGreaterThanOrEqual(301);
  const reader = openCopy(placesIn(there).runtimeDb);
  expect(await verifyLedger(reader)).toMatchObject({ ok: true, rows: done.ledger?.rows });
  reader.close();
  await home.close();
});

test('how far a backup is counts the bytes of each file, also where one file is nearly all of it', async () => {
  const home = await filledHome();
  // More pages than are copied in one turn, and of random bytes: packed, they are still many.
  const database = new Database(home.places.cloudDb);
  database.exec('CREATE TABLE big (bytes BLOB)');
  for (let row = 0; row < 24; row += 1) database.prepare('INSERT INTO big VALUES (randomblob(1000000))').run();
  database.close();
  const seen: { part: number; done: number; what: string }[] = [];
  const onProgress = (done: number, total: number, what: string) => seen.push({ part: done / total, done, what });
  await writeBackup({ ...homeBackup(home, join(scratchFolder(), 'b.tar.gz')), onProgress });
  expect(seen.map(({ part }) => part)).toEqual(seen.map(({ part }) => part).toSorted((a, b) => a - b));
  expect(seen.at(-1)?.part).toBeLessThanOrEqual(1);
  for (const third of [0, 1, 2]) {
    const within = seen.filter(({ done, what }) => what === 'cloud.db' && Math.floor(done) === third);
    expect(new Set(within.map(({ done }) => done)).size).toBeGreaterThan(2);
  }
  await home.close();
});

test('several databases are copied as they were at one moment', async () => {
  const home = await filledHome();
  await home.append(2000);
  const to = scratchFolder();
  const copied = copyStores([
    { from: home.places.cloudDb, to: join(to, 'cloud.db') },
    { from: home.places.runtimeDb, to: join(to, 'runtime.db') },
  ]);
  // Both snapshots stand before the first of these is written.
  await home.append(50);
  await copied;
  const reader = openCopy(join(to, 'runtime.db'));
  expect(await verifyLedger(reader)).toMatchObject({ ok: true, rows: 2001 });
  reader.close();
  await home.close();
});

test('a restored folder has everything back; what was there lies aside, whole', async () => {
  const home = await filledHome();
  const file = join(scratchFolder(), 'b.tar.gz');
  await backUp(home, file);
  await home.close();
  const { places, workspace } = home;
  const token = readFileSync(places.token, 'utf8');
  writeFileSync(places.settings, '{"port": 1}');
  writeFileSync(places.runtimeDb, 'ruined');
  writeFileSync(join(workspace, '.gantry', 'teams', 'crew', 'team.yaml'), 'name: other\n');
  const done = await restore(places.home, file);
  expect(readFileSync(places.settings, 'utf8')).toBe('{"port": 4010}');
  expect(readFileSync(places.token, 'utf8')).toBe(token);
  expect(readFileSync(join(workspace, '.gantry', 'teams', 'crew', 'team.yaml'), 'utf8')).toBe('name: crew\n');
  expect(statSync(join(workspace, '.gantry', 'teams', 'crew', 'check.sh')).mode & 0o100).toBe(0o100);
  expect(readFileSync(join(workspace, 'code.ts'), 'utf8')).toBe('the person’s own');
  const aside = done.aside as string;
  expect(readFileSync(join(aside, 'runtime.db'), 'utf8')).toBe('ruined');
  expect(readFileSync(join(aside, 'settings.json'), 'utf8')).toBe('{"port": 1}');
  expect(existsSync(join(aside, 'runtime.db.id'))).toBe(true);
  const [before] = readdirSync(workspace).filter((name) => name.startsWith('.gantry.before-restore-'));
  expect(readFileSync(join(workspace, before as string, 'teams', 'crew', 'team.yaml'), 'utf8')).toBe('name: other\n');
  // The same installation stays paired.
  expect(done.pairing).toBe('kept');
  expect(existsSync(places.pairing)).toBe(true);
});

test('what bots reported and nobody has taken is in a backup, and comes back into their spools', async () => {
  const home = await filledHome();
  const spoolIn = (run: string) => join(run, 'bots', 'agent_1', 'spool');
  const spool = spoolIn(home.places.run);
  const form = { type: 'multipart/form-data; boundary=x', bytes: Buffer.from('proof') };
  keepReport(spool, 'token', { op: 'uploadProof', form }, 1);
  keepReport(spool, 'token', { op: 'doneNode' }, 2);
  writeFileSync(join(spool, '.rep_half'), 'half');
  const before = readdirSync(spool).filter((name) => !name.startsWith('.'));
  const file = join(scratchFolder(), 'b.tar.gz');
  await backUp(home, file);
  await home.close();
  const there = join(scratchFolder(), 'home');
  await restore(there, file);
  expect(readdirSync(spoolIn(placesIn(there).run))).toEqual(before);
  expect(before).toHaveLength(3);
  // Over a spool that is there: it lies aside.
  keepReport(spool, 'token', { op: 'failNode' }, 3);
  const { aside } = await restore(home.places.home, file);
  expect(readdirSync(spool)).toEqual(before);
  expect(readdirSync(join(aside as string, 'spools', 'agent_1'))).toHaveLength(5);
});

test('on another machine, and in another folder, the restored computer is not paired', async () => {
  const home = await filledHome();
  const file = join(scratchFolder(), 'b.tar.gz');
  await backUp(home, file);
  await home.close();
  const elsewhere = join(scratchFolder(), 'home');
  const done = await restore(elsewhere, file);
  expect(done.pairing).toBe('dropped');
  expect(existsSync(placesIn(elsewhere).pairing)).toBe(false);
  // The first one may still work in its workspace: that is left alone.
  const own = join(elsewhere, 'workspaces', '0-project');
  expect(done.elsewhere).toEqual([{ workspace: home.workspace, in: own, why: 'taken' }]);
  expect(existsSync(join(own, '.gantry', 'teams', 'crew', 'team.yaml'))).toBe(true);
  expect(readdirSync(home.workspace).sort()).toEqual(['.gantry', 'code.ts']);
  expect((await restore(home.places.home, file, { machine: 'a second one' })).pairing).toBe('dropped');
  expect(existsSync(home.places.pairing)).toBe(false);
});

test('without secrets no key, token or pairing is in the file, and a restore leaves those that are there', async () => {
  const home = await filledHome();
  const file = join(scratchFolder(), 'b.tar.gz');
  await backUp(home, file, false);
  await home.close();
  expect((await names(file)).filter((name) => /key|token|pairing/.test(name))).toEqual([]);
  const key = readFileSync(home.places.masterKey, 'utf8');
  await restore(home.places.home, file);
  expect(readFileSync(home.places.masterKey, 'utf8')).toBe(key);
});

test('a dry run checks everything, changes nothing and leaves nothing behind', async () => {
  const home = await filledHome();
  const file = join(scratchFolder(), 'b.tar.gz');
  await backUp(home, file);
  await home.close();
  writeFileSync(home.places.settings, '{}');
  const before = everything(dirname(home.places.home));
  const done = await restore(home.places.home, file, { dryRun: true });
  expect(done.put).toContain(home.places.runtimeDb);
  expect(everything(dirname(home.places.home))).toEqual(before);
});

test('a restore is refused while a Gantry holds the folder, and a backup never overwrites a file', async () => {
  const home = await filledHome();
  const file = join(scratchFolder(), 'b.tar.gz');
  await backUp(home, file);
  await expect(backUp(home, file)).rejects.toMatchObject({ code: 'refused', fact: `${file} already exists.` });
  await home.close();
  const release = takeInstanceLock(home.places.lock);
  await expect(restore(home.places.home, file)).rejects.toMatchObject({ code: 'refused' });
  release?.();
});

test('an exchange that cannot be finished is taken back, and one that was killed is taken back by the next start', async () => {
  const home = scratchFolder();
  const put = (name: string, text: string) => writeFileSync(join(home, name), text);
  put('runtime.db', 'old');
  put('new', 'new');
  put('wall', 'a file where a folder is needed');
  const moves = [
    { from: join(home, 'runtime.db'), to: join(home, 'aside', 'runtime.db') },
    { from: join(home, 'new'), to: join(home, 'runtime.db') },
  ];
  expect(() => exchange(home, [...moves, { from: join(home, 'gone'), to: join(home, 'wall', 'x') }])).toThrow();
  expect(readFileSync(join(home, 'runtime.db'), 'utf8')).toBe('old');
  expect(readFileSync(join(home, 'new'), 'utf8')).toBe('new');

  // Killed between the two moves: the old database lies aside, the new one is not there yet.
  mkdirSync(join(home, 'aside'), { recursive: true });
  writeFileSync(join(home, 'aside', 'runtime.db'), 'old');
  rmSync(join(home, 'runtime.db'));
  writeFileSync(join(home, 'restore-under-way.json'), JSON.stringify({ v: 1, moves }));
  openDataFolder({ places: placesIn(home), clock, ids: createIds(clock), gantry: 'gantry' }).release();
  expect(readFileSync(join(home, 'runtime.db'), 'utf8')).toBe('old');
  expect(existsSync(join(home, 'restore-under-way.json'))).toBe(false);
});

test('whatever a started Gantry keeps in its folder is in a backup or named as left out', async () => {
  const home = join(scratchFolder(), 'home');
  const env = { ...process.env, GANTRY_HOME: home };
  const settings = readSettings(env, { port: 0, enginePort: 0, peerPort: 0 });
  const servers = await startCombined({ env, settings, gantry: 'gantry', demoPhone: true });
  const found = readdirSync(home);
  await servers.close({ stopBots: true });
  expect(found.filter((name) => !kept.includes(name) && !leftOut.includes(name) && !besides(name))).toEqual([]);
});
