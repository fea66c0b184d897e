/**
 * A child that we talk with for as long as we live, and that does not outlive us: its own process group, a plain environment, streams in both
 * directions, the last lines of its stderr. First user: attached tool servers; second: none yet. Never a shell string: the shell below gets the
 * program and its arguments as words, and becomes the program.
 *
 * If we are killed, a watcher ends the child: it is in the child's own group and reads a pipe that only we hold open. When that pipe ends, the child
 * has seen the end of its input as well, and has a moment to exit; then the watcher ends the group, and processes that left the group but kept the
 * mark in their environment (Linux). Windows has no such watcher: there the end of its input has to suffice.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { endTree, startOf } from './process-tree.ts';
import { markName, plainEnvironment } from './run-process.ts';

interface ServedProcessOptions {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string | undefined;
  /** Variables besides the plain environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ServedProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves once it has ended for any reason and its output is read; its own children may still be ending. Never rejects. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** The end of its stderr; at most 4 KiB. */
  complaint(): string;
  /** Ends it and all its processes: end of input, a moment, TERM, KILL. Resolves when none is left. Idempotent. */
  end(): Promise<void>;
}

const lastBytes = 4096;
/** Time for a program to end after its input has ended. */
const politeMs = 300;
const pipesMs = 250;

/**
 * `$1` is the mark's name, `$2` its value, the rest the program. The watcher ignores TERM, which it sends to its own group, and does not carry the
 * mark itself: the shell sets it only for the program that it becomes.
 */
const watched = `
mark="$1=$2"
( trap '' TERM HUP INT
  read -r word <&3; [ "$word" = done ] && exit
  sleep 1; kill -TERM 0
  sleep 1
  left=$(grep -lszxF "$mark" /proc/[0-9]*/environ | cut -d/ -f3)
  [ -z "$left" ] || kill -KILL $left
  kill -KILL 0
) </dev/null >/dev/null 2>&1 &
export "$1=$2"
shift 2
exec 3<&-
exec "$@"
`;

/** Fails with `usage` if nothing can be started at all; a missing program ends at once, with code 127. */
export async function startServedProcess(options: ServedProcessOptions): Promise<ServedProcess> {
  const id = randomUUID();
  const child = await start(options, id);
  const pid = child.pid as number;
  const mark = { text: `${markName}=${id}`, since: startOf(pid) };
  let last = Buffer.alloc(0);
  child.stderr?.on('data', (chunk: Buffer) => {
    last = Buffer.concat([last, chunk.subarray(-lastBytes)]).subarray(-lastBytes);
  });
  // A child that does not read its input, or ends, closes the pipe, which is allowed.
  for (const stream of child.stdio) stream?.on('error', () => {});
  const leash = child.stdio[3] as Writable | undefined;

  let gone = false;
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      gone = true;
      // Its last output may still be in the pipes, which end with the last process that holds them.
      const read = Promise.all([closed(child.stdout), closed(child.stderr)]);
      void Promise.race([read, delay(pipesMs, undefined, { ref: false })]).then(() => resolve({ code, signal }));
    });
  });
  let ending: Promise<void> | null = null;
  async function finish() {
    if (!gone) {
      child.stdin?.end();
      await Promise.race([exited, delay(politeMs, undefined, { ref: false })]);
    }
    // The watcher ignores TERM and needs an explicit message.
    leash?.end('done\n');
    await endTree(pid, mark);
    for (const stream of child.stdio) stream?.destroy();
  }
  const end = () => {
    ending ??= finish();
    return ending;
  };
  // Processes that it left behind would live on.
  void exited.then(end);
  return {
    pid,
    stdin: child.stdin as Writable,
    stdout: child.stdout as Readable,
    exited,
    // It may begin in the middle of a character.
    complaint: () => last.toString('utf8').replace(/^\uFFFD+/, ''),
    end,
  };
}

function start(options: ServedProcessOptions, id: string): Promise<ChildProcess> {
  const posix = process.platform !== 'win32';
  const [program, ...argv] = posix
    ? (['/bin/sh', '-c', watched, 'gantry', markName, id, ...options.command] as const)
    : options.command;
  const child = spawn(program, argv, {
    cwd: options.cwd,
    env: { ...plainEnvironment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe', ...(posix ? ['pipe' as const] : [])],
    detached: posix,
    windowsHide: true,
  });
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child));
    child.once('error', (cause) => {
      const why = (cause as NodeJS.ErrnoException).code ?? cause.message;
      const where = options.cwd === undefined ? '' : ` in ${options.cwd}`;
      reject(
        new AppError(
          'usage',
          `${options.command[0]} could not be started${where} (${why}).`,
          'Check that the program is installed and that its folder exists.',
          { cause },
        ),
      );
    });
  });
}

function closed(stream: Readable | null): Promise<void> {
  return new Promise((resolve) => {
    if (stream === null || stream.closed) resolve();
    else stream.once('close', resolve);
  });
}
