/**
 * The connection to the pane host of this computer: starts the host when there is none, notices one that hangs, and tries again while it cannot be read.
 * Must not know what its panes show.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Engine } from '../../contracts/factory/agent.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import type { Event, Op, Request } from '../../programs/pane-host/protocol.ts';
import type { HostConnection } from './host-connection.ts';
import { createHostReach, HostGivenUp } from './host-reach.ts';
import type { PaneInfo } from './pane-engine.ts';

/** A host that hangs is noticed after two of these: no person waits long, no busy computer raises an alarm. */
const heartbeatMs = 5000;

/** Waits between tries to reach a host, ms: the first hides a host that is being replaced, the last spares the computer. */
const backoffMs = [50, 200, 1000, 5000];

export interface PaneSettings {
  /** A pane that nobody uses for this long sleeps; null: never; default two minutes. */
  readonly sleepAfterMs?: number | null | undefined;
  /** How often in a row a host that died soon is started again. */
  readonly hostRestarts?: number | undefined;
}

export interface HostLinkDeps {
  /** The data folder (`GANTRY_HOME`). */
  readonly home: string;
  /** How the host is started: `programCommand('pane-host')`. */
  readonly command: readonly [string, ...string[]];
  readonly timers?: Timers;
  /** How often the host is asked whether it is there, ms. */
  readonly heartbeatMs?: number;
  /** Which Gantry this is. */
  readonly build?: string;
  readonly settings?: PaneSettings | undefined;
  readonly onNotice?: (message: string) => void;
}

export type HostLink = ReturnType<typeof createHostLink>;

export function createHostLink(
  deps: HostLinkDeps & {
    readonly onEvent: (event: Event, tail: Uint8Array) => void;
    readonly onEngine: (engine: Engine) => void;
    /** The number of the last control sequence that was seen of each pane. */
    readonly seen: () => Readonly<Record<string, number>>;
    /** Takes in which panes the host has. Returns what tells the changes, once the engine is shown as running. */
    readonly listed: (panes: readonly PaneInfo[]) => () => void;
    /** Its host is dead, and no host follows it: nothing will report the end of its panes. */
    readonly onGivenUp: () => void;
  },
) {
  const timers = deps.timers ?? systemTimers;
  const host = createHostReach({
    home: deps.home,
    command: deps.command,
    build: deps.build,
    restarts: deps.settings?.hostRestarts,
    log: deps.onNotice ?? (() => {}),
    closed: () => closed,
  });
  let connection: HostConnection | null = null;
  let engine: Engine = { running: false, error: 'The pane host is starting.' };
  let closed = false;
  let stopping = false;
  /** A host that ends is written nothing: the failure of that would come before its answer and take it along. */
  let stopAnswered: Promise<unknown> = Promise.resolve();
  let cancelRetry = () => {};
  let cancelBeat = () => {};
  let tries = 0;
  let givenUp: string | null = null;
  let connecting = reach();

  function show(next: Engine): void {
    if (next.running === engine.running && next.error === engine.error) return;
    engine = next;
    deps.onEngine(next);
  }

  /** Never rejects: `engine()` shows the error, and it is retried. */
  async function reach(): Promise<void> {
    try {
      const found = await host.connect({ event: deps.onEvent, lost: onLost });
      if (closed) {
        found.close();
        return;
      }
      givenUp = null;
      await takeOver(found);
      tries = 0;
    } catch (error) {
      const first = error instanceof HostGivenUp && givenUp === null;
      if (error instanceof HostGivenUp) givenUp = error.fact;
      unreadable(
        error instanceof AppError ? error.fact : `The pane host cannot be reached: ${(error as Error).message}.`,
      );
      if (first) deps.onGivenUp();
    }
  }

  async function takeOver(found: HostConnection): Promise<void> {
    connection = found;
    beat(found);
    const { sleepAfterMs } = deps.settings ?? {};
    // A host that does not know of it has no pane that sleeps.
    if (sleepAfterMs !== undefined) void found.request({ op: 'settings', sleepAfterMs }).catch(() => {});
    const { ok } = await found.request({ op: 'observe', seen: deps.seen() });
    const tellChanges = deps.listed(ok.panes);
    show({ running: true, error: null });
    tellChanges();
  }

  /**
   * A process that was stopped keeps its sockets open: only an answer shows that it lives. Two must be missed, because after
   * the computer slept the first is late through no fault of the host.
   */
  function beat(found: HostConnection, missed = 0): void {
    let answered = false;
    if (!stopping) {
      found.request({ op: 'ping' }).then(
        () => {
          answered = true;
        },
        () => {},
      );
    }
    cancelBeat();
    cancelBeat = timers.after(deps.heartbeatMs ?? heartbeatMs, () => {
      if (connection !== found) return;
      if (answered) beat(found);
      else if (missed === 0) beat(found, 1);
      else unreadable('The pane host does not answer.');
    });
  }

  function unreadable(why: string): void {
    cancelBeat();
    host.lost();
    connection?.close();
    connection = null;
    if (closed) return;
    show({ running: false, error: why });
    cancelRetry();
    cancelRetry = timers.after(backoffMs[Math.min(tries++, backoffMs.length - 1)] ?? 0, () => {
      connecting = reach();
    });
  }
  function onLost(why: string): void {
    connection = null;
    if (!stopping) unreadable(`The pane host cannot be read: ${why}.`);
  }

  async function ask<O extends Op>(request: Extract<Request, { op: O }>, tail?: Uint8Array) {
    await stopAnswered;
    return tell(request, tail);
  }
  async function tell<O extends Op>(request: Extract<Request, { op: O }>, tail?: Uint8Array) {
    await connecting;
    if (!connection)
      throw new AppError('transport', engine.error ?? 'The pane host is not running.', 'Try again in a moment.');
    return connection.request(request, tail);
  }

  async function stopHost({ force }: { readonly force: boolean }) {
    // No pane host runs, and none will be started.
    if (givenUp !== null && connection === null) return { stopped: true, live: 0 };
    stopping = true;
    const answer = tell({ op: 'stop', force });
    stopAnswered = answer.catch(() => {});
    try {
      const { ok } = await answer;
      stopping = ok.stopped;
      if (ok.stopped) show({ running: false, error: 'The pane host was stopped.' });
      return { ...ok };
    } catch (error) {
      stopping = false;
      throw error;
    }
  }

  return {
    engine: () => engine,
    givenUp: () => givenUp,
    ready: () => connecting,
    host: () => connection && { ...connection.host },
    isOpen: () => connection !== null,
    ask,
    /** Nobody needs the answer, and without a host it is of no use. */
    askQuietly(request: Request): void {
      if (connection) void stopAnswered.then(() => connection?.request(request)).catch(() => {});
    },
    stopHost,
    close(): void {
      closed = true;
      cancelRetry();
      cancelBeat();
      connection?.close();
      connection = null;
    },
  };
}
