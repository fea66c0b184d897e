/**
 * Limits of what runs in a sandbox together: memory, processes, its share of the processor, and disk. A control group holds the first three where one
 * can be made inside of ours; otherwise memory and processes can be watched (`watch.ts`). Disk is always watched (`disk-watch.ts`). Must not know what
 * runs.
 */
import { readFileSync } from 'node:fs';
import { createGroups, type GroupPlace, type Limit, type Limits } from './groups.ts';

/** In the order in which they are shown. */
export const capNames = ['memory', 'processes', 'processor', 'disk'] as const;
export type CapName = (typeof capNames)[number];
type HeldBy = 'cgroup' | 'watched' | 'nothing';

export interface CapKeeper {
  readonly heldBy: Readonly<Record<CapName, HeldBy>>;
  /**
   * Folders to whose `cgroup.procs` the first process writes itself, new unless something runs there still. None where the limits are only watched.
   * `key`: a file name.
   */
  make(key: string, limits: Limits): readonly string[];
  /** As `Groups.hits`. */
  hits(key: string): Readonly<Record<Limit, number>>;
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
      // To end a program because it calculates would help nobody.
      processor: limits.processor ? 'cgroup' : 'nothing',
      disk: 'watched',
    },
    make(key, wanted) {
      if (!Object.values(limits).includes(true)) return [];
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
