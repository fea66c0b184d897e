/** The folders that tasks run in: made, and removed whatever a command has left in them. Must not know tasks. */
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'gantry-task-';

export function makeScratch(): Promise<string> {
  return mkdtemp(join(tmpdir(), prefix));
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
