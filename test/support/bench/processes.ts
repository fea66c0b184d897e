/** Processor time and memory of processes, read from Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** Processor milliseconds that all threads of a process have used so far (nanosecond counters, not 10 ms ticks). Throws once it has ended. */
export function cpuMs(pid: number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    } catch {
      // The thread ended between the listing and the reading.
    }
  }
  return total / 1e6;
}

/** Processor milliseconds, user and system, of a process and of those of its children that ended, in ticks of 10 ms. Throws once it has ended. */
export function cpuWithEndedMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

/**
 * Milliseconds since the start in which some work on this machine stood still for want of a processor or of a disk, and in which the machine
 * itself was given no processor. A kernel that does not count it says 0.
 */
export function machineStalledMs(): number {
  const stolen = /^cpu +(?:\d+ ){7}(\d+)/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1];
  return pressureMs('cpu') + pressureMs('io') + Number(stolen ?? 0) * 10;
}

function pressureMs(of: 'cpu' | 'io'): number {
  try {
    return Number(/^some .* total=(\d+)$/m.exec(readFileSync(`/proc/pressure/${of}`, 'latin1'))?.[1] ?? 0) / 1000;
  } catch {
    return 0;
  }
}

/** Proportional set size: shared pages are counted by share. Megabytes of 10^6 bytes. */
export function pssMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  const kibibytes = /^Pss:\s+(\d+) kB/m.exec(rollup)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/smaps_rollup has no Pss line.`);
  return (Number(kibibytes) * 1024) / 1e6;
}

/** Of one program and those it starts; node itself takes all that it may have. */
export function maxFiles(): number {
  const line = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
  return line?.[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(line?.[1]);
}

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Every process that runs, with its arguments. */
export function processes(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z') return [];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), parent: Number(parent), command }];
      } catch {
        return [];
      }
    });
}

/** The process and everything that descends from it. */
export function withDescendants(root: number, all: readonly ProcessInfo[] = processes()): ProcessInfo[] {
  const tree = new Set([root]);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const row of all) if (tree.has(row.parent)) tree.add(row.pid);
  }
  return all.filter((row) => tree.has(row.pid));
}
