/**
 * How much was added to the folders that a sandbox may write, and which of its processes still write. No limit of the kernel covers a few folders, so
 * they are looked at. Linux only. Must not know what runs.
 */
import { constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { startOf, treeOf } from '../process/process-tree.ts';
import { plainEnvironment, runProcess } from '../process/run-process.ts';
import { end } from './watch.ts';

/** What a sandbox may write, and how much lay there before. */
export interface Disk {
  readonly folders: readonly string[];
  /** Bytes; null where nobody knows: then it counts from the first look. */
  readonly before: number | null;
}

export interface DiskWatch {
  /** Ends what still writes over the limit. Returns how often it was enforced: when it is first found over, and for each process that was ended. */
  look(): Promise<number>;
}

interface Written {
  /** Bytes by threads that still run. */
  readonly own: number;
  /** With what its children had written that have ended. */
  readonly all: number;
  /** As `all`, but what went to pipes and terminals counts too. */
  readonly anywhere: number;
}

interface Over {
  readonly added: number;
  readonly at: number;
  readonly written: ReadonlyMap<number, Written>;
  /** How many processes were ended. */
  readonly ended: number;
}

const mebibyte = 1024 * 1024;
/** Milliseconds. */
const measuresWithin = 30_000;
/** Files that others remove hide what is added, so it is measured this often at least. */
const measuresEvery = 60_000;
/** Times as long as the shorter of the last two measurements took: a burst of other work makes one long, and what fills the disk goes on. */
const restsFor = 3;
/** Between the two readings of a first look, which has no earlier one to compare with. */
const readsAfter = 250;
/** Bytes for each millisecond: what a program notes of its work is less. */
const writesFrom = (512 * 1024) / 1000;

/** Bytes on the disk; a file that has several names counts once. Throws where it takes too long. */
export async function sizeOf(folders: readonly string[]): Promise<number> {
  if (folders.length === 0) return 0;
  const { stdout, ended } = await runProcess({
    command: ['du', '-skD', '--', ...folders],
    env: plainEnvironment(),
    deadlineMs: measuresWithin,
  });
  if (ended !== null) throw new Error(`The size of ${folders.join(', ')} could not be measured in time.`);
  // What ends meanwhile, or may not be read, is left out.
  return [...stdout.matchAll(/^(\d+)\t/gm)].reduce((sum, [, size]) => sum + Number(size) * 1024, 0);
}

/** `root`: leads the session of what runs in the sandbox, and is never ended. `limit`: mebibytes. `now`: milliseconds. */
export function createDiskWatch({
  root,
  disk: { folders, before },
  limit,
  now,
}: {
  readonly root: number;
  readonly disk: Disk;
  readonly limit: number;
  readonly now: () => number;
}): DiskWatch {
  let measured: { readonly added: number; readonly free: number; readonly at: number; readonly took: number } | null =
    null;
  let rest = 0;
  let start = before;
  /** Of the last look that found too much. */
  let over: Over | null = null;

  /** Nothing is measured while even all that the disk has lost would not be too much: to measure takes long where there are many files. */
  async function addedNow(): Promise<number> {
    const free = await freeFor(folders);
    if (measured !== null) {
      const since = now() - measured.at;
      const couldBe = measured.added + Math.max(0, measured.free - free);
      const isDue = over !== null || couldBe > limit * mebibyte || since > measuresEvery;
      if (!isDue || since < rest) return measured.added;
    }
    const began = now();
    const size = await sizeOf(folders);
    start ??= size;
    const took = now() - began;
    rest = restsFor * Math.min(took, measured?.took ?? took);
    measured = { added: size - start, free, at: now(), took };
    return measured.added;
  }

  return {
    async look() {
      const added = await addedNow();
      if (added <= limit * mebibyte) {
        over = null;
        return 0;
      }
      const last: Over = over ?? { added, at: now(), written: await writtenBy(root), ended: 0 };
      if (over === null) await delay(readsAfter);
      const written = await writtenBy(root);
      // What was ended may have written until then.
      const isGrowing = last.ended === 0 && added - last.added > mebibyte;
      const writing = writersAmong(
        written,
        last.written,
        Math.max(readsAfter, now() - last.at) * writesFrom,
        isGrowing ? disksOf(folders) : null,
      );
      const isFirst = over === null;
      const ended = writing.filter(end).length;
      over = { added, at: now(), written, ended };
      return ended + (isFirst ? 1 : 0);
    },
  };
}

/**
 * Processes that write themselves. While it grows and none does, what started those that ended since the last look. On some disks (tmpfs, virtiofs) the
 * kernel counts no writes; there, processes that write anything and have a file open on that disk. Else the newest process, because space can be taken
 * without writing. `growing`: the disks (`dev`) of what grows; null while it does not.
 */
function writersAmong(
  now: ReadonlyMap<number, Written>,
  before: ReadonlyMap<number, Written>,
  from: number,
  growing: ReadonlySet<number> | null,
): readonly number[] {
  const since = (what: keyof Written) =>
    [...now].flatMap(([pid, written]) => (written[what] - (before.get(pid)?.[what] ?? 0) >= from ? [pid] : []));
  const writing = since('own');
  if (writing.length > 0 || growing === null) return writing;
  const newestOf = (pids: readonly number[]) => pids.toSorted((a, b) => startOf(b) - startOf(a)).slice(0, 1);
  const left = since('all');
  if (left.length > 0) return newestOf(left);
  const withFile = since('anywhere').filter((pid) => writesOn(pid, growing));
  return withFile.length > 0 ? withFile : newestOf([...now.keys()]);
}

async function writtenBy(root: number): Promise<ReadonlyMap<number, Written>> {
  const tree = [...(await treeOf(root))].filter((pid) => pid !== root);
  return new Map(
    tree.map((pid) => {
      const io = `/proc/${pid}/io`;
      return [pid, { own: ownOf(pid), all: bytesIn(io), anywhere: bytesIn(io, 'wchar') }];
    }),
  );
}

function ownOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + bytesIn(`/proc/${pid}/task/${thread}/io`), 0);
  } catch {
    return 0;
  }
}

/** Zero where it has ended, or where this kernel does not count. */
function bytesIn(file: string, what: 'write_bytes' | 'wchar' = 'write_bytes'): number {
  try {
    const [, bytes] = new RegExp(`^${what}: (\\d+)$`, 'm').exec(readFileSync(file, 'latin1')) ?? [];
    return Number(bytes ?? 0);
  } catch {
    return 0;
  }
}

function disksOf(folders: readonly string[]): ReadonlySet<number> {
  return new Set(folders.flatMap((folder) => statSync(folder, { throwIfNoEntry: false })?.dev ?? []));
}

/** Whether a process has a file on one of these disks open for writing. Asked by disk, as its paths are those of its sandbox. */
function writesOn(pid: number, disks: ReadonlySet<number>): boolean {
  const isWritten = (descriptor: string) => {
    const file = statSync(`/proc/${pid}/fd/${descriptor}`);
    if (!file.isFile() || !disks.has(file.dev)) return false;
    const [, flags] = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'latin1')) ?? [];
    return (Number.parseInt(flags ?? '0', 8) & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
  };
  try {
    return readdirSync(`/proc/${pid}/fd`).some((descriptor) => {
      try {
        return isWritten(descriptor);
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}

/** Bytes left on the disks of these folders together. */
async function freeFor(folders: readonly string[]): Promise<number> {
  const byDisk = new Map<number, number>();
  for (const folder of folders) {
    try {
      const { dev } = await stat(folder);
      if (byDisk.has(dev)) continue;
      const { bavail, bsize } = await statfs(folder);
      byDisk.set(dev, bavail * bsize);
    } catch {
      // It is gone.
    }
  }
  return [...byDisk.values()].reduce((sum, free) => sum + free, 0);
}
