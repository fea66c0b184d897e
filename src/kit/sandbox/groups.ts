/**
 * Control groups of sandboxes: they limit memory, the number of processes and the share of the processor, freeze what runs in one and end all of it.
 * Version 2 if available, version 1 beside or instead of it, and signals if neither is. Must not know what runs.
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIds, readStat } from '../process/process-tree.ts';

export interface Limits {
  /** Mebibytes. */
  readonly memory?: number | undefined;
  readonly processes?: number | undefined;
  /** Cores, in hundredths or larger parts. */
  readonly processor?: number | undefined;
}

/** What a control group can limit. */
export type Limit = keyof Limits;

export interface Groups {
  readonly freezes: 'cgroup2' | 'cgroup1' | 'signals';
  /** Which limits hold. */
  readonly limits: Readonly<Record<Limit, boolean>>;
  /** Folders to whose `cgroup.procs` the first process writes itself. `key`: a file name. */
  make(key: string, limits: Limits): readonly string[];
  /** Also for one whose folders do not exist. `uid`: the user whose processes are meant if only signals are available. */
  freeze(key: string, uid: number): Promise<void>;
  thaw(key: string, uid: number): void;
  isFrozen(key: string, uid: number): boolean;
  processes(key: string, uid: number): readonly number[];
  /** Ends all its processes and removes it. */
  end(key: string, uid: number): Promise<void>;
  /** How often the kernel ended or refused a process over a limit since it was made, and in how many parts of its time processes had to wait for the processor. */
  hits(key: string): Readonly<Record<Limit, number>>;
  /** Removes one whose processes have ended; one that has some stays. */
  drop(key: string): void;
  /** Those that have folders. */
  keys(): readonly string[];
  /** Removes the parent of all of them. */
  remove(): void;
}

interface Found {
  /** Where version 2 is mounted. */
  readonly unified: string | null;
  /** Where each controller of version 1 is mounted. */
  readonly old: ReadonlyMap<string, string>;
}

/** By the files' names. */
const controllerOf = { memory: 'memory', processes: 'pids', processor: 'cpu' } as const satisfies Record<Limit, string>;
const limiting = Object.values(controllerOf);
/** Of one process or group of version 1, in the kernel's own default. */
const weight = 1024;
/** Microseconds: the kernel's own default, in which a group may use its share of the processor. */
const period = 100_000;

/** Milliseconds. */
const freezesWithin = 2000;
const endsWithin = 5000;

export interface GroupPlace {
  readonly mounts?: string;
  /** What `/proc/self/cgroup` says: the groups are made inside of ours, whose limits go on to hold. Null: below the topmost, which takes root. */
  readonly own?: string | null;
}

export function createGroups(
  name: string,
  { mounts = readFileSync('/proc/self/mounts', 'utf8'), own = null }: GroupPlace = {},
): Groups {
  const found = findGroups(mounts);
  const outer = (mount: string, controller: string) => (own === null ? mount : join(mount, pathIn(own, controller)));
  const unified = found.unified === null ? null : outer(found.unified, '');
  const controllers = unified === null ? [] : controllersFor(unified, own !== null && unified !== found.unified);
  // A controller belongs to only one of the versions.
  const inTwo: readonly string[] = limiting.filter((each) => controllers.includes(each));
  const two = unified === null || (own !== null && inTwo.length === 0) ? null : join(unified, name);
  const inOne = [...limiting, 'freezer'].flatMap((each) => {
    const mount = found.old.get(each);
    const folder = mount === undefined ? null : outer(mount, each);
    const wanted =
      folder !== null &&
      (own === null || isWritable(folder)) &&
      !inTwo.includes(each) &&
      !(each === 'freezer' && unified !== null);
    return wanted ? [[each, join(folder, name)] as const] : [];
  });
  const oneOf = (controller: string) => inOne.find(([each]) => each === controller)?.[1] ?? null;
  const holds = (limit: Limit) => inTwo.includes(controllerOf[limit]) || oneOf(controllerOf[limit]) !== null;
  const freezer = oneOf('freezer');
  const freezes = two !== null ? 'cgroup2' : freezer !== null ? 'cgroup1' : 'signals';
  const roots = [...(two === null ? [] : [two]), ...inOne.map(([, folder]) => folder)];
  /** The file that lists all processes of one. */
  const lists = two ?? freezer ?? roots[0] ?? null;

  function processes(key: string, uid: number): readonly number[] {
    if (lists === null) return processesOf(uid);
    return words(join(lists, key, 'cgroup.procs')).map(Number);
  }

  function signal(key: string, uid: number, what: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') {
    for (const pid of processes(key, uid)) {
      try {
        process.kill(pid, what);
      } catch {
        // Gone already.
      }
    }
  }

  function thaw(key: string, uid: number) {
    if (two !== null) write(join(two, key, 'cgroup.freeze'), '0');
    else if (freezer !== null) write(join(freezer, key, 'freezer.state'), 'THAWED');
    else signal(key, uid, 'SIGCONT');
  }

  return {
    freezes,
    limits: { memory: holds('memory'), processes: holds('processes'), processor: holds('processor') },
    make(key, limits) {
      if (two !== null && inTwo.length > 0) {
        mkdirSync(two, { recursive: true });
        const wanted = inTwo.map((each) => `+${each}`).join(' ');
        write(join(unified as string, 'cgroup.subtree_control'), wanted);
        write(join(two, 'cgroup.subtree_control'), wanted);
      }
      const shared = oneOf('cpu');
      const used = roots.filter((root) => root !== shared || limits.processor !== undefined);
      const folders = used.map((root) => join(root, key));
      for (const folder of folders) mkdirSync(folder, { recursive: true });
      // In version 1 a group counts as one process among those beside it, however many are in it: without this, all of ours together would.
      if (shared !== null && limits.processor !== undefined)
        write(join(shared, 'cpu.shares'), String(weight * foldersIn(shared)));
      const set = (controller: string, file2: string, file1: string, value: string, unlimited1: string) => {
        const one = oneOf(controller);
        const [file, unlimited] = inTwo.includes(controller)
          ? [join(two as string, key, file2), 'max']
          : one !== null
            ? [join(one, key, file1), unlimited1]
            : [null, ''];
        // One that was made before may have a limit from then.
        if (file !== null) writeFileSync(file, value === '' ? unlimited : value);
      };
      const share = limits.processor === undefined ? '' : String(Math.round(limits.processor * period));
      const bytes = limits.memory === undefined ? '' : String(limits.memory * 1024 * 1024);
      set('memory', 'memory.max', 'memory.limit_in_bytes', bytes, '-1');
      set('pids', 'pids.max', 'pids.max', String(limits.processes ?? ''), 'max');
      try {
        if (shared === null || used.includes(shared)) set('cpu', 'cpu.max', 'cpu.cfs_quota_us', share, '-1');
      } catch (error) {
        // Version 1 refuses more than a group around ours has, whose limit holds anyway.
        if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
      }
      return folders;
    },
    hits(key) {
      const count = (controller: string, file2: string, file1: string, name: string) => {
        const folder = inTwo.includes(controller) ? two : oneOf(controller);
        if (folder === null) return 0;
        const said = text(join(folder, key, folder === two ? file2 : file1));
        return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(said)?.[1] ?? 0);
      };
      return {
        memory: count('memory', 'memory.events', 'memory.oom_control', 'oom_kill'),
        processes: count('pids', 'pids.events', 'pids.events', 'max'),
        processor: count('cpu', 'cpu.stat', 'cpu.stat', 'nr_throttled'),
      };
    },
    drop(key) {
      for (const root of roots) removeEmpty(join(root, key));
    },
    async freeze(key, uid) {
      const until = performance.now() + freezesWithin;
      if (two !== null) {
        const folder = join(two, key);
        writeFileSync(join(folder, 'cgroup.freeze'), '1');
        while (!text(join(folder, 'cgroup.events')).includes('frozen 1')) {
          if (performance.now() > until) throw new Error('It did not freeze in time.');
          await delay(1);
        }
      } else if (freezer !== null) {
        const file = join(freezer, key, 'freezer.state');
        writeFileSync(file, 'FROZEN');
        while (text(file) !== 'FROZEN') {
          if (performance.now() > until) throw new Error('It did not freeze in time.');
          await delay(1);
        }
      } else {
        // Processes forked in between are seen the next time.
        for (let round = 0; round < 3; round += 1) signal(key, uid, 'SIGSTOP');
      }
    },
    thaw,
    isFrozen(key, uid) {
      if (two !== null) return text(join(two, key, 'cgroup.freeze')) === '1';
      if (freezer !== null) return text(join(freezer, key, 'freezer.state')) !== 'THAWED';
      const [first] = processes(key, uid);
      return first !== undefined && readStat(first)?.state === 'T';
    },
    processes,
    async end(key, uid) {
      const until = performance.now() + endsWithin;
      if (two !== null) write(join(two, key, 'cgroup.kill'), '1');
      // A frozen group of version 1 takes no signal before it thaws.
      else thaw(key, uid);
      while (processes(key, uid).length > 0) {
        if (performance.now() > until) throw new Error('Some of its processes did not end.');
        signal(key, uid, 'SIGKILL');
        await delay(3);
      }
      for (const root of roots) await removeFolder(join(root, key), until);
    },
    keys() {
      const found = roots.flatMap((root) => (existsSync(root) ? readdirSync(root) : []));
      return [...new Set(found)].filter((each) =>
        roots.some((root) => statSync(join(root, each), { throwIfNoEntry: false })?.isDirectory() === true),
      );
    },
    remove() {
      for (const root of roots) removeEmpty(root);
    },
  };
}

const foldersIn = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory()).length;

/** The path of our own group. `controller` empty: in version 2. */
function pathIn(own: string, controller: string): string {
  for (const line of own.split('\n')) {
    const [, controllers = '', ...path] = line.split(':');
    if (controllers.split(',').includes(controller)) return path.join(':');
  }
  return '';
}

/** In version 2 a group that has processes, such as our own, gives its groups only what was switched on for them from above. */
function controllersFor(unified: string, isInner: boolean): string[] {
  if (!isInner) return words(join(unified, 'cgroup.controllers'));
  return isWritable(unified) ? words(join(unified, 'cgroup.subtree_control')) : [];
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
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

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It does not exist, or is still in use.
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
