/** Limits of a sandbox: by a control group where one can be made, else by looking. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { endTree, treeOf } from '../../../src/kit/process/process-tree.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { createCapKeeper } from '../../../src/kit/sandbox/caps.ts';
import { createGroups } from '../../../src/kit/sandbox/groups.ts';
import { enforce } from '../../../src/kit/sandbox/watch.ts';
import { scratchFolder } from '../../support/scratch.ts';

const name = `gantry-test-${process.pid}`;
const keeper = createCapKeeper(name);

/** Runs a line of the shell in a group. */
async function inGroup(folders: readonly string[], line: string) {
  const join = folders.map((folder) => `echo $$ > ${folder}/cgroup.procs && `).join('');
  return runProcess({ command: ['/bin/sh', '-c', `${join}${line}`], deadlineMs: 60_000 });
}

const byGroups = Object.values(createGroups(name).limits).every((holds) => holds);
describe.skipIf(!byGroups)('by a control group', () => {
  test('what is over its memory is ended and counted, and the rest goes on', async () => {
    onTestFinished(() => keeper.tidy(new Set()));
    const folders = keeper.make('memory', { memory: 64 });
    const before = keeper.hits('memory').memory;
    const { stdout } = await inGroup(folders, '(cat /dev/zero | tail); echo went on');
    expect(stdout).toBe('went on\n');
    expect(keeper.hits('memory').memory).toBeGreaterThan(before);
  });

  test('more processes than allowed are refused and counted', async () => {
    onTestFinished(() => keeper.tidy(new Set()));
    const folders = keeper.make('processes', { processes: 16 });
    await inGroup(folders, 'for i in $(seq 40); do sleep 5 & done; true');
    expect(keeper.hits('processes').processes).toBeGreaterThan(0);
  });

  test('what would use more than its share of the processor waits, and that is counted', async () => {
    onTestFinished(() => keeper.tidy(new Set()));
    const folders = keeper.make('processor', { processor: 0.2 });
    const { exitCode } = await inGroup(folders, 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done');
    expect(exitCode).toBe(0);
    expect(keeper.hits('processor').processor).toBeGreaterThan(0);
    await inGroup(keeper.make('unlimited', {}), 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done');
    expect(keeper.hits('unlimited').processor).toBe(0);
  });

  test('a limit that is no longer wanted goes with the next start', async () => {
    onTestFinished(() => keeper.tidy(new Set()));
    keeper.make('again', { memory: 64, processes: 16 });
    const folders = keeper.make('again', {});
    const files = folders.flatMap((folder) =>
      ['memory.max', 'memory.limit_in_bytes', 'pids.max'].map((file) => join(folder, file)),
    );
    const limits = files.flatMap((file) => {
      try {
        return [readFileSync(file, 'utf8').trim()];
      } catch {
        return [];
      }
    });
    expect(limits).not.toContain(String(64 * 1024 * 1024));
    expect(limits).not.toContain('16');
  });
});

test('groups are made inside of ours, so that a limit around Gantry goes on to hold', () => {
  const root = scratchFolder();
  for (const folder of ['memory/outer/ours', 'pids', 'cpu/ours', 'two']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  const mounts = ['memory', 'pids', 'cpu'].map((each) => `cgroup ${root}/${each} cgroup rw,${each} 0 0\n`).join('');
  const groups = createGroups('bots', { mounts, own: '4:memory:/outer/ours\n8:pids:/\n1:cpu:/ours\n0::/\n' });
  expect(groups.limits).toEqual({ memory: true, processes: true, processor: true });
  expect(groups.make('a', { memory: 1, processor: 1.5 })).toEqual([
    join(root, 'memory/outer/ours/bots/a'),
    join(root, 'pids/bots/a'),
    join(root, 'cpu/ours/bots/a'),
  ]);
  expect(readFileSync(join(root, 'cpu/ours/bots/a/cpu.cfs_quota_us'), 'utf8')).toBe('150000');
  groups.make('b', { processor: 1 });
  // Each weighs as much as a process beside them, and one without a limit stays beside them.
  expect(readFileSync(join(root, 'cpu/ours/bots/cpu.shares'), 'utf8')).toBe('2048');
  expect(groups.make('c', { memory: 1 })).toEqual([join(root, 'memory/outer/ours/bots/c'), join(root, 'pids/bots/c')]);
  expect(readFileSync(join(root, 'memory/outer/ours/bots/a/memory.limit_in_bytes'), 'utf8')).toBe('1048576');
  expect(groups.keys()).toEqual(['a', 'b', 'c']);
});

test('in version 2 a group that was given no controllers holds nothing', () => {
  const root = scratchFolder();
  mkdirSync(join(root, 'ours'));
  for (const [file, text] of [
    ['cgroup.procs', ''],
    ['cgroup.controllers', 'memory pids'],
    ['ours/cgroup.subtree_control', ''],
  ] as const) {
    writeFileSync(join(root, file), text);
  }
  const place = { mounts: `cgroup2 ${root} cgroup2 rw 0 0\n`, own: '0::/ours\n' };
  const nothing = { memory: false, processes: false, processor: false };
  expect(createGroups('bots', place).limits).toEqual(nothing);
  writeFileSync(join(root, 'ours/cgroup.subtree_control'), 'memory pids\n');
  expect(createGroups('bots', place).limits).toEqual({ ...nothing, memory: true, processes: true });
});

test('in version 2 a share of the processor is a quota of each period', () => {
  const root = scratchFolder();
  mkdirSync(join(root, 'ours/bots/a'), { recursive: true });
  for (const [file, text] of [
    ['cgroup.procs', ''],
    ['ours/cgroup.subtree_control', 'memory pids cpu'],
    ['ours/bots/a/cpu.stat', 'usage_usec 12\nnr_periods 9\nnr_throttled 4\nthrottled_usec 3\n'],
  ] as const) {
    writeFileSync(join(root, file), text);
  }
  const groups = createGroups('bots', { mounts: `cgroup2 ${root} cgroup2 rw 0 0\n`, own: '0::/ours\n' });
  const limit = () => readFileSync(join(root, 'ours/bots/a/cpu.max'), 'utf8');
  groups.make('a', { processor: 0.25 });
  expect(limit()).toBe('25000');
  expect(groups.hits('a').processor).toBe(4);
  groups.make('a', {});
  expect(limit()).toBe('max');
});

test.skipIf(process.platform !== 'linux')(
  'where nothing else holds them, the newest processes over the limit are ended',
  async () => {
    const child = spawn('/bin/sh', ['-c', 'for i in 1 2 3 4 5; do sleep 300 & done; echo ready; wait'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => endTree(child.pid!));
    await once(child.stdout, 'data');
    const size = async () => (await treeOf(child.pid!)).size;
    expect(await enforce(child.pid!, { processes: 6, memory: 10_000 })).toEqual([]);
    expect(await size()).toBe(6);
    expect(await enforce(child.pid!, { processes: 4 })).toEqual(['processes']);
    await expect.poll(size).toBe(4);
  },
);

test.skipIf(process.platform !== 'linux')(
  'where nothing else holds it, the largest process over the memory is ended',
  async () => {
    const child = spawn('/bin/sh', ['-c', 'sleep 300 & (head -c 100000000 /dev/zero; sleep 300) | tail'], {
      detached: true,
      stdio: 'ignore',
    });
    onTestFinished(() => endTree(child.pid!));
    await expect.poll(() => enforce(child.pid!, { memory: 60 })).toEqual(['memory']);
    // The shell waits for the pipe, whose other half still sleeps.
    expect((await treeOf(child.pid!)).has(child.pid!)).toBe(true);
  },
);

test.skipIf(process.platform !== 'linux')('threads count as processes where the limit is only watched', async () => {
  // Node has several threads of its own.
  const line = `"${process.execPath}" -e 'console.log(1); setInterval(() => {}, 1000)' & wait`;
  const child = spawn('/bin/sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => endTree(child.pid!));
  await once(child.stdout, 'data');
  expect((await treeOf(child.pid!)).size).toBe(2);
  expect(await enforce(child.pid!, { processes: 100 })).toEqual([]);
  expect(await enforce(child.pid!, { processes: 3 })).toEqual(['processes']);
});
