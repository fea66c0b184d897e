/** A small disk that can be filled: a file system in memory, mounted on a folder, in a namespace that only this program and its children see. */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Databases, journals and terminals of a slice take some 20 MB. */
const size = '96m';
/** In an environment: the program may mount. */
const own = 'CHAOS_MOUNTS';

interface Disk {
  /** Nothing more can be written to it. */
  fill(): void;
  free(): void;
  close(): void;
}

/** Runs this program again where it may mount, and ends with it; nothing if that is here. */
export function beWhereMountsAre(): void {
  if (process.env[own] !== undefined) return;
  // Who is not root is shown as root there. PostgreSQL refuses that: a disk together with a cloud apart needs the real one.
  const how = process.getuid?.() === 0 ? '-m' : '-rm';
  const command = [how, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { status, error } = spawnSync('unshare', command, {
    stdio: 'inherit',
    env: { ...process.env, [own]: 'yes' },
  });
  if (error !== undefined) throw error;
  process.exit(status ?? 1);
}

export function openDisk(folder: string): Disk {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', folder]);
  const ballast = join(folder, 'ballast');
  return {
    fill() {
      const file = openSync(ballast, 'w');
      try {
        for (const bytes of [1024 * 1024, 4096]) writeUntilFull(file, Buffer.alloc(bytes));
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast, { force: true }),
    close: () => void execFileSync('umount', ['--lazy', folder]),
  };
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(file, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
