/** Folders that a worker which was killed has left. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeScratch, removeAbandoned } from '../../../src/programs/worker/scratch.ts';

test('a worker removes the folders of workers that are gone, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-abandoned-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mine = basename(await makeScratch({ closed: true, folder }));
  const open = basename(await makeScratch({ closed: false, folder }));
  const dead = mine.replace(`-${process.pid}-`, '-99999999-');
  const elsewhere = dead.replace(hostname(), 'another.computer');
  for (const name of [dead, elsewhere, 'gantry-task-abcdef', 'other'])
    mkdirSync(join(folder, name, 'deep'), { recursive: true });
  writeFileSync(join(folder, 'other', 'kept'), '');
  // What a link leads to is nobody’s scratch.
  symlinkSync(join(folder, 'other'), join(folder, dead.replace(/.{6}$/, 'linked')));
  await removeAbandoned(folder);
  expect(
    readdirSync(folder)
      .filter((name) => !name.endsWith('linked'))
      .sort(),
  ).toEqual([mine, open, elsewhere, 'gantry-task-abcdef', 'other'].sort());
  expect(readdirSync(join(folder, 'other'))).toContain('kept');
});
