/**
 * How much bots changed, for lists that pages read again and again: git runs a dozen processes for each worktree. A page that left takes back its
 * request but not these processes, so the readings of several requests must not add up; and a list shows its runs, however long git takes. Must not
 * know runs.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { WorktreeService, WorktreeSize } from '../agents/worktrees/index.ts';

type Size = WorktreeSize | null;

/** Whoever starts or ends a run meanwhile has a turn of the processors, too. */
const maxReadings = 4;
/** A list waits so long for git, then it shows what was read last. The next reading of the list has what came meanwhile. Milliseconds. */
const maxWaitMs = 2000;
/** Worktrees whose last size is kept: more than a page of a list shows. */
const maxKept = 500;

/**
 * A few worktrees at a time, and each only once. All who ask for one before its reading begins get what it reads; where that takes long, what was
 * read last, or null.
 */
export function createSizes(
  worktrees: Pick<WorktreeService, 'sizeOf'>,
  timers: Timers,
): (address: string) => Promise<Size> {
  /** The reading of each worktree that is under way, and the one that follows it. */
  const begun = new Map<string, Promise<Size>>();
  const waiting = new Map<string, Promise<Size>>();
  const last = new Map<string, Size>();
  const queue: (() => void)[] = [];
  let readings = 0;

  async function turn(): Promise<void> {
    if (readings < maxReadings) readings += 1;
    else await new Promise<void>((begin) => queue.push(begin));
  }

  function endTurn(): void {
    const next = queue.shift();
    if (next === undefined) readings -= 1;
    else next();
  }

  function keep(address: string, size: Size): void {
    last.delete(address);
    last.set(address, size);
    const [oldest] = last.keys();
    if (last.size > maxKept && oldest !== undefined) last.delete(oldest);
  }

  async function read(address: string, before: Promise<Size> | undefined): Promise<Size> {
    await before;
    await turn();
    waiting.delete(address);
    const mine = readableSize(worktrees, address);
    begun.set(address, mine);
    const size = await mine;
    keep(address, size);
    begun.delete(address);
    endTurn();
    return size;
  }

  function next(address: string): Promise<Size> {
    const same = waiting.get(address);
    if (same !== undefined) return same;
    const mine = read(address, begun.get(address));
    waiting.set(address, mine);
    return mine;
  }

  return (address) =>
    new Promise((resolve) => {
      const cancel = timers.after(maxWaitMs, () => resolve(last.get(address) ?? null));
      void next(address).then((size) => {
        cancel();
        resolve(size);
      });
    });
}

/** A worktree that git cannot read is no reason to show nothing of its run. */
export const readableSize = (worktrees: Pick<WorktreeService, 'sizeOf'>, address: string): Promise<Size> =>
  worktrees.sizeOf(address).catch(() => null);
