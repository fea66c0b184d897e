/**
 * Finds all descendants of a process, and ends them. A program can leave its process group (setsid) or its parent (double fork), so descendants are
 * found by parent, group and session together, repeatedly while they are being ended. One that left all three before anybody looked is found by the
 * mark in its environment, if that can be read (Linux) and was kept. First user: run-process; second: the helper of hosted computers. POSIX reads
 * /proc or ps; Windows has taskkill.
 *
 * The pane host has its own version (`src/programs/pane-host/process-tree.ts`): it is a program without imports, and it ends terminals.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the computer's start; 0 if unknown. */
  readonly started: number;
}

/** Marks that only one tree has in its environment: a `NAME=value`, and when its root began (`startOf`), before which no process can belong to it. */
interface Mark {
  readonly text: string;
  readonly since: number;
}

/** Between TERM and KILL, where the caller says nothing else. */
const usualGraceMs = 500;
const lookEveryMs = 20;
/** A process in uninterruptible sleep, or another user's, cannot be waited for. */
const giveUpMs = 5000;

/**
 * Processes that belong to the tree of `root`, which leads its own group and session: itself, every process that shares either, and all their
 * descendants. Not looked up by pid: once `root` has ended, its number may be given to a stranger.
 */
export async function treeOf(
  root: number,
  known: ReadonlySet<number> = new Set(),
  mark: Mark | null = null,
): Promise<Set<number>> {
  const rows = await listProcesses();
  const tree = new Set(rows.filter((row) => row.group === root || row.session === root).map((row) => row.pid));
  if (mark !== null) {
    for (const row of rows) if (row.started >= mark.since && carries(row.pid, mark.text)) tree.add(row.pid);
  }
  for (const pid of known) tree.add(pid);
  // The order of parents and children is random: repeat until nothing is added.
  for (let size = -1; size !== tree.size; ) {
    size = tree.size;
    for (const row of rows) {
      if (tree.has(row.parent) || tree.has(row.group) || tree.has(row.session)) tree.add(row.pid);
    }
  }
  const alive = new Set(rows.map((row) => row.pid));
  return new Set([...tree].filter((pid) => alive.has(pid)));
}

async function listProcesses(): Promise<ProcessRow[]> {
  if (process.platform === 'linux') return linuxProcesses();
  // macOS's ps prints no session id: the group stands for it.
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,pgid=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent, group] = line.trim().split(/\s+/).map(Number) as [number, number, number];
      return { pid, parent, group, session: group, started: 0 };
    });
}

function linuxProcesses(): ProcessRow[] {
  return processIds().flatMap((pid) => {
    // It may have ended between the listing and the reading.
    const found = readStat(pid);
    return found === null || found.state === 'Z' ? [] : [found];
  });
}

/** All processes, on Linux. */
export function processIds(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

interface ProcessStat extends ProcessRow {
  /** One letter, Z for a process of which only the exit code is left. */
  readonly state: string;
  readonly name: string;
  /** Processor time used, in the computer's ticks. */
  readonly ticks: number;
}

/** A process as Linux reports it; null if there is none. */
export function readStat(pid: number): ProcessStat | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The program's name is in brackets and may contain spaces and brackets itself.
  const end = stat.lastIndexOf(')');
  const name = stat.slice(stat.indexOf('(') + 1, end);
  const fields = stat.slice(end + 2).split(' ');
  const [parent, group, session] = fields.slice(1, 4).map(Number) as [number, number, number];
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { pid, state: fields[0] as string, name, parent, group, session, started: Number(fields[19]), ticks };
}

/** When a process began, in the computer's ticks; 0 (before everybody) if unknown. Also works for one that has just ended. */
export const startOf = (pid: number): number => readStat(pid)?.started ?? 0;

/** Whether the environment that the process was started with has this `NAME=value`. Other users' environments cannot be read. */
function carries(pid: number, mark: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
  } catch {
    return false;
  }
}

/**
 * Ends the tree of `root`, started as leader of its own group: TERM, after `graceMs` KILL until nobody is left. Idempotent.
 */
export async function endTree(root: number, mark: Mark | null = null, graceMs = usualGraceMs): Promise<void> {
  if (process.platform === 'win32') {
    await run('taskkill', ['/pid', String(root), '/T', '/F']).catch(() => {});
    return;
  }
  let tree = await treeOf(root, new Set(), mark);
  for (const pid of tree) signal(pid, 'SIGTERM');
  const end = performance.now() + graceMs;
  while (tree.size > 0 && performance.now() < end) {
    await delay(lookEveryMs);
    tree = await treeOf(root, tree, mark);
  }
  while (tree.size > 0 && performance.now() < end + giveUpMs) {
    for (const pid of tree) signal(pid, 'SIGKILL');
    await delay(lookEveryMs);
    tree = await treeOf(root, tree, mark);
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already, or not ours.
  }
}
