/**
 * One pseudo-terminal: start, read, write, resize, end. Reads the master itself instead of through node-pty's stream, which
 * throws away unread output 200 ms after the program's exit. It knows nothing of journals, emulators or sockets.
 */
import { readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants as osConstants } from 'node:os';
import { dirname, join } from 'node:path';
import { ReadStream } from 'node:tty';
import { processLives } from './process-tree.ts';

interface PtyOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
}

export interface PtySink {
  /** Room for at least 4096 bytes; what is read goes there and is then given to `took`. */
  room(): Uint8Array;
  /** So many bytes were read into the room asked for last. */
  took(bytes: number): void;
  /** All bytes were taken and the program is gone. `code` is null after a signal. Called once. */
  ended(code: number | null, signal: string | null): void;
}

/** Hands bytes over that are in memory already, in pieces that the rooms have space for. */
export function give(sink: Pick<PtySink, 'room' | 'took'>, bytes: Uint8Array): void {
  for (let rest = bytes; rest.length > 0; ) {
    const room = sink.room();
    const taken = rest.subarray(0, room.length);
    room.set(taken);
    sink.took(taken.length);
    rest = rest.subarray(taken.length);
  }
}

export interface Pty {
  readonly pid: number;
  /** Bytes given to `write` that the program's terminal has not taken yet. */
  readonly unwritten: number;
  write(data: Uint8Array): void;
  resize(cols: number, rows: number): void;
  pause(): void;
  resume(): void;
  /** Reads and writes nothing more until `release`; answers the input that is not written. Absent where it cannot be handed over. */
  hold?(): Uint8Array;
  release?(): void;
  /** The terminal's file descriptor in this process; absent where none can be handed over. */
  readonly fd?: number;
}

export type StartPty = (options: PtyOptions, sink: PtySink) => Pty;
/** Takes up a terminal that another process opened, with the program in it. */
export type AdoptPty = (
  given: { readonly fd: number; readonly pid: number; readonly started: string | null },
  sink: PtySink,
) => Pty;

interface NativePty {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number };
  resize(fd: number, cols: number, rows: number, xPixel: number, yPixel: number): void;
}

/** The kernel hands out at most 4096 bytes a read; below this a second read finds nothing, and an echo must not wait for it. */
const worthAnotherRead = 1024;
/** Bytes taken in one turn of the event loop before others get theirs. */
const maxPerTurn = 64 * 1024;
/** A program that lets its terminal fill up is tried again after this many milliseconds, doubling up to the second. */
const writeRetry = { first: 1, longest: 50 };
/** The kernel hangs the terminal up when its leader exits; where it does not, this silence after the exit ends the reading. */
const silenceAfterExitMs = 1000;
/** Nobody tells of the end of a program that is no child: it is looked at this often. */
const lookMs = 1000;

export function loadUnixPty(): StartPty {
  const require = createRequire(import.meta.url);
  const { native } = require('node-pty') as { native: NativePty };
  const helper = join(
    dirname(require.resolve('node-pty')),
    '..',
    'prebuilds',
    `${process.platform}-${process.arch}`,
    'spawn-helper',
  );
  return (options, sink) => startUnixPty(native, helper, options, sink);
}

/** For hosts that continue with the previous host's terminals. The exit code is then unknown: null, never 0. */
export function loadAdoptPty(): AdoptPty {
  const require = createRequire(import.meta.url);
  const { native } = require('node-pty') as { native: NativePty };
  return ({ fd, pid, started }, sink) => {
    let told: (() => void) | undefined;
    const timer = setInterval(() => {
      if (processLives(pid, started)) return;
      clearInterval(timer);
      told?.();
    }, lookMs);
    return openPty(native, fd, pid, sink, (onExit) => {
      told = () => onExit(null);
    });
  };
}

function startUnixPty(native: NativePty, helper: string, options: PtyOptions, sink: PtySink): Pty {
  const [file = '', ...args] = options.command;
  const env = Object.entries(options.env).map(([name, value]) => `${name}=${value}`);
  const { cwd, cols, rows } = options;
  let told: ((exit: Exit) => void) | undefined;
  const ended = (code: number, signal: number): void => told?.({ code, signal });
  const { fd, pid } = native.fork(file, args, env, cwd, cols, rows, -1, -1, true, helper, ended);
  return openPty(native, fd, pid, sink, (onExit) => {
    told = onExit;
  });
}

/** Null: it ended, and how is not known. */
type Exit = { readonly code: number; readonly signal: number } | null;

function openPty(
  native: NativePty,
  fd: number,
  pid: number,
  sink: PtySink,
  whenEnded: (told: (exit: Exit) => void) => void,
): Pty {
  let exit: { readonly of: Exit } | null = null;
  let closed = false;
  let paused = false;
  let readSinceLooked = false;
  const input = createInput(fd);
  whenEnded((of) => {
    exit = { of };
    if (closed) report();
    else hangUpWhenSilent();
  });

  const read = (bytes: number): void => {
    if (bytes === 0) return;
    sink.took(bytes);
    let taken = bytes;
    let last = bytes;
    while (last >= worthAnotherRead && taken < maxPerTurn && !paused) {
      last = readMore();
      if (last > 0) sink.took(last);
      taken += last;
    }
    readSinceLooked = true;
  };
  const readMore = (): number => {
    const room = sink.room();
    try {
      return readSync(fd, room, 0, room.length, null);
    } catch {
      // Nothing there yet, or the end: the stream will say which.
      return 0;
    }
  };
  const stream = new ReadStream(fd, {
    onread: {
      buffer: () => sink.room(),
      callback: (bytes: number) => {
        read(bytes);
        return !paused;
      },
    },
  } as object);
  // The end of a terminal is the error EIO on Linux and an end of file on macOS; both close the stream.
  stream.on('error', () => {});
  stream.on('close', () => {
    closed = true;
    input.close();
    if (exit) report();
  });
  stream.resume();

  function hangUpWhenSilent(): void {
    setTimeout(() => {
      if (closed) return;
      // This timer may come before a read that is due (after a pause, or in a busy program): what is there is taken first.
      if (!paused && !readSinceLooked) read(readMore());
      if (paused || readSinceLooked) {
        readSinceLooked = false;
        hangUpWhenSilent();
      } else stream.destroy();
    }, silenceAfterExitMs);
  }
  function report(): void {
    if (!exit) return;
    const signal = !exit.of || exit.of.signal === 0 ? null : signalName(exit.of.signal);
    sink.ended(signal === null ? (exit.of?.code ?? null) : null, signal);
  }

  /** A resume of this same turn would begin to read at the end of it all the same. */
  function stopReading(): void {
    paused = true;
    stream.pause();
    process.nextTick(() => {
      if (paused) stream.pause();
    });
  }

  return {
    pid,
    fd,
    get unwritten() {
      return input.unwritten;
    },
    hold() {
      const unwritten = input.hold();
      stopReading();
      return unwritten;
    },
    release: input.release,
    write: input.write,
    resize(cols, rows) {
      if (!closed) native.resize(fd, cols, rows, 0, 0);
    },
    pause: stopReading,
    resume() {
      paused = false;
      stream.resume();
    },
  };
}

/** What the program has not read yet: written as its terminal takes it. */
function createInput(fd: number) {
  let queue: Uint8Array[] = [];
  let unwritten = 0;
  let wait = writeRetry.first;
  let held = false;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  function writeQueued(): void {
    retry = undefined;
    while (queue.length > 0 && !closed && !held) {
      const head = queue[0]!;
      let written: number;
      try {
        written = writeSync(fd, head);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') {
          queue = [];
          unwritten = 0;
          return;
        }
        retry = setTimeout(writeQueued, wait);
        wait = Math.min(wait * 2, writeRetry.longest);
        return;
      }
      wait = writeRetry.first;
      unwritten -= written;
      if (written === head.length) queue.shift();
      else queue[0] = head.subarray(written);
    }
  }

  return {
    /** Bytes. */
    get unwritten(): number {
      return unwritten;
    },
    write(data: Uint8Array): void {
      if (closed || data.length === 0) return;
      queue.push(data);
      unwritten += data.length;
      if (!retry) writeQueued();
    },
    hold(): Uint8Array {
      held = true;
      clearTimeout(retry);
      retry = undefined;
      return Buffer.concat(queue);
    },
    release(): void {
      held = false;
      writeQueued();
    },
    /** The terminal is gone. */
    close(): void {
      closed = true;
      clearTimeout(retry);
    },
  };
}

function signalName(number: number): string {
  const found = Object.entries(osConstants.signals).find(([, value]) => value === number);
  return found ? found[0] : `signal ${number}`;
}
