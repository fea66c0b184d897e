/**
 * Runs a child to its end: argv only, own process group, capped output, deadline, and no process left behind. First users: version checks of
 * harnesses and git; second: commands that prove a step. Never a shell string.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { endTree, startOf } from './process-tree.ts';

export interface RunOptions {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  /** The whole environment of the child; default: only PATH, HOME, LANG and the temporary folder. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its stdin, which is then closed. */
  readonly input?: string | Uint8Array;
  /** Written to its descriptors 3, 4 and so on, which are then closed: for secrets that must not be in its argv or its environment. */
  readonly asides?: readonly (string | Uint8Array)[];
  /** Milliseconds; then the whole tree is ended. */
  readonly deadlineMs: number;
  /** Bytes kept of each stream; the rest is read and dropped. Default 1 MiB. */
  readonly outputCap?: number;
  /** Told what it prints on stderr, as it comes; a character may be cut at an end. */
  readonly onStderr?: ((text: string) => void) | undefined;
  readonly signal?: AbortSignal;
}

export interface RunResult {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The end of each stream, even if earlier output was dropped; at most 4 KiB. */
  readonly last: { readonly stdout: string; readonly stderr: string };
  /** Some output was dropped. */
  readonly truncated: boolean;
  /** Why we ended it, or null if it ended on its own. */
  readonly ended: 'deadline' | 'aborted' | null;
}

const defaultCap = 1024 * 1024;
const lastBytes = 4096;
/** Marks a run's processes, so that those that left its tree are found when it is ended. */
export const markName = 'GANTRY_PROCESS_RECORD';
/** Pipes close with the last process that holds them. */
export const pipesMs = 2000;

/** The few variables that any program may see. The rest of our environment may hold secrets. */
export function plainEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const names = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'USERPROFILE', 'SystemRoot', 'TEMP', 'PATHEXT'];
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

/**
 * Resolves when the child has ended and none of its processes is left, also after the deadline. Fails with `usage` if the program cannot be started;
 * a failing exit code is a result, not an error.
 */
export async function runProcess(options: RunOptions): Promise<RunResult> {
  options.signal?.throwIfAborted();
  const id = randomUUID();
  const { child, started } = await start(options, id);
  // Only processes that began since then can belong to it: the others' environments are not read, which would cost the most.
  const mark = { text: `${markName}=${id}`, since: started };
  const stdout = collectOutput(child.stdout, options.outputCap ?? defaultCap);
  const stderr = collectOutput(child.stderr, options.outputCap ?? defaultCap);
  const { onStderr } = options;
  if (onStderr !== undefined) child.stderr?.on('data', (chunk: Buffer) => onStderr(chunk.toString('utf8')));
  feed(child.stdin, options.input);
  feedAsides(child, options.asides);

  let ended: RunResult['ended'] = null;
  const exit = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const stop = (why: 'deadline' | 'aborted') => {
    ended ??= why;
    void endTree(child.pid as number, mark);
  };
  const timer = setTimeout(stop, options.deadlineMs, 'deadline');
  const abort = () => stop('aborted');
  options.signal?.addEventListener('abort', abort, { once: true });
  const { code, signal } = await exit;
  clearTimeout(timer);
  options.signal?.removeEventListener('abort', abort);

  // Background processes would live on, and keep our pipes open.
  await endTree(child.pid as number, mark);
  // A process that escaped must not block us through the pipes that it inherited.
  await Promise.race([Promise.all([stdout.end(), stderr.end()]), delay(pipesMs, undefined, { ref: false })]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return {
    exitCode: code,
    exitSignal: signal,
    stdout: stdout.text(),
    stderr: stderr.text(),
    last: { stdout: stdout.last(), stderr: stderr.last() },
    truncated: stdout.truncated() || stderr.truncated(),
    ended,
  };
}

function start(options: RunOptions, id: string): Promise<{ child: ChildProcess; started: number }> {
  const [program, ...argv] = options.command;
  const env = { ...(options.env ?? plainEnvironment()), [markName]: id };
  // `detached`: leader of its own group and session, so that all of it can be found and ended.
  const child = spawn(program, argv, {
    cwd: options.cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe', ...asidePipes(options.asides)],
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  // Read before Node hears of its end: until then its row exists, whatever became of it.
  const started = child.pid === undefined ? 0 : startOf(child.pid);
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve({ child, started }));
    child.once('error', (cause) => {
      const why = (cause as NodeJS.ErrnoException).code ?? cause.message;
      reject(
        new AppError('usage', `${program} could not be started (${why}).`, 'Check that it is installed and in PATH.', {
          cause,
        }),
      );
    });
  });
}

/** For `stdio` of a child, from descriptor 3 on. */
export function asidePipes(asides: RunOptions['asides']): 'pipe'[] {
  return (asides ?? []).map(() => 'pipe');
}

export function feedAsides(child: ChildProcess, asides: RunOptions['asides']): void {
  for (const [index, text] of (asides ?? []).entries()) feed(child.stdio[3 + index] as Writable | undefined, text);
}

function feed(pipe: Writable | null | undefined, input: string | Uint8Array | undefined): void {
  // A child that does not read its input closes the pipe, which is allowed.
  pipe?.on('error', () => {});
  pipe?.end(input ?? '');
}

/** Keeps the first `cap` bytes of a stream, and its last ones, and reads on, so that the child never waits for us. */
export function collectOutput(stream: NodeJS.ReadableStream | null, cap: number) {
  const chunks: Buffer[] = [];
  let kept = 0;
  let dropped = false;
  let last = Buffer.alloc(0);
  stream?.on('data', (chunk: Buffer) => {
    last = Buffer.concat([last, chunk.subarray(-lastBytes)]).subarray(-lastBytes);
    const part = chunk.subarray(0, cap - kept);
    dropped ||= part.length < chunk.length;
    kept += part.length;
    if (part.length > 0) chunks.push(part);
  });
  const closed = new Promise<void>((resolve) => {
    if (stream === null) resolve();
    stream?.once('close', resolve);
  });
  return {
    end: () => closed,
    text: () => Buffer.concat(chunks).toString('utf8'),
    // It may begin in the middle of a character.
    last: () => last.toString('utf8').replace(/^\uFFFD+/, ''),
    truncated: () => dropped,
  };
}
