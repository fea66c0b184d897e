/** `gantry backup` and `gantry restore` as a person types them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeInstanceLock } from '../../src/kit/store/instance-lock.ts';
import { filledHome } from '../host/backup/support.ts';
import { scratchFolder } from '../support/scratch.ts';
import { run, scratchHome } from './support.ts';

test('a backup says what it holds and what it does not; a restore says what it puts where', async () => {
  const { places, workspace, close } = await filledHome();
  const env = { GANTRY_HOME: places.home };
  const file = join(scratchFolder(), 'mine.tar.gz');
  const plan = await run(env, ['backup', file, '--dry-run', '--json']);
  expect(plan.json()).toMatchObject({ dryRun: true, plan: { file } });
  expect(existsSync(file)).toBe(false);
  const saved = await run(env, ['backup', file]);
  expect(saved.code).toBe(0);
  expect(saved.out).toContain(`Saved ${places.home} to ${file}`);
  expect(saved.out).toContain('It has the keys that open your secrets');
  expect(saved.out).toContain(`It includes the teams, policy and proofs of ${workspace}, but not its other files.`);
  await close();

  const there = join(scratchFolder(), 'home');
  const restored = await run({ GANTRY_HOME: there }, ['restore', file]);
  expect(restored.code).toBe(0);
  expect(restored.out).toContain('Its ledger is whole (1 rows).');
  expect(restored.out).toContain('it is not paired');
  expect(readFileSync(join(there, 'settings.json'), 'utf8')).toBe('{"port": 4010}');
});

test('into a folder, with a name that says which computer and when; never over a file', async () => {
  const { places, close } = await filledHome();
  await close();
  const folder = scratchFolder();
  const first = await run({ GANTRY_HOME: places.home }, ['backup', folder, '--json']);
  expect(first.json().file).toMatch(/gantry-.+-2026-01-02-0304\.tar\.gz$/);
  const second = await run({ GANTRY_HOME: places.home }, ['backup', folder]);
  expect(second).toMatchObject({ code: 1, err: expect.stringContaining('already exists') });
});

test('a folder that does not exist is named, and no file takes its place', async () => {
  const { places, close } = await filledHome();
  await close();
  const folder = scratchFolder();
  for (const asked of ['nas/', 'nas/mine.tar.gz']) {
    const refused = await run({ GANTRY_HOME: places.home }, ['backup', `${folder}/${asked}`]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(`no folder ${join(folder, 'nas')}.`) });
    expect(refused.err).toContain('Create it first');
  }
  expect(readdirSync(folder)).toEqual([]);
});

test('a restore under a Gantry that runs names its process; a dry run checks the backup and changes nothing', async () => {
  const { places: from, close } = await filledHome();
  await close();
  const file = join(scratchFolder(), 'mine.tar.gz');
  await run({ GANTRY_HOME: from.home }, ['backup', file]);
  const places = scratchHome();
  const release = takeInstanceLock(places.lock);
  writeFileSync(places.holder, JSON.stringify({ pid: 4711, address: null }));
  const before = readdirSync(places.home).toSorted();
  const checked = await run({ GANTRY_HOME: places.home }, ['restore', file, '--dry-run']);
  expect([checked.code, checked.err]).toEqual([0, '']);
  expect(checked.out).toContain('Its ledger is whole (1 rows).');
  expect(readdirSync(places.home).toSorted()).toEqual(before);
  const refused = await run({ GANTRY_HOME: places.home }, ['restore', '/nowhere.tar.gz']);
  release?.();
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('process 4711') });
});

test('there is nothing to save where no Gantry ever was', async () => {
  const home = join(scratchFolder(), 'none');
  expect((await run({ GANTRY_HOME: home }, ['backup'])).code).toBe(2);
  expect(existsSync(home)).toBe(false);
});

test('of a cloud on PostgreSQL the backup and its restore say that its data is not in it, and how to save and restore that', async () => {
  const home = join(scratchFolder(), 'cloud');
  mkdirSync(home);
  writeFileSync(join(home, 'master.key'), 'x');
  const env = { GANTRY_HOME: home, DATABASE_URL: 'postgres://gantry:hush@db/gantry' };
  const file = join(scratchFolder(), 'c.tar.gz');
  const saved = await run(env, ['backup', file]);
  expect(saved.out).toContain('is in PostgreSQL and NOT in this file');
  expect(saved.out).toMatch(/ {2}pg_dump --format=custom --no-owner --file=\S+ "\$DATABASE_URL"/);
  expect(saved.out).not.toContain('hush');
  const restored = await run({ GANTRY_HOME: join(scratchFolder(), 'again') }, ['restore', file]);
  expect(restored.out).toContain('restore it with pg_restore');
  expect(restored.out).toMatch(/Start it as before: its service, or .*gantry(\.mjs)? cloud with its options\.$/m);
});
