/** Archives that are damaged or hostile: said plainly, and nothing is changed by them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { restoreBackup } from '../../../src/host/backup/restore-backup.ts';
import { writeBackup } from '../../../src/host/backup/write-backup.ts';
import { placesIn } from '../../../src/host/places.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { clock, type Entry, everything, filledHome, machine, manifestOf, sha256, tarOf } from './support.ts';

async function saved(): Promise<{ file: string; bytes: Buffer }> {
  const home = await filledHome();
  await home.append(400);
  const file = join(scratchFolder(), 'b.tar.gz');
  await writeBackup({ places: home.places, file, withSecrets: true, clock, machine });
  await home.close();
  return { file, bytes: readFileSync(file) };
}

/** Restores into a folder with data, and holds that a refusal changed nothing there or beside it. */
async function refused(archive: string | Buffer, salvage = false): Promise<AppError> {
  const folder = scratchFolder();
  const home = join(folder, 'home');
  mkdirSync(join(home, 'run'), { recursive: true });
  writeFileSync(join(home, 'settings.json'), '{"port": 5}');
  let file = archive as string;
  if (typeof archive !== 'string') {
    file = join(scratchFolder(), 'given.tar.gz');
    writeFileSync(file, archive);
  }
  const before = everything(folder);
  const error = await restoreBackup({ places: placesIn(home), file, salvage, dryRun: false, clock, machine }).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  expect(everything(folder)).toEqual(before);
  return error as AppError;
}

test('no backup at all', async () => {
  expect((await refused(Buffer.alloc(0))).fact).toContain('it is empty');
  expect((await refused(Buffer.from('hello'))).fact).toContain('its first bytes are wrong');
  expect((await refused(gzipSync('hello'))).code).toBe('usage');
  expect((await refused(tarOf([{ path: './readme', data: 'x' }]))).fact).toContain('does not start with a manifest');
  expect((await refused(join(scratchFolder(), 'nothing'))).code).toBe('not_found');
  expect((await refused(scratchFolder())).code).toBe('usage');
});

test.each([0.02, 0.2, 0.5, 0.9, 0.999])('a backup cut off at %s of its length', async (part) => {
  const { bytes } = await saved();
  const error = await refused(bytes.subarray(0, Math.floor(bytes.length * part)));
  expect(error.fact).toMatch(/it ends too early|is missing/);
  expect(error.fact).toContain('Nothing was changed.');
});

test('a byte that changed is found and its file named', async () => {
  const { bytes } = await saved();
  const plain = Buffer.from(gunzipSync(bytes));
  // In the settings: no checksum of gzip or tar covers that any more.
  plain.write('{"port": 4011}', plain.lastIndexOf('{"port": 4010}'));
  const error = await refused(gzipSync(plain));
  expect(error.fact).toContain('home/settings.json does not match its checksum');
});

test.each([0.3, 0.6, 0.9])('noise at %s of the file', async (part) => {
  const { bytes } = await saved();
  const noisy = Buffer.from(bytes);
  noisy.fill(0x5a, Math.floor(bytes.length * part), Math.floor(bytes.length * part) + 200);
  const error = await refused(noisy);
  expect(error.action).not.toBe('');
});

test('salvage takes what is whole and names what is not', async () => {
  const { bytes } = await saved();
  const plain = Buffer.from(gunzipSync(bytes));
  plain.write('{"port": 4011}', plain.lastIndexOf('{"port": 4010}'));
  const file = join(scratchFolder(), 'damaged.tar.gz');
  writeFileSync(file, gzipSync(plain));
  const home = join(scratchFolder(), 'home');
  const done = await restoreBackup({ places: placesIn(home), file, salvage: true, dryRun: false, clock, machine });
  expect(done.damaged).toEqual([{ path: 'home/settings.json', what: 'does not match its checksum' }]);
  expect(existsSync(join(home, 'settings.json'))).toBe(false);
  expect(existsSync(join(home, 'runtime.db'))).toBe(true);
});

test('a database that was damaged before it was saved is no database to restore', async () => {
  const data = `SQLite format 3\0${'z'.repeat(9000)}`;
  const files = [{ path: 'home/runtime.db', data }];
  const error = await refused(tarOf([manifestOf(files), { path: './home/runtime.db', data }]));
  expect(error.fact).toMatch(/home\/runtime\.db is damaged \(/);
});

test('a backup or a database of a newer Gantry is refused with its version', async () => {
  const newer = await refused(tarOf([manifestOf([], { v: 2, version: '9.1.0' })]));
  expect(newer).toMatchObject({ code: 'refused', fact: expect.stringContaining('9.1.0') });
  const path = join(scratchFolder(), 'runtime.db');
  const database = new Database(path);
  database.exec(`CREATE TABLE schema_migration (area TEXT, number INTEGER, name TEXT, sha256 TEXT, applied_at INTEGER);
    INSERT INTO schema_migration VALUES ('future', 7, 'tomorrow', 'x', 0)`);
  database.close();
  const data = readFileSync(path).toString('latin1');
  const bytes = Buffer.from(data, 'latin1');
  const manifest = manifestOf([], {
    files: [{ path: 'home/runtime.db', size: bytes.length, sha256: sha256Of(bytes) }],
  });
  const error = await refused(tarOf([manifest, { path: './home/runtime.db', data: bytes as unknown as string }]));
  expect(error.fact).toContain('was written by a newer Gantry (step future/7 "tomorrow"');
});

const sha256Of = (bytes: Buffer) => sha256(bytes as unknown as string);

const emptyToken = manifestOf([{ path: 'home/token', data: '' }]);
const shortToken = manifestOf([{ path: 'home/token', data: 'x' }]);
const hostile: [string, Entry[]][] = [
  ['a way out in the manifest', [manifestOf([{ path: 'home/../../evil', data: 'x' }])]],
  ['an absolute path in the manifest', [manifestOf([{ path: '/etc/evil', data: 'x' }])]],
  ['a place of the running program in the manifest', [manifestOf([{ path: 'home/run/url', data: 'x' }])]],
  ['a name with a backslash', [manifestOf([{ path: 'workspaces/0/..\\..\\evil', data: 'x' }])]],
  [
    'one file twice in the manifest',
    [
      manifestOf([
        { path: 'home/token', data: 'x' },
        { path: 'home/token', data: 'y' },
      ]),
    ],
  ],
  ['a file that the manifest does not name', [manifestOf([]), { path: './home/token', data: 'x' }]],
  ['an entry with a way out', [manifestOf([]), { path: '../../evil', data: 'x' }]],
  ['a link in place of a file', [emptyToken, { path: './home/token', type: 'SymbolicLink', linkpath: '/etc/passwd' }]],
  ['a hard link', [emptyToken, { path: './home/token', type: 'Link', linkpath: '/etc/passwd' }]],
  ['a device', [emptyToken, { path: './home/token', type: 'CharacterDevice' }]],
  ['a file twice', [shortToken, { path: './home/token', data: 'x' }, { path: './home/token', data: 'x' }]],
  ['more than its manifest says', [manifestOf([]), { path: './home/token', data: 'x'.repeat(200 * 1024 * 1024) }]],
];

test.each(hostile)('%s: refused, also when salvaged', async (_, entries) => {
  const archive = tarOf(entries);
  for (const salvage of [false, true]) {
    const error = await refused(archive, salvage);
    expect(error.fact).toContain('is not a readable backup');
  }
  expect(existsSync(join(dirname(scratchFolder()), 'evil'))).toBe(false);
});

test('what needs more space than the disk has is refused before anything is unpacked', async () => {
  const size = 2 ** 50;
  const manifest = manifestOf([], { files: [{ path: 'home/settings.json', size, sha256: sha256('') }] });
  const error = await refused(tarOf([manifest]));
  expect(error).toMatchObject({ code: 'transport', fact: expect.stringContaining('too little space') });
});
