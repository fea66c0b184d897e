/**
 * Finds the process that has a harness's conversation open. Sure: it names the conversation in its arguments, holds its file, or the harness wrote
 * its number down. Likely: the harness has run in that folder since before the last use of its latest conversation there. Reads /proc; elsewhere
 * `ps`, which shows no folder, so that only the sure ones are found. Must not end anything.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { type Adoptable, adoptable } from '../../../contracts/factory/adopt-routes.ts';
import { programs } from '../../harness/programs.ts';
import type { Kept } from './stored-sessions.ts';

const run = promisify(execFile);

/** Start times are in seconds since boot, and clocks are adjusted. */
export const clockMs = 2000;

export interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly harness: Adoptable;
  readonly args: readonly string[];
  /** null where unknown. */
  readonly cwd: string | null;
  /** Milliseconds since the epoch. */
  readonly since: number | null;
  /** Conversation files that it holds open. */
  readonly files: readonly string[];
}

const runtimes = /^(node|nodejs|bun|deno|sh|bash|dash)(\.exe)?$/;

/** Processes of harnesses that this person runs. */
export async function runningHarnesses(): Promise<Running[]> {
  return process.platform === 'linux' ? fromProc() : fromPs();
}

export function openBy(session: Kept, running: readonly Running[], others: readonly Kept[]) {
  const mine = running.filter(({ harness }) => harness === session.harness);
  const sure = mine.find(
    ({ pid, args, files, since }) =>
      (pid === session.pid && (since === null || since <= (session.pidWritten ?? since) + clockMs)) ||
      args.includes(session.id) ||
      (session.file !== null && files.includes(session.file)),
  );
  if (sure) return { pid: sure.pid, sure: true };
  const newer = (other: Kept) =>
    other.harness === session.harness && other.cwd === session.cwd && other.lastUsed > session.lastUsed;
  if (others.some(newer)) return null;
  // One that was started for another conversation by its name has that one.
  const likely = mine.find(
    ({ cwd, since, args }) =>
      cwd === session.cwd &&
      since !== null &&
      since <= session.lastUsed &&
      !others.some(({ id }) => id !== session.id && args.includes(id)),
  );
  return likely === undefined ? null : { pid: likely.pid, sure: false };
}

export function harnessOf(args: readonly string[]): Adoptable | null {
  const [program = '', ...words] = args;
  // The program itself, or the script that Node or a shell runs: a word after an editor is a file of that name.
  const script = words.find((word) => !word.startsWith('-')) ?? '';
  const file = runtimes.test(basename(program)) && script.includes('/') ? script : program;
  return adoptable.find((harness) => programs[harness].conversations.process.test(basename(file))) ?? null;
}

function fromProc(): Running[] {
  const found: Running[] = [];
  const booted = Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? 0) * 1000;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    try {
      const folder = `/proc/${pid}`;
      if (statSync(folder).uid !== process.getuid?.()) continue;
      const args = readFileSync(`${folder}/cmdline`, 'utf8').split('\0').filter(Boolean);
      const harness = harnessOf(args);
      if (harness === null) continue;
      // Behind the name in brackets, which may hold anything: state, parent, …, start in hundredths since boot.
      const stat = readFileSync(`${folder}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      const since = booted + Number(stat[19]) * 10;
      const cwd = readlinkSync(`${folder}/cwd`);
      found.push({ pid, parent: Number(stat[1]), harness, args, cwd, since, files: heldBy(folder) });
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return found;
}

function heldBy(folder: string): string[] {
  return readdirSync(`${folder}/fd`).flatMap((fd) => {
    try {
      const file = readlinkSync(`${folder}/fd/${fd}`);
      return file.endsWith('.jsonl') ? [file] : [];
    } catch {
      return [];
    }
  });
}

async function fromPs(): Promise<Running[]> {
  const { stdout } = await run('ps', ['-x', '-o', 'pid=,ppid=,args=']).catch(() => ({ stdout: '' }));
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, words] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    const args = words?.split(' ') ?? [];
    const harness = harnessOf(args);
    if (harness === null) return [];
    return [{ pid: Number(pid), parent: Number(parent), harness, args, cwd: null, since: null, files: [] }];
  });
}
