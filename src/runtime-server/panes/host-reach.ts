/**
 * Finds the pane host of a data folder: connects, starts one where there is none, has an older one hand its panes to one of this
 * version, and stops starting one that dies again and again. It knows no panes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { hostFiles, protocol } from '../../programs/pane-host/protocol.ts';
import { type ConnectionEvents, connectHost, type HostConnection } from './host-connection.ts';
import { hostCommand, hostToken, startHost } from './host-starter.ts';

/** No host is started any more: what ran in the last one is gone. */
export class HostGivenUp extends AppError {}

interface HostReach {
  /** Rejects with an error for a person. */
  connect(events: ConnectionEvents): Promise<HostConnection>;
  /** The connection has ended. */
  lost(): void;
}

/** A host that was just started binds its socket within this time, ms: 0.1–0.3 s measured, more on a busy computer. */
const startMs = 10_000;
const pollMs = 25;
const startAgainMs = 1000;
/** A host that served this long, ms, did not die of the earlier problem. */
const settledMs = 60_000;
const maxRestarts = 5;
/** Before the first start again, the second and so on. */
const restartWaitsMs = [0, 250, 1000, 2000, 4000];
/** Three phases of at most 30, 10 and 10 s, and the programs’ input and output before. */
const handOverMs = 60_000;

export function createHostReach(options: {
  /** The data folder (`GANTRY_HOME`). */
  readonly home: string;
  readonly command: readonly [string, ...string[]];
  /** Which Gantry this is; an older host is asked to hand its panes over. */
  readonly build?: string | undefined;
  /** How often in a row a host that died soon is started again; default 5. */
  readonly restarts?: number | undefined;
  readonly log: (message: string) => void;
  readonly closed: () => boolean;
}): HostReach {
  const { home, build = '', log } = options;
  const files = hostFiles(home);
  const max = options.restarts ?? maxRestarts;
  let everConnected = false;
  let servesSince: number | null = null;
  let restarts = 0;
  /** A host that would not hand over is asked again when this program comes back to it. */
  let asked = 0;
  /** Whether the host that was started last still runs. */
  let runs = () => false;

  async function connectOrStart(events: ConnectionEvents): Promise<HostConnection> {
    const connect = () => connectHost(files, hostToken(files), events);
    try {
      return await connect();
    } catch (error) {
      if (!nobodyThere(error)) throw error;
    }
    if (everConnected) {
      if (restarts >= max) {
        const times = `${restarts} times in a row, and each time it ended within a minute`;
        throw new HostGivenUp(
          'transport',
          `The pane host was restarted ${times}. Its log is ${files.log}.`,
          'Read the log, then start Gantry again.',
        );
      }
      await pause(restartWaitsMs[Math.min(restarts, restartWaitsMs.length - 1)] ?? 0);
      restarts++;
    }
    const deadline = performance.now() + startMs;
    let started = Number.NEGATIVE_INFINITY;
    for (;;) {
      // Again and again, one after the other: a host that is just ending keeps a new one from starting.
      if (!runs() && performance.now() - started >= startAgainMs) {
        started = performance.now();
        runs = startHost({ files, home, command: options.command, build });
      }
      await pause(pollMs);
      try {
        return await connect();
      } catch (error) {
        if (!nobodyThere(error)) throw error;
        if (performance.now() > deadline || options.closed()) {
          throw new AppError(
            'transport',
            `The pane host did not start within ${startMs / 1000} s.`,
            `Read ${files.log}.`,
          );
        }
      }
    }
  }

  /** The connection to use: this one, or one to the host that took its panes. */
  async function newest(found: HostConnection, events: ConnectionEvents): Promise<HostConnection> {
    const { host } = found;
    if (!isOlder(host, build) || asked === host.pid) return found;
    asked = host.pid;
    const command = hostCommand({ home, command: options.command, build });
    const answer = found.request({ op: 'hand-over', command }).then(
      ({ ok }) => ok,
      (error: Error) => error,
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Error>((resolve) => {
      timer = setTimeout(
        () => resolve(new Error('The pane host did not answer when it was asked to hand over.')),
        handOverMs,
      );
    });
    const result = await Promise.race([answer, late]);
    clearTimeout(timer);
    if (result instanceof Error) {
      const why = result instanceof AppError ? result.fact : result.message;
      log(`The pane host of ${host.build} keeps running. ${why}`);
      if (!(result instanceof AppError) || result.code === 'transport') {
        found.close();
        throw result;
      }
      return found;
    }
    found.close();
    return connectOrStart(events);
  }

  return {
    async connect(events) {
      // Messages of the old host during its handover are ignored.
      const quiet = { on: false };
      const found = await connectOrStart({
        event: (event, tail) => quiet.on || events.event(event, tail),
        lost: (why) => quiet.on || events.lost(why),
      });
      quiet.on = true;
      const used = await newest(found, events);
      quiet.on = false;
      everConnected = true;
      servesSince = performance.now();
      return used;
    },
    lost() {
      if (servesSince !== null && performance.now() - servesSince > settledMs) restarts = 0;
      servesSince = null;
    },
  };
}

/** Whether a host may be asked to hand over to one of `build`: it knows how to, and is of an earlier version. */
export function isOlder(host: { readonly minor: number; readonly build: string }, build: string): boolean {
  if (host.minor < 1 || build === '') return false;
  if (host.minor !== protocol.minor) return host.minor < protocol.minor;
  const numbers = (text: string) => text.split(/[^0-9]+/).map(Number);
  const [own, theirs] = [numbers(build), numbers(host.build)];
  for (let at = 0; at < Math.max(own.length, theirs.length); at++) {
    const difference = (own[at] ?? 0) - (theirs[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** No host, or one that was just ending. */
function nobodyThere(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'transport';
  const { code } = error as NodeJS.ErrnoException;
  // A host that ends resets the callers it has not yet taken in.
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'EPIPE';
}

/** Not by the engine's timers: while a host starts, this wait may be all that keeps the program alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
