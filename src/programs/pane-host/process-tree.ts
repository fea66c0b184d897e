/**
 * Ends a pane's program with everything it started: process group, terminal session, descendants, and what has left all of
 * these but still carries the pane's mark in its environment. A process is always named by pid *and* start time, so that a
 * number used again is never hit. It knows nothing of panes but that mark. The rest of Gantry has another (`src/kit/process/process-tree.ts`):
 * the pane host imports nothing, and a terminal is hung up and continued, where a command is only ended.
 */
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Set in each pane's environment to the path of its record; daemons that left the session are found by it. */
export const paneMark = 'GANTRY_PANE_RECORD';

/** Time for a program to put its house in order after TERM: agents print how to resume and reset the terminal in 0.3–0.7 s. */
const graceMs = 1500;
const rescanMs = 50;
/** An interactive shell ignores TERM but leaves when its terminal hangs up; what heeds TERM at once never sees the HUP. */
const hangUpMs = 200;
/** Rounds of KILL: a process forked between scan and signal is met in the next one. */
const killRounds = 60;

interface Proc {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since boot on Linux, a date elsewhere; only equality means anything. */
  readonly started: string;
  readonly state: string;
  /** Of its environment; read when it is first asked for. */
  mark?: string | null;
}

/** Tells this process from a later one with the same number; null when there is no such process. */
export function startOf(pid: number): string | null {
  if (process.platform === 'linux') return readProc(pid)?.started ?? null;
  if (process.platform === 'win32') return pidExists(pid) ? 'unknown' : null;
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim().replace(/\s+/g, ' ') || null;
}

/** Whether that very process still runs; one that has ended and waits for its parent does not. */
export function processLives(pid: number, started: string | null): boolean {
  if (process.platform !== 'linux') return startOf(pid) === started;
  const found = readProc(pid);
  return found !== null && found.state !== 'Z' && found.started === started;
}

/** Resolves when nothing of it is left, or with the number of processes that would not go. */
export async function endTree(
  root: { readonly pid: number; readonly started: string | null },
  mark: string,
): Promise<number> {
  // A terminal of Windows takes its programs with it; what is left of one that ended cannot be told from others.
  if (process.platform === 'win32') return root.started === null ? 0 : endWindowsTree(root.pid);
  const known = new Map<number, Proc>();
  const deadline = performance.now() + graceMs;
  const told = new Map<number, number>();
  const hungUp = new Set<number>();
  for (;;) {
    const left = await remaining(root, mark, known);
    if (left.length === 0) return 0;
    const now = performance.now();
    for (const proc of left) {
      const since = told.get(proc.pid);
      if (since === undefined) {
        told.set(proc.pid, now);
        signal(proc, 'SIGTERM');
        // A stopped process handles TERM only once it continues.
        signal(proc, 'SIGCONT');
      } else if (proc.session === proc.pid && now - since >= hangUpMs && !hungUp.has(proc.pid)) {
        hungUp.add(proc.pid);
        signal(proc, 'SIGHUP');
      }
    }
    if (performance.now() >= deadline) break;
    await sleep(rescanMs);
  }
  for (let round = 0; round < killRounds; round++) {
    const left = await remaining(root, mark, known);
    if (left.length === 0) return 0;
    for (const proc of left) signal(proc, 'SIGKILL');
    await sleep(round < 10 ? 10 : rescanMs);
  }
  return (await remaining(root, mark, known)).length;
}

/** Processes of the tree that live. `known` grows: who was once seen below the root stays ours when its parent dies. */
async function remaining(
  root: { readonly pid: number; readonly started: string | null },
  mark: string,
  known: Map<number, Proc>,
): Promise<Proc[]> {
  const all = await listProcs();
  const byPid = new Map(all.map((proc) => [proc.pid, proc]));
  for (const [pid, proc] of known) {
    if (byPid.get(pid)?.started !== proc.started) known.delete(pid);
  }
  const rootLives = byPid.get(root.pid)?.started === root.started;
  let grew = true;
  const take = (proc: Proc): void => {
    if (known.has(proc.pid) || proc.pid === process.pid) return;
    known.set(proc.pid, proc);
    grew = true;
  };
  for (const proc of all) {
    // Group and session carry the root's number: ours only while the root lives or somebody known is in them.
    if (rootLives && (proc.pid === root.pid || proc.group === root.pid || proc.session === root.pid)) take(proc);
    else if (!known.has(proc.pid) && markOf(proc) === mark) take(proc);
  }
  while (grew) {
    grew = false;
    for (const proc of all) if (known.has(proc.parent)) take(proc);
  }
  return [...known.values()].filter((proc) => byPid.get(proc.pid)?.state !== 'Z');
}

function signal(proc: Proc, name: NodeJS.Signals): void {
  if (startOf(proc.pid) !== proc.started) return;
  try {
    process.kill(proc.pid, name);
  } catch {
    // Gone in the meantime, or no longer ours to signal: the next scan says which.
  }
}

/** Many trees are ended at once when a host ends: they look at one list, for as long as a scan is apart from the next. */
let listed: { readonly at: number; readonly procs: Promise<readonly Proc[]> } | null = null;
const listedMs = 8;

function listProcs(): Promise<readonly Proc[]> {
  if (!listed || performance.now() - listed.at > listedMs) {
    const procs = process.platform === 'linux' ? Promise.resolve(readProcs()) : listByPs();
    // From its end: a long list must not be old when it is there.
    listed = { at: performance.now(), procs };
  }
  return listed.procs;
}

function readProcs(): Proc[] {
  const found: Proc[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const proc = readProc(pid);
    if (proc) found.push(proc);
  }
  return found;
}

function readProc(pid: number): Proc | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in brackets may hold anything, brackets and spaces too.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = '', parent, group, session] = fields;
    return {
      pid,
      state,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      started: fields[19] ?? '',
    };
  } catch {
    return null;
  }
}

function markOf(proc: Proc): string | null {
  if (proc.mark !== undefined) return proc.mark;
  proc.mark = null;
  if (process.platform !== 'linux') return null;
  try {
    const environ = readFileSync(`/proc/${proc.pid}/environ`, 'latin1');
    proc.mark =
      environ
        .split('\0')
        .find((line) => line.startsWith(`${paneMark}=`))
        ?.slice(paneMark.length + 1) ?? null;
  } catch {
    // Gone, or another user's.
  }
  return proc.mark;
}

function listByPs(): Promise<Proc[]> {
  const columns = 'pid=,ppid=,pgid=,sess=,stat=,lstart=';
  return new Promise((resolve) => {
    execFile('ps', ['-axo', columns], (_error, stdout) => {
      const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
      const procs = rows.map(([pid, parent, group, session, state = '', ...started]) => ({
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: Number(session),
        state: state.slice(0, 1),
        started: started.join(' '),
      }));
      resolve(procs.filter((proc) => proc.pid > 0));
    });
  });
}

function endWindowsTree(pid: number): Promise<number> {
  return new Promise((resolve) => {
    execFile('taskkill', ['/PID', String(pid), '/T', '/F'], () => resolve(pidExists(pid) ? 1 : 0));
  });
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
