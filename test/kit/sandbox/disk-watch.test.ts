/** The limit of what a sandbox may add to its folders: what still writes over it is ended, and nothing else is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
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

async function watchOf(line: string, limit: number) {
  const folder = scratchFolder();
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

const looped = (line: string) => `(while :; do ${line}; done) &`;

describe.skipIf(process.platform !== 'linux')('on Linux', () => {
  test('what still writes over the limit is ended, and what does not write goes on', async () => {
    const { folder, watch, tree } = await watchOf(`sleep 300 &\n(cat /dev/zero | dd of=big bs=64k) &`, 8);
    await expect.poll(() => watch.look()).toBeGreaterThan(1);
    // The shell, and what sleeps: the other end of the pipe ends with its reader.
    await expect.poll(tree).toBe(2);
    const size = statSync(join(folder, 'big')).size;
    expect(size).toBeGreaterThan(8 * mebibyte);
    expect(await watch.look()).toBe(0);
    expect(statSync(join(folder, 'big')).size).toBe(size);
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
