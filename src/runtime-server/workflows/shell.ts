/**
 * Commands of nodes as processes: started in the workspace, in a separate process group, printing into a file that outlives us. Owns processes and
 * their files; must not know runs. A process is never restarted automatically.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { endTree, startOf } from '../../kit/process/process-tree.ts';
import { asidePipes, feedAsides } from '../../kit/process/run-process.ts';
import { killAfterMs, maxOutputLength } from './model.ts';

export interface ShellJob {
  /** Unique among the jobs that run: names the file it prints into and marks its processes. */
  readonly key: string;
  readonly text: string;
  /** Null: the workspace. */
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** How to run it other than as the person, called once its turn has come. It may take its time. */
  readonly place?: ((signal: AbortSignal) => Promise<Placement>) | undefined;
}

interface Placement {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Given to its descriptors 3, 4 and so on. */
  readonly asides?: readonly (string | Uint8Array)[] | undefined;
  /** Printed above its output. */
  readonly preface: string;
  /** Called when it has ended or could not be started. The returned text follows its output. */
  settle(end: { readonly code: number | null }): Promise<string>;
}

export type ShellEnd =
  | { readonly kind: 'cannot_start'; readonly why: string }
  | {
      readonly kind: 'ended';
      readonly code: number | null;
      readonly signal: string | null;
      /** Why we ended it ourselves. */
      readonly stopped: StopReason | null;
      /** The last characters that it printed, without the last line feed. */
      readonly output: string;
      /** Its output file, still open: the receiver of the end keeps or closes it. */
      readonly log: { readonly file: string; readonly handle: number };
    };

export type StopReason = 'timed_out' | 'cancelled' | 'output_too_large' | 'closing';

export interface Shell {
  start(job: ShellJob, onEnd: (end: ShellEnd) => void): void;
  /** Asks the job's processes to end and kills them when they do not. Nothing happens when it does not run. */
  stop(key: string, reason: StopReason): void;
  /** Bytes that the job printed; null while it has no process. */
  printed(key: string): number | null;
  /** Processes of these jobs that an earlier run of this program left behind. */
  leftovers(keys: readonly string[]): number[];
  /** Ends the jobs and waits for their end, at most `graceMs`. Their ends are not reported. */
  close(graceMs: number): Promise<void>;
}

/** The most output of a job, bytes: more is a mistake, and the disk is shared. */
export const maxPrinted = 25 * 1024 * 1024;
const sizeCheckMs = 1000;
const mark = 'GANTRY_JOB';

interface Running {
  readonly child: ChildProcess;
  readonly handle: number;
  stopped: StopReason | null;
  cancelKill: () => void;
}

/** Nothing ran in it: closes its resources and ignores errors from that. */
const letGo = (place: Placement): Promise<unknown> => place.settle({ code: null }).catch(() => {});

export function createShell(deps: {
  readonly workspace: string;
  /** Where running jobs print. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timers: Timers;
}): Shell {
  const running = new Map<string, Running>();
  /** Jobs without a process yet. */
  const placing = new Map<string, { stopped: StopReason | null; readonly abort: AbortController }>();
  let cancelCheck: (() => void) | null = null;
  let onEmpty = () => {};
  let closing = false;
  mkdirSync(deps.folder, { recursive: true, mode: 0o700 });
  const base = Object.fromEntries(Object.entries(deps.env).filter(([name]) => !name.startsWith('GANTRY_')));

  function start(job: ShellJob, onEnd: (end: ShellEnd) => void): void {
    const cwd = job.cwd ?? deps.workspace;
    if (!existsSync(cwd)) {
      onEnd({ kind: 'cannot_start', why: `Its folder ${cwd} is gone.` });
      return;
    }
    if (job.place === undefined) {
      const env = { ...base, GANTRY_WORKSPACE: deps.workspace, ...job.env };
      const command: [string, ...string[]] = ['/bin/sh', '-c', job.text];
      launch(job, { command, cwd, env, preface: '', settle: async () => '' }, onEnd);
      return;
    }
    const entry = { stopped: null as StopReason | null, abort: new AbortController() };
    placing.set(job.key, entry);
    const cannot = (why: string) => {
      placing.delete(job.key);
      if (!closing) onEnd({ kind: 'cannot_start', why });
    };
    job.place(entry.abort.signal).then(
      async (place) => {
        if (entry.stopped === null && !closing) {
          placing.delete(job.key);
          launch(job, place, onEnd);
          return;
        }
        await letGo(place);
        cannot('The run was stopped before it started.');
      },
      (error: unknown) => cannot(error instanceof AppError ? `${error.fact} ${error.action}` : String(error)),
    );
  }

  function launch(job: ShellJob, place: Placement, onEnd: (end: ShellEnd) => void): void {
    const file = join(deps.folder, `${job.key}.log`);
    let handle: number;
    let child: ChildProcess;
    try {
      // A new file: one that a bot put under its name is neither followed nor written to.
      rmSync(file, { force: true });
      handle = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND, 0o600);
    } catch (error) {
      letGo(place);
      onEnd({ kind: 'cannot_start', why: (error as Error).message });
      return;
    }
    const refuse = (error: unknown) => {
      closeSync(handle);
      rmSync(file, { force: true });
      letGo(place);
      onEnd({ kind: 'cannot_start', why: (error as Error).message });
    };
    try {
      writeSync(handle, place.preface);
      const [program, ...argv] = place.command;
      child = spawn(program, argv, {
        cwd: place.cwd,
        env: { ...place.env, [mark]: job.key },
        stdio: ['ignore', handle, handle, ...asidePipes(place.asides)],
        detached: true,
      });
      feedAsides(child, place.asides);
    } catch (error) {
      refuse(error);
      return;
    }
    // Read at once: its row exists until Node hears of its end.
    const ours = { text: `${mark}=${job.key}`, since: child.pid === undefined ? 0 : startOf(child.pid) };
    const entry: Running = { child, handle, stopped: null, cancelKill: () => {} };
    running.set(job.key, entry);
    cancelCheck ??= deps.timers.after(sizeCheckMs, checkSizes);
    let told = false;
    const leave = (): boolean => {
      if (told) return false;
      told = true;
      entry.cancelKill();
      running.delete(job.key);
      if (running.size === 0) onEmpty();
      return true;
    };
    child.once('error', (error) => {
      if (leave()) refuse(error);
    });
    child.once('exit', (code, signal) => {
      if (!leave()) return;
      // What it left behind of its group would outlive us.
      if (closing) signalGroup(child, 'SIGKILL');
      const done = (told: string) => {
        if (closing) {
          closeSync(handle);
          return;
        }
        if (told !== '') writeSync(handle, told);
        onEnd({ kind: 'ended', code, signal, stopped: entry.stopped, output: lastOf(handle), log: { file, handle } });
      };
      // A job that was stopped has ended when the last of its processes has, also one that ignores TERM.
      const gone = entry.stopped === null ? Promise.resolve() : endTree(child.pid as number, ours, killAfterMs);
      const settle = () => place.settle({ code });
      void gone.then(settle, settle).then(done, (error: unknown) => done(`${String(error)}\n`));
    });
  }

  function stop(key: string, reason: StopReason): void {
    const waits = placing.get(key);
    if (waits !== undefined) {
      waits.stopped = reason;
      waits.abort.abort();
    }
    const entry = running.get(key);
    if (entry === undefined || entry.stopped !== null) return;
    entry.stopped = reason;
    signalGroup(entry.child, 'SIGTERM');
    entry.cancelKill = deps.timers.after(killAfterMs, () => signalGroup(entry.child, 'SIGKILL'));
  }

  function checkSizes(): void {
    cancelCheck = null;
    for (const [key, entry] of running) {
      if (fstatSync(entry.handle).size > maxPrinted) stop(key, 'output_too_large');
    }
    if (running.size > 0) cancelCheck = deps.timers.after(sizeCheckMs, checkSizes);
  }

  return {
    start,
    stop,
    printed(key) {
      const entry = running.get(key);
      return entry === undefined ? null : fstatSync(entry.handle).size;
    },
    leftovers: (keys) => leftovers(new Set(keys)),
    async close(graceMs) {
      closing = true;
      for (const one of placing.values()) one.abort.abort();
      cancelCheck?.();
      if (running.size === 0) return;
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
      for (const entry of running.values()) {
        entry.cancelKill();
        signalGroup(entry.child, 'SIGTERM');
      }
      let cancelKill = () => {};
      const killed = new Promise<void>((resolve) => {
        cancelKill = deps.timers.after(graceMs, () => {
          for (const entry of running.values()) signalGroup(entry.child, 'SIGKILL');
          resolve();
        });
      });
      await Promise.race([empty, killed]);
      cancelKill();
    },
  };
}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended in this moment.
  }
}

function lastOf(handle: number): string {
  const { size } = fstatSync(handle);
  if (size === 0) return '';
  const from = Math.max(0, size - maxOutputLength);
  const bytes = Buffer.allocUnsafe(size - from);
  const read = readSync(handle, bytes, 0, bytes.length, from);
  return bytes
    .toString('utf8', 0, read)
    .replace(/\r?\n$/, '')
    .replaceAll('\0', '');
}

/** Marked processes, by the environment that the system shows. Only where it does (Linux). */
function leftovers(keys: ReadonlySet<string>): number[] {
  if (keys.size === 0 || process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const found = readFileSync(`/proc/${name}/environ`, 'latin1')
        .split('\0')
        .find((entry) => entry.startsWith(`${mark}=`));
      return found !== undefined && keys.has(found.slice(mark.length + 1)) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
