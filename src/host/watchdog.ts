/**
 * Ends a Gantry whose loop stands, and starts it again. The loop writes a counter to `run/beat` every two seconds; a watcher outside of the process
 * reads it, and counts its own looks: a computer that slept, and a clock that was set, look the same to both. There is a beat only between the end of
 * the start and the beginning of the close, so that a migration, a restore and a slow close are never cut off. Must not know servers or panes: bots run
 * in other processes and are not touched.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { url as debuggerUrl } from 'node:inspector';
import type { Socket } from 'node:net';
import { systemTimers, type Timers } from '../kit/clock/timers.ts';

type Env = Readonly<Record<string, string | undefined>>;

interface Watched {
  /** The file of the counter. */
  readonly beat: string;
  readonly env: Env;
  /** The command that starts this program again; null: whatever started it does that. */
  readonly again: readonly string[] | null;
  /** Between two beats, and two looks; default 2 s. */
  readonly everyMs?: number;
}

export interface Watchdog {
  /** The computer goes to sleep, or is back. */
  rest(asleep: boolean): void;
  /** Nobody watches any more: the program is about to close. */
  end(): void;
}

const usualMs = 2_000;
/** So many looks at the same counter: with two seconds between them, 20 s. */
const maxSame = 10;
/** After so many restarts in ten minutes it stays ended: another start would come to the same. */
const maxRestarts = 3;
const restartsWithinSeconds = 600;
/** When the program was started again, in seconds since the epoch; from one watcher to the next. */
const restartsVariable = 'GANTRY_STOOD';
/** Of the 20 s within which systemd must hear of the program. */
const notifyEveryMs = 7_000;
/** An hour: a start with a long migration, and a close, are not cut off. */
const unwatchedUs = 3_600_000_000;

/**
 * Arguments: process, file, seconds between looks, then the command. The third descriptor is a pipe that ends with the process: from then on its id
 * may be somebody else's, so the watcher ends at once. A process that its person has stopped (Ctrl-Z, a debugger) does not count as standing. ABRT is
 * what counts as a crash for launchd.
 */
const watcher = `
pid=$1 beat=$2 every=$3
shift 3
{ cat <&3; kill $$; } >/dev/null 2>&1 &
sentinel=$!
last= same=0
while sleep "$every" >/dev/null 2>&1 3<&-; do
  now=
  { read -r now <"$beat"; } 2>/dev/null
  case $now in "$pid "*) ;; *) now= ;; esac
  if [ -z "$now" ] || [ "$now" != "$last" ]; then last=$now same=0; continue; fi
  same=$((same + 1))
  [ "$same" -lt ${maxSame} ] && continue
  case $(ps -o stat= -p "$pid" 2>/dev/null) in T*|t*) same=0; continue ;; esac
  kill "$sentinel"
  wait "$sentinel" 2>/dev/null
  kill -ABRT "$pid"
  sleep 1
  kill -KILL "$pid" 2>/dev/null
  # A process that waits for its disk dies later, and holds the data folder until then.
  cat <&3 >/dev/null 2>&1
  rm -f "$beat"
  [ $# -eq 0 ] && exit 0
  since=$(($(date +%s) - ${restartsWithinSeconds})) kept= count=0
  for at in $${restartsVariable}; do
    [ "$at" -gt "$since" ] && kept="$kept $at" count=$((count + 1))
  done
  if [ "$count" -ge ${maxRestarts} ]; then
    echo "Gantry did nothing for 20 seconds, after ${maxRestarts} restarts in ten minutes. It was ended and is not started again; see its log." >&2
    exit 1
  fi
  echo "Gantry did nothing for 20 seconds. It was ended and starts again in the background; gantry stop ends it." >&2
  export ${restartsVariable}="$kept $(date +%s)"
  exec "$@" 3<&- </dev/null
done
`;

/** Begin it once the start is over. On Windows, and of the first process of a container, nobody watches. */
export function watchOver(watched: Watched): Watchdog {
  const { beat, env, everyMs = usualMs } = watched;
  // The first process of a container cannot be ended from within.
  if (process.platform === 'win32' || process.pid === 1) return { rest() {}, end() {} };
  const timers = systemTimers;
  const offSystem = systemdWatches(env) ? tellSystemd(env, timers) : null;
  let file: number | null = null;
  let endWatcher: (() => void) | null = null;
  let beats = 0;
  let cancel = () => {};

  function next(): void {
    beats += 1;
    // A loop that a debugger holds stands because its person wants it to.
    if (debuggerUrl() !== undefined) remove();
    else write();
    cancel = timers.after(everyMs, next);
  }

  function write(): void {
    try {
      file ??= openSync(beat, 'w', 0o600);
      // Always of one length, in one write: a reader never sees half of it.
      writeSync(file, `${process.pid} ${String(beats).padStart(12, '0')}\n`, 0);
      if (offSystem === null) endWatcher ??= startWatcher(watched);
    } catch {
      // A disk that takes nothing must end nothing: nobody counts until it can be written again.
      endWatcher?.();
      endWatcher = null;
      remove();
    }
  }

  function remove(): void {
    const open = file;
    file = null;
    try {
      if (open !== null) closeSync(open);
      rmSync(beat, { force: true });
    } catch {
      // A disk that cannot be written keeps it; who counts has ended by then.
    }
  }

  function stop(): void {
    cancel();
    remove();
  }

  next();
  return {
    rest(asleep) {
      stop();
      if (!asleep) next();
    },
    end() {
      stop();
      offSystem?.();
      endWatcher?.();
    },
  };
}

/** Answers how it is ended: with the pipe, as when this process is gone. */
function startWatcher({ beat, env, again, everyMs = usualMs }: Watched): () => void {
  const command = [
    '-c',
    watcher,
    'gantry-watchdog',
    String(process.pid),
    beat,
    String(everyMs / 1000),
    ...(again ?? []),
  ];
  // In a session of its own: the keys of the terminal are for Gantry.
  const child = spawn('/bin/sh', command, {
    detached: true,
    env: { ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  child.on('error', () => {});
  child.unref();
  const pipe = child.stdio[3] as Socket | null;
  pipe?.on('error', () => {});
  pipe?.unref();
  return () => pipe?.destroy();
}

/**
 * Not where a program of the service has only inherited the variables. The launcher may have handed everything to a newer Node, whose parent it is
 * then.
 */
export function systemdWatches({ WATCHDOG_USEC, WATCHDOG_PID }: Env): boolean {
  const itsPid = Number(WATCHDOG_PID ?? process.pid);
  return WATCHDOG_USEC !== undefined && (itsPid === process.pid || itsPid === process.ppid);
}

/** For systemd, before anything else: what comes until {@link watchOver} may take long. */
export function beginUnwatched(env: Env): void {
  if (systemdWatches(env)) notifySystemd(env, `WATCHDOG_USEC=${unwatchedUs}`);
}

/** Node has no datagrams of Unix sockets. */
function notifySystemd(env: Env, word: string): void {
  const child = spawn('systemd-notify', [word], { env: { ...env }, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}

/** systemd's own watchdog (`WatchdogSec`), which restarts the service. */
function tellSystemd(env: Env, timers: Timers): () => void {
  let cancel = () => {};
  const tell = (word: string) => notifySystemd(env, word);
  function beat(): void {
    tell('WATCHDOG=1');
    cancel = timers.after(notifyEveryMs, beat);
  }
  tell(`WATCHDOG_USEC=${env.WATCHDOG_USEC}`);
  beat();
  return () => {
    cancel();
    tell(`WATCHDOG_USEC=${unwatchedUs}`);
  };
}
