/**
 * What a worker keeps on disk until the queue has taken it: the results and ends of its tasks. Each process has a folder of its own; the next worker
 * adopts the folders of processes that are gone. Must not know HTTP.
 */
import { hash, randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Clock, systemClock } from '../../kit/clock/clock.ts';
import { listWithin, readWithin } from '../../kit/files/within.ts';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';

const Report = z.strictObject({
  v: z.literal(1),
  taskId: z.string().min(1).max(200),
  verb: z.enum(['ack', 'stop']),
  /** As it was sent the first time: the queue answers the same report the same way, and refuses another one. */
  body: z.record(z.string(), z.unknown()),
  /** Says with which key it was written; another key may belong to somebody else. */
  key: z.string(),
  at: z.number(),
});
type Report = z.infer<typeof Report>;

export interface KeptReport {
  readonly report: Report;
  readonly file: string;
}

export interface Spool {
  readonly folder: string;
  /** On disk when this returns. Throws when the disk takes no more. */
  keep(report: Pick<Report, 'taskId' | 'verb' | 'body'>): KeptReport;
  /** Written with another key, for whose owner it may be valid: the queue tells nobody of somebody else's tasks. For a week. */
  isForeign(kept: KeptReport): boolean;
  /** The queue has answered. */
  remove(kept: KeptReport): void;
  /** What earlier processes left, oldest first, from now on kept by this one. `damaged` files were set aside. */
  adopt(): { readonly reports: KeptReport[]; readonly damaged: string[] };
  /** Removes the folders that it made, if nothing is left in them. */
  close(): void;
}

/** Larger than any result that the queue takes. */
const largestReport = 4 * 1024 * 1024;
const maxReports = 10_000;
const foreignRetentionMs = 7 * 24 * 60 * 60_000;

/** `root` is shared by all workers of one queue on this computer. Throws if it cannot be written to. */
export function openSpool(root: string, { key, clock = systemClock }: { key: string; clock?: Clock }): Spool {
  const mine = `${process.pid}-${randomBytes(6).toString('hex')}`;
  const folder = join(root, mine);
  // The topmost folder that was not there: the one who made it removes it again if nothing is kept.
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? folder;
  const keyMark = markOf(key);
  let last = 0;

  return {
    folder,
    keep({ taskId, verb, body }) {
      const at = clock.now();
      // In the order in which they were written, whatever the clock does.
      last = Math.max(last + 1, at);
      const report: Report = { v: 1, taskId, verb, body, key: keyMark, at };
      const file = join(folder, `${String(last).padStart(15, '0')}.json`);
      writePrivateFile(file, JSON.stringify(report));
      return { report, file };
    },
    isForeign: ({ report }) => report.key !== keyMark && clock.now() - report.at < foreignRetentionMs,
    remove: ({ file }) => rmSync(file, { force: true }),
    adopt() {
      for (const { name, isFolder } of listWithin(root, '.', maxReports).entries) {
        if (!isFolder || name === mine || isAlive(name)) continue;
        // Of several workers that start at once, one gets it.
        for (const { name: file } of listWithin(root, name, maxReports).entries) {
          if (file.endsWith('.json')) move(join(root, name, file), join(folder, `${file.slice(0, 15)}-${name}.json`));
        }
        removeIfEmpty(join(root, name));
      }
      const reports: KeptReport[] = [];
      const damaged: string[] = [];
      for (const { name } of listWithin(folder, '.', maxReports).entries) {
        if (!name.endsWith('.json')) continue;
        const file = join(folder, name);
        const report = read(folder, name);
        if (report !== null) reports.push({ report, file });
        else if (move(file, `${file.slice(0, -5)}.damaged`)) damaged.push(`${file.slice(0, -5)}.damaged`);
      }
      return { reports, damaged };
    },
    close() {
      for (let at = folder; at.startsWith(made); at = dirname(at)) removeIfEmpty(at);
    },
  };
}

function markOf(key: string): string {
  return hash('sha256', `worker spool:${key}`, 'hex').slice(0, 16);
}

function read(folder: string, name: string): Report | null {
  const found = readWithin(folder, name, largestReport);
  if (found.is !== 'file') return null;
  try {
    return Report.parse(JSON.parse(found.bytes.toString('utf8')));
  } catch {
    return null;
  }
}

/** A folder begins with the number of its process. Our own number in another folder's name is one of an earlier life of this number. */
function isAlive(name: string): boolean {
  const pid = Number(/^(\d+)-/.exec(name)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function move(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something is left in it, or another worker removed it.
  }
}
