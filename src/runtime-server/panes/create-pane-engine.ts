/**
 * Panes of the local pane host: keeps one connection, starts the host when there is none, and shows the last known panes
 * unchanged while it cannot be read. It knows nothing of agents.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Engine, Screen } from '../../contracts/factory/agent.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import { type Event, hostEnded, type Op, type Request } from '../../programs/pane-host/protocol.ts';
import type { HostConnection } from './host-connection.ts';
import { createHostReach, HostGivenUp } from './host-reach.ts';
import type { PaneEngine, PaneInfo, PaneListener } from './pane-engine.ts';
import { createStreams } from './streams.ts';
import { createWatchers } from './watchers.ts';

export interface PaneSettings {
  /** A pane that nobody uses for this long sleeps; null: never; default two minutes. */
  readonly sleepAfterMs?: number | null | undefined;
  /** How often in a row a host that died soon is started again. */
  readonly hostRestarts?: number | undefined;
}

/** A host that hangs is noticed after two of these: no person waits long, no busy computer raises an alarm. */
const heartbeatMs = 5000;

/** Waits between tries to reach a host, ms: the first hides a host that is being replaced, the last spares the computer. */
const backoffMs = [50, 200, 1000, 5000];

export function createPaneEngine(deps: {
  /** The data folder (`GANTRY_HOME`). */
  readonly home: string;
  /** How the host is started: `programCommand('pane-host')`. */
  readonly command: readonly [string, ...string[]];
  /** A listener or viewer threw. */
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers;
  /** How often the host is asked whether it is there, ms. */
  readonly heartbeatMs?: number;
  /** Which Gantry this is. */
  readonly build?: string;
  readonly settings?: PaneSettings | undefined;
  readonly onNotice?: (message: string) => void;
}): PaneEngine {
  const timers = deps.timers ?? systemTimers;
  const panes = new Map<string, PaneInfo>();
  const oscSeen = new Map<string, number>();
  const listeners = new Set<PaneListener>();
  const watchers = createWatchers(deps.onError);
  const streams = createStreams();
  /** Closed panes that may live again, by how many wait for it. */
  const held = new Map<string, number>();
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

  function each(call: (listener: PaneListener) => void): void {
    for (const listener of listeners) {
      try {
        call(listener);
      } catch (error) {
        deps.onError(error);
      }
    }
  }
  function show(next: Engine): void {
    if (next.running === engine.running && next.error === engine.error) return;
    engine = next;
    each((listener) => listener.onEngine?.(next));
  }

  /** Never rejects: `engine()` shows the error, and it is retried. */
  async function reach(): Promise<void> {
    try {
      const found = await host.connect({ event: onEvent, lost: onLost });
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
      // Nothing will report their end: their host is dead, and no host follows it.
      for (const info of first ? [...panes.values()] : []) {
        if (info.alive) ended({ ...info, alive: false, endReason: hostEnded });
      }
    }
  }

  async function takeOver(found: HostConnection): Promise<void> {
    connection = found;
    beat(found);
    const { sleepAfterMs } = deps.settings ?? {};
    // A host that does not know of it has no pane that sleeps.
    if (sleepAfterMs !== undefined) void found.request({ op: 'settings', sleepAfterMs }).catch(() => {});
    const { ok } = await found.request({ op: 'observe', seen: Object.fromEntries(oscSeen) });
    const known = new Map(panes);
    panes.clear();
    for (const info of ok.panes) panes.set(info.id, info);
    show({ running: true, error: null });
    for (const info of ok.panes) {
      if (!info.alive && known.get(info.id)?.alive) ended(info);
    }
    // The host does not know it any more, and does not say how it ended.
    for (const [id, info] of known) {
      if (!panes.has(id) && info.alive) ended({ ...info, alive: false, endReason: 'the pane host no longer knows it' });
    }
    showViewers((pane) => !held.has(pane));
  }
  function showViewers(of: (pane: string) => boolean): void {
    for (const pane of watchers.panes()) if (of(pane)) startWatch(pane);
    for (const stream of streams.all()) if (of(stream.pane)) startStream(stream.number, stream.pane, stream.from);
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

  function ended(info: PaneInfo): void {
    if (panes.has(info.id)) panes.set(info.id, info);
    oscSeen.delete(info.id);
    each((listener) => listener.onExit?.(info.id, info));
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

  function onEvent(event: Event, tail: Uint8Array): void {
    switch (event.ev) {
      case 'created':
        panes.set(event.pane, event.info);
        break;
      case 'facts': {
        const known = panes.get(event.pane);
        if (!known) break;
        panes.set(event.pane, { ...known, offset: event.facts.offset, facts: event.facts });
        each((listener) => listener.onFacts?.(event.pane, event.facts));
        break;
      }
      case 'osc':
        if (event.seq <= (oscSeen.get(event.pane) ?? 0)) break;
        oscSeen.set(event.pane, event.seq);
        each((listener) => listener.onOsc?.(event.pane, event.osc));
        break;
      case 'exit':
        ended(event.info);
        break;
      case 'screen':
        watchers.screen(event.pane, { ansi: text(tail), ...event.screen });
        break;
      case 'gone':
        watchers.gone(event.pane, event.reason);
        break;
      default:
        streams.event(event, tail);
    }
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

  function startWatch(pane: string): void {
    ask({ op: 'watch', pane }).catch((error) => {
      // A host that cannot be reached is asked again when it is back; a pane that is not live stays gone.
      if (error instanceof AppError && error.code !== 'transport') watchers.gone(pane, error.fact);
    });
  }
  function startStream(stream: number, pane: string, from: number | 'snapshot'): void {
    ask({ op: 'attach', stream, pane, from }).catch((error) => {
      if (error instanceof AppError && error.code !== 'transport') streams.fail(stream, error.fact);
    });
  }
  function forgetQuietly(request: Request): void {
    if (connection) void stopAnswered.then(() => connection?.request(request)).catch(() => {});
  }

  return {
    engine: () => engine,
    givenUp: () => givenUp,
    ready: () => connecting,
    list: () => [...panes.values()],
    get: (id) => panes.get(id) ?? null,
    async create(spec) {
      const { ok } = await ask({ op: 'create', spec });
      // Its events came before the answer; it may have printed or ended since.
      return panes.get(ok.info.id) ?? ok.info;
    },
    async revive(spec, { words }) {
      const known = panes.get(spec.id);
      const seen = Math.max(
        known?.offset ?? 0,
        ...streams.all().map(({ pane, from }) => (pane === spec.id ? Number(from) || 0 : 0)),
      );
      const revive = { words, offset: seen, revision: known?.facts.revision ?? 0 };
      const { ok } = await ask({ op: 'create', spec, revive });
      return panes.get(ok.info.id) ?? ok.info;
    },
    hold(id) {
      held.set(id, (held.get(id) ?? 0) + 1);
      let done = false;
      return () => {
        if (done) return;
        done = true;
        const left = (held.get(id) ?? 1) - 1;
        if (left > 0) held.set(id, left);
        else held.delete(id);
        if (left === 0 && connection) showViewers((pane) => pane === id);
      };
    },
    host: () => connection && { ...connection.host },
    async write(id, data) {
      await ask({ op: 'write', pane: id }, typeof data === 'string' ? Buffer.from(data, 'utf8') : data);
    },
    async resize(id, { cols, rows }) {
      await ask({ op: 'resize', pane: id, cols, rows });
      const known = panes.get(id);
      if (known) panes.set(id, { ...known, cols, rows });
    },
    async screen(id): Promise<Screen> {
      const { ok, tail } = await ask({ op: 'screen', pane: id });
      return { ansi: text(tail), ...ok };
    },
    watch(id, watcher) {
      const { start, remove } = watchers.add(id, watcher);
      if (start) startWatch(id);
      return () => {
        if (remove().stop) forgetQuietly({ op: 'unwatch', pane: id });
      };
    },
    async capture(id, lines) {
      const { ok, tail } = await ask({ op: 'capture', pane: id, lines });
      return { text: text(tail), at: ok.at };
    },
    async scrollback(id, before, lines) {
      const { ok, tail } = await ask({ op: 'scrollback', pane: id, before, lines });
      return { ansi: text(tail), ...ok };
    },
    async read(id, offset, max) {
      const { ok, tail } = await ask({ op: 'read', pane: id, offset, max });
      return { ...ok, bytes: tail };
    },
    attach(id, from, reader) {
      const { number } = streams.open(id, from, reader);
      startStream(number, id, from);
      return () => {
        if (streams.close(number)) forgetQuietly({ op: 'detach', stream: number });
      };
    },
    async kill(id) {
      await ask({ op: 'kill', pane: id });
    },
    async forget(id) {
      await ask({ op: 'forget', pane: id });
      panes.delete(id);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async stopHost({ force }) {
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
    },
    async close() {
      closed = true;
      cancelRetry();
      cancelBeat();
      connection?.close();
      connection = null;
    },
  };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
