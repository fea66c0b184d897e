/** How much a tree of processes uses, and how it is brought below its limits where no control group holds them. Linux only. */
import { readFileSync } from 'node:fs';
import { startOf, treeOf } from '../process/process-tree.ts';
import type { CapName } from './caps.ts';
import type { Limits } from './groups.ts';

interface Use {
  readonly pid: number;
  /** Bytes; a page that several processes share counts in parts. */
  readonly memory: number;
  readonly started: number;
}

const mebibyte = 1024 * 1024;

/** Ends what is over a limit: the largest process, or the newest ones. Returns the limits that it enforced. `root` leads its own session. */
export async function enforce(root: number, { memory, processes }: Limits): Promise<readonly CapName[]> {
  const tree = [...(await treeOf(root))].filter((pid) => pid !== root).map(useOf);
  const hit: CapName[] = [];
  const used = tree.reduce((sum, one) => sum + one.memory, 0);
  if (memory !== undefined && used > memory * mebibyte) {
    const [largest] = tree.toSorted((a, b) => b.memory - a.memory);
    if (largest !== undefined && end(largest.pid)) hit.push('memory');
  }
  if (processes !== undefined && tree.length + 1 > processes) {
    const newest = tree.toSorted((a, b) => b.started - a.started).slice(0, tree.length + 1 - processes);
    if (newest.map(({ pid }) => end(pid)).includes(true)) hit.push('processes');
  }
  return hit;
}

function useOf(pid: number): Use {
  return { pid, memory: memoryOf(pid), started: startOf(pid) };
}

function memoryOf(pid: number): number {
  const shared = /^Pss:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/smaps_rollup`));
  // Only its own user may read the maps of a process.
  const found = shared ?? /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`));
  return Number(found?.[1] ?? 0) * 1024;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function end(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
