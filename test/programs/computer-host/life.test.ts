// Runs apart: it makes namespaces, networks and processes of the whole computer.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { whereNobodyEnters, whoElseChanges } from '../../../src/programs/computer-host/machine.ts';
import type { HostedState } from '../../../src/programs/computer-host/protocol.ts';
import { namesFor } from '../../../src/programs/computer-host/settings.ts';
import {
  clearAway,
  driveComputer,
  type Helper,
  helperFolder,
  leftovers,
  noComputers,
  startHelper,
} from '../../support/computers/helper.ts';
import { createWorld, type World } from '../../support/computers/world.ts';

const missing = noComputers();
if (missing !== null) console.warn(`Not run: the life of hosted computers (${missing}).`);

const one = 'cmp_000000000001';
const two = 'cmp_000000000002';

describe.skipIf(missing !== null)('the helper that makes computers', () => {
  const folder = helperFolder();
  const names = namesFor(folder);
  let around: World;
  let helper: Helper;

  const begin = async (more: Partial<Parameters<typeof startHelper>[0]> = {}) => {
    helper = await startHelper({ world: around, folder, ...more });
    return helper;
  };
  const made = async (computer: string): Promise<HostedState> => {
    await helper.ask('create', computer);
    return helper.ask('start', computer);
  };
  const processesOf = (slot: number) => {
    const { stdout } = spawnSync('find', ['/sys/fs/cgroup', '-path', `*/${names.group}/${slot}/cgroup.procs`], {
      encoding: 'utf8',
    });
    const [file = ''] = stdout.split('\n');
    return file === '' ? [] : readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  };

  beforeAll(async () => {
    around = await createWorld();
  });
  afterEach(async () => {
    if (helper.child.exitCode === null && helper.child.signalCode === null) await helper.stop();
  }, 60_000);
  afterAll(() => {
    around?.close();
    clearAway(folder);
  });

  test.skipIf(!existsSync('/sys/fs/cgroup/cpu') && !existsSync('/sys/fs/cgroup/cgroup.controllers'))(
    'holds a computer to the cores that its operator names',
    async () => {
      await begin({ more: ['--processor', '0.5'] });
      await helper.ask('create', one);
      await helper.ask('start', one);
      const { stdout } = spawnSync(
        'find',
        [
          '/sys/fs/cgroup',
          '-path',
          `*/${names.group}/0/cpu*`,
          '(',
          '-name',
          'cpu.cfs_quota_us',
          '-o',
          '-name',
          'cpu.max',
          ')',
        ],
        { encoding: 'utf8' },
      );
      const [file = ''] = stdout.split('\n');
      expect(readFileSync(file, 'utf8')).toMatch(/^50000\b/);
      await helper.ask('delete', one);
    },
  );

  test('shows a computer nothing of the machine but what it needs, and holds it by a user without power', async () => {
    await begin();
    const state = await made(one);
    const shot = await driveComputer(state, 'computer', 'screenshot');
    expect(shot.body).toMatchObject({ is_error: false, screen: { width: 1280, height: 800 } });
    const opened = await driveComputer(state, 'browser', 'screenshot');
    expect(opened.body).toMatchObject({ is_error: false });
    const processes = processesOf(0).flatMap((pid) => {
      try {
        return [
          {
            pid,
            status: readFileSync(`/proc/${pid}/status`, 'utf8'),
            command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '),
          },
        ];
      } catch {
        return [];
      }
    });
    for (const { status, command } of processes) {
      expect(status, command).toMatch(/^Uid:\t61000\t61000\t61000\t61000$/m);
      expect(status, command).toMatch(/^Gid:\t61000\t61000\t61000\t61000$/m);
      expect(status, command).toMatch(/^NoNewPrivs:\t1$/m);
      expect(command).not.toContain('--no-sandbox');
    }
    // The browser's own sandbox: its pages have a user namespace of theirs and a filter on system calls.
    const spaceOf = (pid: number) => spawnSync('readlink', [`/proc/${pid}/ns/user`], { encoding: 'utf8' }).stdout;
    const device = processes.find(({ command }) => command.startsWith('/opt/node/bin/node'));
    const pages = processes.filter(({ command }) => command.includes('--type=renderer'));
    expect(pages.length).toBeGreaterThan(0);
    for (const { pid, status } of pages) {
      expect(status).toMatch(/^Seccomp:\t2$/m);
      expect(spaceOf(pid)).not.toBe(spaceOf(device?.pid as number));
    }
    const root = `/proc/${device?.pid}/root`;
    expect(existsSync(`${root}${folder}`)).toBe(false);
    expect(readdirSync(root).sort()).toEqual(
      ['bin', 'dev', 'etc', 'home', 'lib', 'lib64', 'opt', 'proc', 'run', 'sbin', 'tmp', 'usr', 'var'].filter((name) =>
        existsSync(`/${name}`),
      ),
    );
    expect(readdirSync(`${root}/home`)).toEqual(['user']);
    expect(readdirSync(`${root}/run`)).toEqual(['gantry']);
    expect(readFileSync(`${root}/etc/passwd`, 'utf8').trim().split('\n')).toHaveLength(1);
    expect(existsSync(`${root}/etc/shadow`)).toBe(false);
    // Nothing in it can put something else where the cloud calls.
    const run = lstatSync(join(folder, 'computers', one, 'run'));
    expect([run.uid, run.mode & 0o777]).toEqual([0, 0o710]);
    expect(lstatSync(join(folder, 'host.sock')).mode & 0o777).toBe(0o600);
    await helper.ask('delete', one);
  }, 240_000);

  test('killed in the middle of a delete, it leaves nothing that the next one does not remove', async () => {
    await begin();
    await made(one);
    await made(two);
    await helper.kill();
    // The record is gone, all else is there.
    rmSync(join(folder, 'computers', two, 'computer.json'));
    expect(processesOf(1).length).toBeGreaterThan(0);
    await begin();
    expect((await helper.ask('list')).map(({ computer }) => computer)).toEqual([one]);
    // A cloud of an older Gantry has no key by which it could be its own.
    await expect(helper.ask('create', one)).rejects.toMatchObject({ fault: { code: 'exists' } });
    expect(processesOf(1)).toEqual([]);
    expect(leftovers(around, folder).filter((line) => line.includes(names.interfaceOf(1)))).toEqual([]);
    expect(existsSync(join(folder, 'computers', two))).toBe(false);
    await helper.ask('delete', one);
    await helper.stop();
    expect(leftovers(around, folder)).toEqual([]);
  }, 240_000);

  test('killed in the middle of a start, it leaves nothing that the next one does not end', async () => {
    await begin();
    await made(one);
    await helper.kill();
    // As if it had been killed before it wrote down what it had begun.
    rmSync(join(folder, 'computers', one, 'run.json'));
    expect(processesOf(0).length).toBeGreaterThan(0);
    await begin();
    expect(await helper.ask('inspect', one)).toMatchObject({ state: 'stopped' });
    expect(processesOf(0)).toEqual([]);
    expect((await helper.ask('start', one)).state).toBe('running');

    // Whatever a computer left where its socket is to be is in nobody's way, and neither is a log without an end.
    await helper.ask('stop', one);
    const socket = join(folder, 'computers', one, 'run', 'engine.sock');
    mkdirSync(join(socket, 'a'), { recursive: true });
    expect((await helper.ask('start', one)).state).toBe('running');
    await helper.ask('delete', one);
    expect(readdirSync(join(folder, 'computers'))).toEqual([]);
  }, 240_000);

  test('begins nothing in a folder that others than root can change, or that is on such a way', () => {
    const base = mkdtempSync(join(tmpdir(), 'gantry-whose-'));
    try {
      const inner = join(base, 'one', 'two');
      mkdirSync(inner, { recursive: true, mode: 0o755 });
      expect(whoElseChanges(join(inner, 'not there yet'))).toBeNull();
      chmodSync(join(base, 'one'), 0o777);
      expect(whoElseChanges(inner)).toContain(join(base, 'one'));
      chmodSync(join(base, 'one'), 0o1777);
      expect(whoElseChanges(inner)).toBeNull();
      chownSync(inner, 61_000, 61_000);
      expect(whoElseChanges(join(inner, 'below'))).toContain(inner);
      symlinkSync(join(base, 'one'), join(base, 'link'));
      expect(whoElseChanges(join(base, 'link'))).toContain('link');
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  });

  test('says before the first computer which folder on the way its users cannot enter', () => {
    const base = mkdtempSync(join(tmpdir(), 'gantry-way-'));
    try {
      const inner = join(base, 'one', 'two');
      mkdirSync(inner, { recursive: true, mode: 0o755 });
      expect(whereNobodyEnters(join(inner, 'not there yet'))).toContain(`chmod o+x ${base},`);
      chmodSync(base, 0o711);
      expect(whereNobodyEnters(join(inner, 'not there yet'))).toBeNull();
      chmodSync(join(base, 'one'), 0o750);
      expect(whereNobodyEnters(inner)).toContain(join(base, 'one'));
      // The folder itself is opened by whoever makes it.
      expect(whereNobodyEnters(join(base, 'one'))).toBeNull();
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  });

  test('starts no computer when the firewall does not load, and none when it is not what was set up', async () => {
    const path = mkdtempSync(join(tmpdir(), 'gantry-nft-'));
    const real = spawnSync('which', ['nft'], { encoding: 'utf8' }).stdout.trim();
    // Leaves out a rule of whatever is loaded once `broken` is there; `refuses` makes it fail.
    writeFileSync(
      join(path, 'nft'),
      `#!/bin/sh
if [ "$1" = -f ] && [ -e ${path}/refuses ]; then echo no >&2; exit 1; fi
if [ "$1" = -f ] && [ -e ${path}/broken ]; then sed '/^tcp dport 25 drop$/d' | ${real} -f -; exit; fi
exec ${real} "$@"
`,
    );
    chmodSync(join(path, 'nft'), 0o755);
    try {
      writeFileSync(join(path, 'broken'), '');
      const refused = await begin({ path });
      expect(refused.said()).toContain(
        'The firewall is not what was set up: the chain to_world has 9 rules instead of 10.',
      );
      expect(leftovers(around, folder).filter((line) => line.includes(names.interfaces))).toEqual([]);
      rmSync(join(path, 'broken'));

      await begin({ path });
      await helper.ask('create', one);
      writeFileSync(join(path, 'refuses'), '');
      await expect(helper.ask('start', one)).rejects.toMatchObject({ fault: { code: 'not_isolated' } });
      expect(processesOf(0)).toEqual([]);
      rmSync(join(path, 'refuses'));
      // Somebody takes a rule away from what was put up.
      const [enter, ...words] = around.on('machine');
      const handle = spawnSync(enter, [...words, 'nft', '-a', 'list', 'chain', 'inet', names.table, 'to_world'], {
        encoding: 'utf8',
      }).stdout.match(/tcp dport 25 drop # handle (\d+)/)?.[1];
      spawnSync(enter, [...words, 'nft', 'delete', 'rule', 'inet', names.table, 'to_world', 'handle', String(handle)]);
      await expect(helper.ask('start', one)).rejects.toMatchObject({
        fault: { code: 'not_isolated', message: expect.stringContaining('to_world') },
      });
      await helper.ask('delete', one);
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  }, 240_000);

  test('says what this machine lacks, and begins nothing', async () => {
    const bare = mkdtempSync(join(tmpdir(), 'gantry-bare-'));
    mkdirSync(join(bare, 'bin'));
    const [enter, ...words] = around.on('machine');
    const cli = new URL('../../../src/cli/main.ts', import.meta.url).pathname;
    const begun = (env: Record<string, string>, ...before: string[]) =>
      spawnSync(
        before[0] ?? enter,
        [
          ...before.slice(1),
          ...(before.length > 0 ? [] : words),
          process.execPath,
          cli,
          'computer-host',
          '--folder',
          join(bare, 'computers'),
        ],
        {
          encoding: 'utf8',
          env,
        },
      );
    const path = process.env.PATH ?? '';
    const without = begun({ PATH: join(bare, 'bin') }, '/usr/bin/env');
    expect([without.status, without.stderr]).toEqual([1, expect.stringContaining('apt-get install iproute2 nftables')]);
    chmodSync(bare, 0o777);
    const powerless = begun({ PATH: path }, 'setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups');
    expect([powerless.status, powerless.stderr]).toEqual([1, expect.stringContaining('started as root')]);
    expect(existsSync(join(bare, 'computers'))).toBe(false);
    rmSync(bare, { recursive: true, force: true });
  }, 30_000);
});
