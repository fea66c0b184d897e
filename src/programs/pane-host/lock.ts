/**
 * Allows one host for each data folder. The lock is a file with its owner's pid and start time; if the owner is gone, exactly one of the contenders
 * takes it over.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { startOf } from './process-tree.ts';

/** Taking over takes microseconds; a claim left behind by a crash is ignored after this time, ms. */
const takeoverMs = 5000;

export interface Lock {
  release(): void;
  /** It is this process's once more, after it was given to an heir that is gone. */
  renew(): void;
}

/** Null when another live process holds it. */
export function takeLock(path: string): Lock | null {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, ownerText(), { mode: 0o600 });
  try {
    if (!link(own, path) && !takeOver(own, path)) return null;
  } finally {
    rmSync(own, { force: true });
  }
  return held(path);
}

/** For the heir of the process that holds it: the old host lives still, and gives it away. */
export function inheritLock(path: string): Lock {
  const lock = held(path);
  lock.renew();
  return lock;
}

function held(path: string): Lock {
  return {
    release: () => rmSync(path, { force: true }),
    renew() {
      const own = `${path}.${process.pid}`;
      writeFileSync(own, ownerText(), { mode: 0o600 });
      renameSync(own, path);
    },
  };
}

function ownerText(): string {
  return JSON.stringify({ pid: process.pid, started: startOf(process.pid) });
}

/** Linking fails where the name exists: the one exclusive step that also puts the content in place. */
function link(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function takeOver(own: string, path: string): boolean {
  if (ownerLives(path)) return false;
  const right = `${path}.takeover`;
  try {
    mkdirSync(right);
  } catch {
    if (Date.now() - statSync(right, { throwIfNoEntry: false })!.mtimeMs > takeoverMs) rmdirSync(right);
    return false;
  }
  try {
    // Looked at again, now that nobody else can take it over.
    if (ownerLives(path)) return false;
    renameSync(own, path);
    return true;
  } finally {
    rmdirSync(right);
  }
}

function ownerLives(path: string): boolean {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as { pid: number; started: string | null };
    return owner.started !== null && startOf(owner.pid) === owner.started;
  } catch {
    return false;
  }
}
