/** The limit of what a sandbox may add to its folders: what still writes over it is ended, and nothing else is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { endTree, treeOf } from '../../../src/kit/process/process-tree.ts';
import { createDiskWatch, sizeOf } from '../../../src/kit/sandbox/disk-watch.ts';
import { scratchFolder } from '../../support/scratch.ts';

const mebibyte = 1024 * 1024;

/** A shell that starts what a line says, and waits for it. */
function run(line: string, cwd: string): ChildProcess {
  const child = spawn('/bin/sh', ['-c', `${line}\nwait`], { cwd, detached: true, stdio: 'ignore' });
  onTestFinished(() => endTree(child.pid!));
  return child;
}

async function watchOf(line: string, limit: number, folder = scratchFolder()) {
  const before = await sizeOf([folder]);
  const child = run(line, folder);
  const watch = createDiskWatch({
    root: child.pid!,
    disk: { folders: [folder], before },
    limit,
    now: () => performance.now(),
  });
  const tree = async () => (await treeOf(child.pid!)).size;
  return { folder, watch, tree };
}

/** In memory, where the kernel does not count what is written. */
function uncountedFolder(): string {
  const folder = mkdtempSync('/dev/shm/gantry-test-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const looped = (line: string) => `(while :; do ${line}; done) &`;

describe.skipIf(process.platform !== 'linux')('on Linux', () => {
  test.each([
    ['a disk', () => scratchFolder()],
    ['a disk in memory', uncountedFolder],
  ])('on %s, what still writes over the limit is ended, and what does not write goes on', async (_, where) => {
    const slow = 'while sleep 0.01; do head -c 64k /dev/zero; done';
    const line = `sleep 300 &\n(while sleep 0.01; do cat; done <big >/dev/null) &\n(${slow}) | (exec cat >big) &`;
    const folder = where();
    writeFileSync(join(folder, 'big'), '');
    const { watch, tree } = await watchOf(line, 8, folder);
    let hits = 0;
    const look = async () => (hits += await watch.look());
    await expect.poll(look).toBeGreaterThan(1);
    const big = join(folder, 'big');
    const size = statSync(big).size;
    expect(size).toBeGreaterThan(8 * mebibyte);
    // What reads the file goes on: the shell, what sleeps, the loop and what it waits for.
    await expect.poll(tree).toBeLessThanOrEqual(4);
    expect(await watch.look()).toBe(0);
    expect(await tree()).toBeGreaterThanOrEqual(3);
    expect(statSync(big).size).toBe(size);
  });

  test('one whose commands write and end at once is found, too', async () => {
    const { watch, tree } = await watchOf(
      `sleep 300 &\n${looped('dd if=/dev/zero of=big$((i += 1)) bs=1M count=2')}`,
      8,
    );
    await expect.poll(() => watch.look(), { timeout: 20_000 }).toBeGreaterThan(0);
    await expect.poll(async () => [await watch.look(), await tree()][1], { timeout: 20_000 }).toBe(2);
  });

  test('space that is taken without writing counts', async () => {
    const { watch } = await watchOf('fallocate -l 32M big\nsleep 300 &', 16);
    await expect.poll(() => watch.look()).toBe(1);
  });

  test('what was there before does not count, and one who deletes may write again', async () => {
    const folder = scratchFolder();
    const fill = (name: string, size: number) => writeFileSync(join(folder, name), Buffer.alloc(size * mebibyte, 1));
    fill('before', 12);
    const before = await sizeOf([folder]);
    const child = run('sleep 300 &', folder);
    let ms = 0;
    const disk = { folders: [folder], before };
    const watch = createDiskWatch({ root: child.pid!, disk, limit: 8, now: () => ms });
    // Past the time after which it is measured again, whatever else the disk holds.
    const look = () => {
      ms += 61_000;
      return watch.look();
    };
    expect(await look()).toBe(0);
    fill('more', 12);
    expect(await look()).toBe(1);
    expect(await look()).toBe(0);
    fill('more', 1);
    expect(await look()).toBe(0);
    fill('more', 12);
    expect(await look()).toBe(1);
    expect((await treeOf(child.pid!)).size).toBe(2);
  });

  test('one measurement that took long does not put off the next', async () => {
    const folder = scratchFolder();
    const child = run('sleep 300 &', folder);
    // Each reading of the clock takes so long.
    let [ms, step] = [0, 1];
    const disk = { folders: [folder], before: await sizeOf([folder]) };
    const watch = createDiskWatch({ root: child.pid!, disk, limit: 8, now: () => (ms += step) });
    const look = () => {
      ms += 61_000;
      return watch.look();
    };
    expect(await look()).toBe(0);
    step = 100_000;
    expect(await look()).toBe(0);
    step = 1;
    writeFileSync(join(folder, 'more'), Buffer.alloc(12 * mebibyte, 1));
    expect(await look()).toBe(1);
  });

  test('a file with several names counts once, and a link to somewhere else does not', async () => {
    const [folder, other] = [scratchFolder(), scratchFolder()];
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(other, 'much'), Buffer.alloc(8 * mebibyte, 1));
    const before = await sizeOf([folder, join(folder, 'inner')]);
    symlinkSync(other, join(folder, 'inner', 'away'));
    writeFileSync(join(folder, 'one'), Buffer.alloc(4 * mebibyte, 1));
    const added = (await sizeOf([folder, join(folder, 'inner')])) - before;
    expect(added).toBeGreaterThanOrEqual(4 * mebibyte);
    expect(added).toBeLessThan(5 * mebibyte);
  });
});
