/**
 * Limits of what runs in a sandbox together: memory and the number of processes. A control group holds them where one can be made inside of ours;
 * otherwise they can be watched (`watch.ts`). Must not know what runs.
 */
import { readFileSync } from 'node:fs';
import { createGroups, type GroupPlace, type Limits } from './groups.ts';

export const capNames = ['memory', 'processes'] as const;
export type CapName = (typeof capNames)[number];
type HeldBy = 'cgroup' | 'watched';

export interface CapKeeper {
  readonly heldBy: Readonly<Record<CapName, HeldBy>>;
  /**
   * Folders to whose `cgroup.procs` the first process writes itself, new unless something runs there still. None where the limits are only watched.
   * `key`: a file name.
   */
  make(key: string, limits: Limits): readonly string[];
  /** How often the kernel ended or refused a process over its limit since the group was made. */
  hits(key: string): Readonly<Record<CapName, number>>;
  /** Removes groups whose processes have ended, except these. */
  tidy(keys: ReadonlySet<string>): void;
}

export function createCapKeeper(name: string, place: GroupPlace = ownPlace()): CapKeeper {
  const groups = createGroups(name, place);
  const { limits } = groups;
  return {
    heldBy: {
      memory: limits.memory ? 'cgroup' : 'watched',
      processes: limits.processes ? 'cgroup' : 'watched',
    },
    make(key, wanted) {
      if (!limits.memory && !limits.processes) return [];
      // With what it counted for those that ran there before.
      groups.drop(key);
      return groups.make(key, wanted);
    },
    hits: (key) => groups.hits(key),
    tidy(keys) {
      for (const key of groups.keys()) if (!keys.has(key)) groups.drop(key);
    },
  };
}

function ownPlace(): GroupPlace {
  try {
    return { mounts: readFileSync('/proc/self/mounts', 'utf8'), own: readFileSync('/proc/self/cgroup', 'utf8') };
  } catch {
    return { mounts: '', own: '' };
  }
}
