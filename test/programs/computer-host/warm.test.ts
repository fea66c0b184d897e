// Runs apart: it makes namespaces, networks and processes of the whole computer.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createNamespaceDriver } from '../../../src/cloud-api/hosted-computers/index.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';

import { run } from '../../cli/support.ts';
import { startHosted } from '../../cloud-api/hosted-computers/support.ts';
import { startPeople } from '../../cloud-api/identity/support.ts';
import {
  clearAway,
  driveComputer,
  type Helper,
  helperFolder,
  kept,
  leftovers,
  noComputers,
  startHelper,
} from '../../support/computers/helper.ts';
import { createWorld, type World } from '../../support/computers/world.ts';
import { engines } from '../../support/engines.ts';

const missing = noComputers();
if (missing !== null) console.warn(`Not run: computers that are kept warm (${missing}).`);

const named = (number: number) => `cmp_${String(number).padStart(12, '0')}`;
const [one, two, three] = [named(1), named(2), named(3)];
const usual = { memory: null, processes: null, toolset: 'shell', egress: 'public', lifetime: null };

describe.skipIf(missing !== null)('computers that are kept warm', () => {
  const folder = helperFolder();
  let around: World;
  let helper: Helper;

  const begin = async (...more: string[]) => {
    helper = await startHelper({ world: around, folder, more });
  };
  const warm = async () => (await helper.ask('capabilities')).warm;
  const create = (computer: string, more: object = {}) =>
    helper.ask('create', computer, { spec: { key: computer, ...usual, ...more } });
  const folders = () => readdirSync(join(folder, 'computers')).sort();

  beforeAll(async () => {
    around = await createWorld();
  });
  afterEach(async () => {
    if (helper.child.exitCode !== null || helper.child.signalCode !== null) return;
    for (const { computer } of await helper.ask('list')) await helper.ask('delete', computer);
    await helper.stop();
  }, 60_000);
  afterAll(() => {
    around?.close();
    clearAway(folder);
  });

  test('a create gets one that runs, once and under its name; what it does not fit is made anew', async () => {
    await begin('--warm-shell', '2', '--warm-desktop', '1', '--most', '6');
    await expect.poll(warm, { timeout: 60_000 }).toEqual({ desktop: 1, shell: 2 });
    expect(await helper.ask('list')).toEqual([]);
    await expect(helper.ask('inspect', folders()[0])).rejects.toMatchObject({ fault: { code: 'bad_request' } });
    await helper.ask('watch', undefined, { since: null });

    // One of them asked twice at once, as after a lost answer.
    const [first, again, second] = await Promise.all([create(one), create(one), create(two)]);
    expect(first).toMatchObject({ computer: one, state: 'running', why: null });
    expect(again).toEqual(first);
    expect(second.channel?.token).not.toBe(first.channel?.token);
    expect([await helper.ask('start', one), await helper.ask('inspect', one)]).toEqual([first, first]);
    await expect(create(one, { key: 'another' })).rejects.toMatchObject({ fault: { code: 'exists' } });
    const line = { command: 'echo mine > file; ls; hostname', shell: true };
    const said = await driveComputer(first, 'shell', 'exec', line);
    expect(said.body.content[0]).toEqual({ type: 'text', text: 'file\ncomputer\n' });
    const files = await driveComputer(second, 'shell', 'exec', { command: 'ls' });
    expect(files.body.content[0]).toEqual({ type: 'text', text: '' });
    const desktop = await create(three, { toolset: 'desktop' });
    expect((await driveComputer(desktop, 'browser', 'screenshot')).body).toMatchObject({ is_error: false });
    expect(helper.changes.map(({ computer, state }) => [computer, state])).toEqual(
      [one, two, three].map((computer) => [computer, 'running']),
    );
    for (const [index, more] of [{ egress: 'none' }, { lifetime: 60_000 }].entries()) {
      expect((await create(named(index + 4), more)).state).toBe('stopped');
      await helper.ask('delete', named(index + 4));
    }
    expect((await helper.ask('stop', one)).state).toBe('stopped');
    const anew = await driveComputer(await helper.ask('start', one), 'shell', 'exec', { command: 'ls' });
    expect(anew.body.content[0]).toEqual({ type: 'text', text: 'file\n' });
    await expect.poll(warm, { timeout: 60_000 }).toEqual({ desktop: 1, shell: 2 });
  }, 240_000);

  test('they make room for what is asked for, and come back when there is some', async () => {
    await begin('--warm-shell', '2', '--most', '3');
    await expect.poll(warm, { timeout: 60_000 }).toEqual({ desktop: 0, shell: 2 });
    // One that ends by itself is replaced.
    const [first] = folders();
    process.kill((kept(folder, `computers/${first}/run.json`) as { pid: number }).pid, 'SIGKILL');
    await expect.poll(warm, { timeout: 60_000 }).toEqual({ desktop: 0, shell: 1 });
    await expect.poll(warm, { timeout: 60_000 }).toEqual({ desktop: 0, shell: 2 });
    expect(folders()).not.toContain(first);
    // Room for one; the others need the places of both that wait.
    const made = await Promise.all([one, two, three].map((computer) => create(computer, { egress: 'none' })));
    expect(made.map(({ state }) => state)).toEqual(['stopped', 'stopped', 'stopped']);
    expect([await warm(), folders()]).toEqual([{ desktop: 0, shell: 0 }, [one, two, three]]);
    await expect(create(named(4))).rejects.toMatchObject({ fault: { code: 'full' } });
    await helper.ask('delete', one);
    await expect.poll(warm, { timeout: 60_000 }).toEqual({ desktop: 0, shell: 1 });
    expect((await create(named(4))).state).toBe('running');
    for (const computer of [two, three, named(4)]) await helper.ask('delete', computer);
  }, 240_000);

  test('a killed computer host leaves those that were handed over, and the next one ends the others', async () => {
    await begin('--warm-shell', '2');
    await expect.poll(warm, { timeout: 60_000 }).toMatchObject({ shell: 2 });
    const state = await create(one);
    await helper.kill();
    const before = folders().filter((name) => name !== one);
    // As if it had been killed while it handed one over.
    spawnSync('cp', ['-a', join(folder, 'computers', one, 'computer.json'), join(folder, 'computers', before[0]!)]);
    await begin();
    expect([await helper.ask('list'), await warm()]).toEqual([[{ ...state, since: expect.any(Number) }], undefined]);
    expect((await driveComputer(state, 'shell', 'exec', { command: 'true' })).status).toBe(200);
    expect(before.filter((name) => existsSync(join(folder, 'computers', name)))).toEqual([]);
    const run = lstatSync(join(folder, 'computers', one, 'run'));
    expect([run.uid, run.mode & 0o777]).toEqual([0, 0o710]);
    expect(leftovers(around, folder).filter((each) => each.includes('netns')).length).toBeLessThan(2);
    await helper.ask('delete', one);
    await helper.stop();
    expect([folders(), leftovers(around, folder)]).toEqual([[], []]);
  }, 240_000);

  test('a project pays from its create, and an administrator sees how many are warm', async () => {
    await begin('--warm-shell', '1');
    const driver = createNamespaceDriver({ folder, timers: systemTimers });
    await expect
      .poll(async () => (await driver.capabilities()).warm, { timeout: 60_000 })
      .toEqual({ desktop: 0, shell: 1 });
    const people = await startPeople({ settings: { computersFolder: folder } });
    const { out } = await run({ GANTRY_HOME: people.home }, ['admin', 'pool']);
    expect(out).toContain('\nKept warm for the next creates: 0 of desktop, 1 of shell.');
    const cloud = await startHosted(engines[0]!, { driver });
    await cloud.project();
    cloud.clock.jump(600_000);
    const { id } = await cloud.create({ toolset: 'shell' });
    expect((await driver.list()).map(({ computer }) => computer)).toEqual([id]);
    cloud.clock.jump(60_000);
    expect(await cloud.act(id, { toolset: 'shell', member: 'exec', input: { command: 'true' } })).toMatchObject({
      status: 200,
      is_error: false,
    });
    expect((await cloud.send('POST', cloud.at(id, '/stop'))).status).toBe(200);
    expect(await cloud.meters(id)).toEqual({ minutes: 1, actions: 1 });
    expect((await cloud.send('DELETE', cloud.at(id))).status).toBe(200);
  }, 240_000);

  test('more of them than computers may be here are refused by name', async () => {
    await begin('--warm-shell', '3', '--warm-desktop', '2', '--most', '4');
    expect(helper.said()).toContain('--warm-desktop and --warm-shell are 5 together, more than the 4');
    expect(helper.child.exitCode).toBe(64);
  }, 30_000);
});
