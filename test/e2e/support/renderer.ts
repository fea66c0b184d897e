/** The built page that the product serves: built here, by one test file at a time, when it is missing or older than its sources. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export const root = join(import.meta.dirname, '..', '..', '..');
const built = join(root, 'out', 'renderer', 'index.html');
const pictures = join(root, 'docs', 'images');
const lock = join(root, 'out', '.page-lock');
/** Longer than any build: whoever held the lock was killed. Milliseconds. */
const abandonedMs = 10 * 60_000;
const sources = ['src/renderer', 'src/client', 'src/contracts', 'docs', 'vite.config.ts', 'package-lock.json'];

function newest(path: string): number {
  const info = statSync(path);
  // These tests themselves write the pictures of the guides.
  if (path === pictures) return 0;
  if (!info.isDirectory()) return info.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const isFresh = (): boolean =>
  existsSync(built) && statSync(built).mtimeMs > Math.max(...sources.map((path) => newest(join(root, path))));

/** Files of one run ask at once; each build empties the folder of the one before. */
export async function buildRenderer(): Promise<void> {
  if (isFresh()) return;
  while (!takeLock()) await pause(200);
  try {
    if (!isFresh()) await build();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function takeLock(): boolean {
  mkdirSync(join(root, 'out'), { recursive: true });
  const held = statSync(lock, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs < abandonedMs) return false;
  if (held !== undefined) rmSync(lock, { recursive: true, force: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

async function build(): Promise<void> {
  const { NODE_ENV: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(import.meta.dirname, 'build-page.ts')], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`The page could not be built (exit ${code}).`);
}
