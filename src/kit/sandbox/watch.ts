/** How much a tree of processes uses, and how it is brought below its limits where no control group holds them. Linux only. */
import { readFileSync } from 'node:fs';
import { startOf, treeOf } from '../process/process-tree.ts';
import type { Limit, Limits } from './groups.ts';

interface Use {
  readonly pid: number;
  /** Bytes; a page that several processes share counts in parts. */
  readonly memory: number;
  /** At least one. */
  readonly threads: number;
  readonly started: number;
}

const mebibyte = 1024 * 1024;

/** Ends what is over a limit: the largest process, or the newest ones; threads count as processes. Returns the limits that it enforced. `root` leads its own session. */
export async function enforce(root: number, { memory, processes }: Limits): Promise<readonly Limit[]> {
  const tree = [...(await treeOf(root))].filter((pid) => pid !== root).map(useOf);
  const hit: Limit[] = [];
  const used = tree.reduce((sum, one) => sum + one.memory, 0);
  if (memory !== undefined && used > memory * mebibyte) {
    const [largest] = tree.toSorted((a, b) => b.memory - a.memory);
    if (largest !== undefined && end(largest.pid)) hit.push('memory');
  }
  if (processes !== undefined) {
    let over = tree.reduce((sum, one) => sum + one.threads, threadsOf(root)) - processes;
    const newest = tree.toSorted((a, b) => b.started - a.started);
    const ended = newest.filter(({ pid, threads }) => {
      if (over <= 0) return false;
      over -= threads;
      return end(pid);
    });
    if (ended.length > 0) hit.push('processes');
  }
  return hit;
}

function useOf(pid: number): Use {
  return { pid, memory: memoryOf(pid), threads: threadsOf(pid), started: startOf(pid) };
}

function memoryOf(pid: number): number {
  const shared = /^Pss:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/smaps_rollup`));
  // Only its own user may read the maps of a process.
  const found = shared ?? /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`));
  return Number(found?.[1] ?? 0) * 1024;
}

function threadsOf(pid: number): number {
  return Number(/^Threads:\s+(\d+)$/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 1);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

export function end(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
