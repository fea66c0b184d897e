/**
 * How much bots changed, for lists that pages read again and again: git runs a dozen processes for each worktree. A page that left takes back its
 * request but not these processes, so the readings of several requests must not add up. Must not know runs.
 */
import type { WorktreeService, WorktreeSize } from '../agents/worktrees/index.ts';

type Size = WorktreeSize | null;

/** Whoever starts or ends a run meanwhile has a turn of the processors, too. */
const maxReadings = 4;

/** A few worktrees at a time. All who ask for one before its reading begins get what it reads; nobody gets what was read before they asked. */
export function createSizes(worktrees: Pick<WorktreeService, 'sizeOf'>): (address: string) => Promise<Size> {
  const waiting = new Map<string, Promise<Size>>();
  const queue: (() => void)[] = [];
  let readings = 0;

  async function read(address: string): Promise<Size> {
    if (readings < maxReadings) readings += 1;
    else await new Promise<void>((begin) => queue.push(begin));
    waiting.delete(address);
    const size = await readableSize(worktrees, address);
    const next = queue.shift();
    if (next === undefined) readings -= 1;
    else next();
    return size;
  }

  return (address) => {
    const same = waiting.get(address);
    if (same !== undefined) return same;
    const mine = read(address);
    if (queue.length > 0) waiting.set(address, mine);
    return mine;
  };
}

/** A worktree that git cannot read is no reason to show nothing of its run. */
export const readableSize = (worktrees: Pick<WorktreeService, 'sizeOf'>, address: string): Promise<Size> =>
  worktrees.sizeOf(address).catch(() => null);
