/** The folders that tasks run in: created, and removed whatever a command has left in them. Must not know tasks. */
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'gantry-task-';
/** With the computer's name: a temporary folder may be shared with one where other processes have the numbers of ours. */
const closedPrefix = `${prefix}${hostname()}-`;

/** A sandboxed folder is named after its worker: its command cannot outlive the worker, so a later one may remove it. */
export function makeScratch({ closed, folder = tmpdir() }: { closed: boolean; folder?: string }): Promise<string> {
  return mkdtemp(join(folder, closed ? `${closedPrefix}${process.pid}-` : prefix));
}

/** Removes what workers that were killed outright have left. What cannot be removed, or is somebody else's, stays. */
export async function removeAbandoned(folder = tmpdir()): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isDirectory() || !entry.name.startsWith(closedPrefix)) continue;
    const [, pid] = /^(\d+)-\w{6}$/.exec(entry.name.slice(closedPrefix.length)) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) await removeScratch(join(folder, entry.name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Null, or a sentence about what stays. Never rejects: what became of a task does not depend on it. */
export async function removeScratch(folder: string): Promise<string | null> {
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await remove().catch(async () => {
      await openUp(folder);
      await remove();
    });
    return null;
  } catch (error) {
    return `${folder} is left behind (${(error as NodeJS.ErrnoException).code ?? String(error)}).`;
  }
}

/** As `chmod -R u+rwX` does: Go keeps its modules in folders that nobody may write to. Follows no links. */
async function openUp(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await openUp(join(folder, entry.name));
  }
}
