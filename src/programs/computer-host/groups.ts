/**
 * The control groups of computers: they limit memory and the number of processes, freeze computers and end all their processes. Version 2 if
 * available, version 1 beside or instead of it, and signals if neither is. Must not know computers.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIds, readStat } from '../../kit/process/process-tree.ts';
import type { HostCapabilities } from './protocol.ts';

interface Limits {
  /** Mebibytes. */
  readonly memory: number;
  readonly processes: number;
}

export interface Groups {
  readonly freezes: HostCapabilities['freeze'];
  readonly limits: HostCapabilities['limits'];
  /** Folders to whose `cgroup.procs` the first process of a computer writes itself. */
  make(slot: number, limits: Limits): readonly string[];
  /** Also for one whose folders do not exist. `uid`: the user whose processes are meant if only signals are available. */
  freeze(slot: number, uid: number): Promise<void>;
  thaw(slot: number, uid: number): void;
  isFrozen(slot: number, uid: number): boolean;
  processes(slot: number, uid: number): readonly number[];
  /** Ends all its processes and removes it. */
  end(slot: number, uid: number): Promise<void>;
  /** Slots that have folders. */
  slots(): readonly number[];
  /** Removes the parent of all of them. */
  remove(): void;
}

interface Found {
  /** Where version 2 is mounted. */
  readonly unified: string | null;
  /** Where each controller of version 1 is mounted. */
  readonly old: ReadonlyMap<string, string>;
}

/** Milliseconds. */
const freezesWithin = 2000;
const endsWithin = 5000;

export function createGroups(name: string, mounts: string = readFileSync('/proc/self/mounts', 'utf8')): Groups {
  const { unified, old } = findGroups(mounts);
  const two = unified === null ? null : join(unified, name);
  const controllers = unified === null ? [] : words(join(unified, 'cgroup.controllers'));
  // A controller belongs to only one of the versions.
  const inTwo = ['memory', 'pids'].filter((each) => controllers.includes(each));
  const inOne = ['memory', 'pids', 'freezer'].flatMap((each) => {
    const mount = old.get(each);
    const wanted = mount !== undefined && !inTwo.includes(each) && !(each === 'freezer' && unified !== null);
    return wanted ? [[each, join(mount, name)] as const] : [];
  });
  const oneOf = (controller: string) => inOne.find(([each]) => each === controller)?.[1] ?? null;
  const freezer = oneOf('freezer');
  const freezes = two !== null ? 'cgroup2' : freezer !== null ? 'cgroup1' : 'signals';
  const roots = [...(two === null ? [] : [two]), ...inOne.map(([, folder]) => folder)];
  /** The file that lists all processes of a computer. */
  const lists = two ?? freezer ?? roots[0] ?? null;

  function processes(slot: number, uid: number): readonly number[] {
    if (lists === null) return processesOf(uid);
    return words(join(lists, String(slot), 'cgroup.procs')).map(Number);
  }

  function signal(slot: number, uid: number, what: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') {
    for (const pid of processes(slot, uid)) {
      try {
        process.kill(pid, what);
      } catch {
        // Gone already.
      }
    }
  }

  function thaw(slot: number, uid: number) {
    if (two !== null) write(join(two, String(slot), 'cgroup.freeze'), '0');
    else if (freezer !== null) write(join(freezer, String(slot), 'freezer.state'), 'THAWED');
    else signal(slot, uid, 'SIGCONT');
  }

  return {
    freezes,
    limits: {
      memory: inTwo.includes('memory') || oneOf('memory') !== null,
      processes: inTwo.includes('pids') || oneOf('pids') !== null,
    },
    make(slot, limits) {
      if (two !== null && inTwo.length > 0) {
        mkdirSync(two, { recursive: true });
        const wanted = inTwo.map((each) => `+${each}`).join(' ');
        write(join(unified as string, 'cgroup.subtree_control'), wanted);
        write(join(two, 'cgroup.subtree_control'), wanted);
      }
      const folders = roots.map((root) => join(root, String(slot)));
      for (const folder of folders) mkdirSync(folder, { recursive: true });
      const bytes = String(limits.memory * 1024 * 1024);
      const set = (controller: string, file2: string, file1: string, value: string) => {
        const one = oneOf(controller);
        if (inTwo.includes(controller)) writeFileSync(join(two as string, String(slot), file2), value);
        else if (one !== null) writeFileSync(join(one, String(slot), file1), value);
      };
      set('memory', 'memory.max', 'memory.limit_in_bytes', bytes);
      set('pids', 'pids.max', 'pids.max', String(limits.processes));
      return folders;
    },
    async freeze(slot, uid) {
      const until = performance.now() + freezesWithin;
      if (two !== null) {
        const folder = join(two, String(slot));
        writeFileSync(join(folder, 'cgroup.freeze'), '1');
        while (!text(join(folder, 'cgroup.events')).includes('frozen 1')) {
          if (performance.now() > until) throw new Error('It did not freeze in time.');
          await delay(1);
        }
      } else if (freezer !== null) {
        const file = join(freezer, String(slot), 'freezer.state');
        writeFileSync(file, 'FROZEN');
        while (text(file) !== 'FROZEN') {
          if (performance.now() > until) throw new Error('It did not freeze in time.');
          await delay(1);
        }
      } else {
        // Processes forked in between are seen the next time.
        for (let round = 0; round < 3; round += 1) signal(slot, uid, 'SIGSTOP');
      }
    },
    thaw,
    isFrozen(slot, uid) {
      if (two !== null) return text(join(two, String(slot), 'cgroup.freeze')) === '1';
      if (freezer !== null) return text(join(freezer, String(slot), 'freezer.state')) !== 'THAWED';
      const [first] = processes(slot, uid);
      return first !== undefined && readStat(first)?.state === 'T';
    },
    processes,
    async end(slot, uid) {
      const until = performance.now() + endsWithin;
      if (two !== null) write(join(two, String(slot), 'cgroup.kill'), '1');
      // A frozen group of version 1 takes no signal before it thaws.
      else thaw(slot, uid);
      while (processes(slot, uid).length > 0) {
        if (performance.now() > until) throw new Error('Some of its processes did not end.');
        signal(slot, uid, 'SIGKILL');
        await delay(3);
      }
      for (const root of roots) await removeFolder(join(root, String(slot)), until);
    },
    slots() {
      const found = roots.flatMap((root) => (existsSync(root) ? readdirSync(root) : []));
      return [...new Set(found.filter((each) => /^\d{1,4}$/.test(each)).map(Number))];
    },
    remove() {
      for (const root of roots) {
        try {
          rmdirSync(root);
        } catch {
          // It does not exist, or is still in use.
        }
      }
    },
  };
}

function findGroups(mounts: string): Found {
  let unified: string | null = null;
  const old = new Map<string, string>();
  for (const line of mounts.split('\n')) {
    const [, place, kind, options = ''] = line.split(' ');
    if (place === undefined) continue;
    if (kind === 'cgroup2') unified ??= place;
    if (kind === 'cgroup') for (const option of options.split(',')) old.set(option, place);
  }
  return { unified: unified !== null && existsSync(join(unified, 'cgroup.procs')) ? unified : null, old };
}

/** Empty if it does not exist. */
function text(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

const words = (file: string) => text(file).split(/\s+/).filter(Boolean);

function write(file: string, value: string): void {
  try {
    writeFileSync(file, value);
  } catch {
    // It does not exist, so there is nothing to do.
  }
}

/** An empty folder may be busy for a moment after its last process. */
async function removeFolder(folder: string, until: number): Promise<void> {
  for (;;) {
    try {
      return rmdirSync(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || performance.now() > until) throw error;
      await delay(3);
    }
  }
}

function processesOf(uid: number): number[] {
  return processIds().filter((pid) => {
    try {
      const isOf = new RegExp(`^Uid:\\t${uid}\\t`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'));
      return isOf && readStat(pid)?.state !== 'Z';
    } catch {
      return false;
    }
  });
}
