/**
 * One client: its hello, its requests, the panes it watches and streams. A slow client gets fewer screens and later bytes; it never makes a pane
 * wait. It knows nothing of other clients.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Host, maxUnwritten } from './host.ts';
import type { LivePane, RecordedOsc } from './pane.ts';
import { tickMs } from './pane.ts';
import {
  type Answers,
  createFrameReader,
  type Event,
  type FromHost,
  frameHead,
  type HostError,
  type InfoWire,
  maxRead,
  type Op,
  protocol,
  type Request,
  type ToHost,
} from './protocol.ts';
import { HostRefusal } from './start-check.ts';
import { createStream, type Stream } from './stream.ts';

/** A client must say hello within this time, ms; it is on the same computer. */
const helloMs = 5000;
/** Above this many bytes on their way to a client its facts are left out until it has read; the newest follow. */
const slowBytes = 256 * 1024;
/** Above this a client has stopped reading; it is let go, and asks for what it missed when it comes back. */
const lostBytes = 32 * 1024 * 1024;

interface ConnectionDeps {
  readonly host: Host;
  readonly token: string;
  readonly startedAt: string;
  readonly build: string;
  readonly log: (line: string) => void;
  sleepAfter(ms: number | null): void;
  handOver(command: readonly string[], asked: Connection): Promise<Answers['hand-over']>;
  stop(force: boolean): { stopped: boolean; live: number };
  closed(connection: Connection): void;
}

export interface Connection {
  /** Whether it looks at the pane's screen. */
  watches(pane: string): boolean;
  wanted(pane: string): boolean;
  created(info: InfoWire): void;
  tick(pane: LivePane): void;
  printed(pane: string): void;
  osc(pane: string, kept: RecordedOsc): void;
  ended(info: InfoWire): void;
  close(): void;
}

type Answer<O extends Op> = Answers[O] | { readonly header: Answers[O]; readonly tail: Uint8Array };
type Handlers = {
  readonly [O in Op]: (request: Extract<Request, { op: O }>, tail: Uint8Array) => Answer<O> | Promise<Answer<O>>;
};

export function serveConnection(socket: Socket, deps: ConnectionDeps): Connection {
  const { host } = deps;
  const streams = new Map<number, Stream>();
  const lateFacts = new Set<string>();
  let greeted = false;
  let observing = false;
  const helloTimer = setTimeout(() => socket.destroy(), helloMs);

  function send(header: FromHost, tail?: Uint8Array, left?: () => void): void {
    if (socket.destroyed) return;
    if (socket.writableLength > lostBytes) {
      deps.log('a client stopped reading and was let go');
      socket.destroy();
      return;
    }
    const head = frameHead(header, tail?.length);
    if (!tail || tail.length === 0) {
      socket.write(head, left);
      return;
    }
    socket.cork();
    socket.write(head);
    socket.write(tail, left);
    socket.uncork();
  }
  const tell = (event: Event, tail?: Uint8Array, left?: () => void): void => send(event, tail, left);
  const screens = createScreens(tell);

  function livePane(id: string): LivePane {
    const pane = host.find(id);
    if (pane?.alive) return pane;
    throw new HostRefusal('not_found', `Pane ${id} is not live.`, 'Start the bot again.');
  }

  const handlers: Handlers = {
    hello() {
      return {
        major: protocol.major,
        minor: protocol.minor,
        pid: process.pid,
        startedAt: deps.startedAt,
        build: deps.build,
      };
    },
    ping: () => ({}),
    observe({ seen }) {
      observing = true;
      // The answer is written first: the events after it concern panes that the client knows.
      queueMicrotask(() => {
        for (const pane of host.live()) {
          for (const kept of pane.oscs()) if (kept.seq > (seen[pane.spec.id] ?? 0)) connection.osc(pane.spec.id, kept);
        }
      });
      return { panes: host.infos() };
    },
    create: async ({ spec, revive }) => ({ info: await host.create(spec, revive) }),
    write({ pane: id }, tail) {
      const pane = livePane(id);
      if (pane.pty.unwritten + tail.length > maxUnwritten) {
        throw new HostRefusal(
          'refused',
          `Pane ${id} does not read its input.`,
          'Wait until its program reads, or kill it.',
        );
      }
      pane.pty.write(tail);
      return {};
    },
    resize({ pane, cols, rows }) {
      livePane(pane).resize(cols, rows);
      return {};
    },
    async screen({ pane }) {
      const { screen, ansi } = await host.draw(pane);
      return { header: screen, tail: Buffer.from(ansi, 'utf8') };
    },
    watch({ pane: id }) {
      screens.watch(livePane(id));
      return {};
    },
    unwatch({ pane }) {
      screens.unwatch(pane);
      return {};
    },
    async capture({ pane, lines }) {
      const { text, at } = await host.capture(pane, lines);
      return { header: { at }, tail: Buffer.from(text, 'utf8') };
    },
    async scrollback({ pane, before, lines }) {
      const { ansi, ...header } = await host.scrollback(pane, before, lines);
      return { header, tail: Buffer.from(ansi, 'utf8') };
    },
    read({ pane, offset, max }) {
      const { bytes, ...header } = host.read(pane, offset, Math.min(max, maxRead));
      return { header, tail: bytes };
    },
    attach({ pane, stream, from }) {
      host.read(pane, 0, 0);
      streams.get(stream)?.close();
      const opened = createStream({
        host,
        pane,
        from,
        tell: (event, tail, left) => tell({ ...event, stream } as Event, tail, left),
      });
      streams.set(stream, opened);
      queueMicrotask(() => opened.pump());
      return {};
    },
    detach({ stream }) {
      streams.get(stream)?.close();
      streams.delete(stream);
      return {};
    },
    async kill({ pane }) {
      await host.kill(pane);
      return {};
    },
    forget({ pane }) {
      host.forget(pane);
      return {};
    },
    stop: ({ force }) => deps.stop(force),
    settings({ sleepAfterMs }) {
      deps.sleepAfter(sleepAfterMs);
      return {};
    },
    'hand-over': ({ command }) => deps.handOver(command, connection),
  };

  function handle(request: ToHost, tail: Uint8Array): void {
    const answer = (value: Answer<Op>): void => {
      if ('tail' in value) send({ re: request.id, ok: value.header }, value.tail);
      else send({ re: request.id, ok: value });
    };
    const fail = (error: unknown): void => {
      send({ re: request.id, error: wireError(error, deps.log) });
      if (!greeted) socket.end();
    };
    try {
      if (!greeted) {
        checkHello(request, deps.token);
        greeted = true;
        clearTimeout(helloTimer);
      }
      const handler = handlers[request.op] as
        | ((request: Request, tail: Uint8Array) => Answer<Op> | Promise<Answer<Op>>)
        | undefined;
      if (!handler)
        throw new HostRefusal(
          'usage',
          `"${request.op}" is not a request this host knows.`,
          'Use a host of your own version.',
        );
      const result = handler(request, tail);
      if (result instanceof Promise) result.then(answer, fail);
      else answer(result);
    } catch (error) {
      fail(error);
    }
  }

  const read = createFrameReader((header, tail) => handle(header as ToHost, tail));
  socket.setNoDelay(true);
  socket.on('data', (chunk) => {
    try {
      read(chunk);
    } catch (error) {
      deps.log(`a client sent what is no frame: ${(error as Error).message}`);
      socket.destroy();
    }
  });
  socket.on('drain', () => {
    for (const id of [...lateFacts]) {
      lateFacts.delete(id);
      const pane = host.find(id);
      if (pane) tellFacts(pane);
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    clearTimeout(helloTimer);
    for (const stream of streams.values()) stream.close();
    streams.clear();
    screens.clear();
    observing = false;
    deps.closed(connection);
  });

  function tellFacts(pane: LivePane): void {
    if (socket.writableLength > slowBytes) lateFacts.add(pane.spec.id);
    else tell({ ev: 'facts', pane: pane.spec.id, facts: pane.facts() });
  }

  const connection: Connection = {
    watches: screens.watches,
    wanted: (pane) => observing || screens.watches(pane),
    created(info) {
      if (observing) tell({ ev: 'created', pane: info.id, info });
    },
    tick(pane) {
      screens.changed(pane);
      if (observing) tellFacts(pane);
    },
    printed(pane) {
      for (const stream of streams.values()) if (stream.pane === pane) stream.pump();
    },
    osc(pane, kept) {
      if (observing) tell({ ev: 'osc', pane, seq: kept.seq, osc: kept.osc });
    },
    ended(info) {
      const last = screens.unwatch(info.id);
      for (const stream of streams.values()) if (stream.pane === info.id) stream.pump();
      if (observing) tell({ ev: 'exit', pane: info.id, info });
      if (last) tell({ ev: 'gone', pane: info.id, reason: endWords(info) });
    },
    close: () => socket.end(),
  };
  return connection;
}

interface Watch {
  /** A screen is on its way. */
  busy: boolean;
  /** The screen has changed since. */
  stale: boolean;
  sentAt: number;
}

/** The screens that a client watches: one at a time is on its way, and the newest follows. */
function createScreens(tell: (event: Event, tail: Uint8Array, left: () => void) => void) {
  const watches = new Map<string, Watch>();

  function sendScreen(pane: LivePane, watch: Watch): void {
    watch.busy = true;
    watch.stale = false;
    watch.sentAt = performance.now();
    const { screen, ansi } = pane.draw();
    tell({ ev: 'screen', pane: pane.spec.id, screen }, Buffer.from(ansi, 'utf8'), () => {
      watch.busy = false;
      if (watch.stale) setTimeout(() => again(pane, watch), Math.max(0, tickMs - (performance.now() - watch.sentAt)));
    });
  }
  function again(pane: LivePane, watch: Watch): void {
    if (watch.stale && !watch.busy && watches.get(pane.spec.id) === watch && pane.alive) sendScreen(pane, watch);
  }

  return {
    watches: (pane: string) => watches.has(pane),
    watch(pane: LivePane): void {
      const watch = { busy: false, stale: false, sentAt: 0 };
      watches.set(pane.spec.id, watch);
      sendScreen(pane, watch);
    },
    /** Returns whether it was watched. */
    unwatch: (pane: string) => watches.delete(pane),
    changed(pane: LivePane): void {
      const watch = watches.get(pane.spec.id);
      if (watch?.busy) watch.stale = true;
      else if (watch) sendScreen(pane, watch);
    },
    clear: () => watches.clear(),
  };
}

/** Throws for a client that speaks another protocol, or does not know the token. */
function checkHello(request: Request, token: string): void {
  const refuse = (fact: string, action: string) => new HostRefusal('refused', fact, action);
  if (request.op !== 'hello') throw refuse('The first request was not a hello.', 'Say hello first.');
  if (request.major !== protocol.major) {
    throw refuse(
      `This host speaks protocol ${protocol.major}, not ${request.major}.`,
      'Use the host of your own version.',
    );
  }
  const given = Buffer.from(String(request.token));
  const wanted = Buffer.from(token);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    throw refuse('The token is not this host’s.', 'Read the token file beside the socket.');
  }
}

function endWords(info: InfoWire): string {
  if (info.endReason) return info.endReason;
  return info.exitSignal
    ? `its program was ended by ${info.exitSignal}`
    : `its program ended with exit code ${info.exitCode}`;
}

function wireError(error: unknown, log: (line: string) => void): HostError {
  if (error instanceof HostRefusal) return error.wire;
  log(`a request failed: ${error instanceof Error ? error.stack : String(error)}`);
  const fact = `The pane host could not do it: ${error instanceof Error ? error.message : String(error)}.`;
  return { code: 'internal', fact, action: 'See the log of the pane host.' };
}
