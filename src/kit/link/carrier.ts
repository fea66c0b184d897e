/**
 * One WebSocket as a carrier of byte pipes: core HTTP/2 over a real socket pair, each pipe a CONNECT stream with flow control of its own. The cloud
 * opens pipes, the runtime accepts them. Owns pings, limits, draining and the end; after the end nothing stays open and no caller keeps waiting.
 * First user: dial-ins of the cloud; second: the dialer of the runtime. Must not know who dials, or routes.
 */
import {
  type ClientHttp2Session,
  connect,
  constants,
  type Http2Session,
  type Http2Stream,
  performServerHandshake,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Timers } from '../clock/timers.ts';
import { joinWebSocket } from './join.ts';
import { drainingEvent, Pipe } from './pipe.ts';
import { createSocketPair } from './socket-pair.ts';

/** Pipes of one carrier at the same time, idle ones included. */
export const maxPipes = 256;
/** The opening side counts exactly; on the other one, an abandoned pipe may still exist when the next one arrives. */
const maxTaken = 8 * maxPipes;
const pingEveryMs = 15_000;
/** After this many pings without a sign of life the other side counts as dead. */
const maxMisses = 2;
/** So long after something was sent the other side is asked whether it is there. */
const askAfterMs = 3_000;
/** It answers at once, unless its program stands still. On a cut that nobody reports, callers wait for both times and no longer. */
const answerMs = 9_000;
/** Pings, their answers and smaller frames of HTTP/2: nobody waits for what follows them. */
const controlBytes = 17;
/** How long the streams of a replaced or closing carrier may take to finish. */
const drainMs = 30_000;
/** From the WebSocket to HTTP/2 on both sides. */
export const setupMs = 15_000;

/** Why a carrier ended, as close codes of its WebSocket. */
const endCodes = { closing: 1001, broken: 1011, replaced: 4000, revoked: 4001, silent: 4002 } as const;
type EndKind = keyof typeof endCodes;

export interface CarrierEnd {
  /** `cut`: no reason was given. */
  readonly kind: EndKind | 'cut';
  readonly reason: string;
}

interface CarrierDeps {
  /** Opened in this very tick: later its first messages would be lost. */
  readonly socket: WebSocket;
  readonly timers: Timers;
  /** Accepts a pipe that the other side opens; false: there is no such endpoint. Absent on the opening side. */
  readonly accept?: (side: string, pipe: Pipe) => boolean;
  /** Both sides are ready. */
  readonly onUp: () => void;
  /** It accepts no new pipes; `replaced`: a newer carrier exists. */
  readonly onDraining: (kind: 'replaced' | 'closing') => void;
  /** Once, at the end. */
  readonly onEnd: (end: CarrierEnd) => void;
}

export interface Carrier {
  /** Accepts pipes: up, and neither draining nor at its end. */
  readonly ready: boolean;
  /** Open pipes. */
  readonly pipes: number;
  /** null: it cannot take another one. */
  open(side: string): Pipe | null;
  /** Accepts nothing new, lets streams finish for at most {@link drainMs}, then ends. */
  drain(kind: 'replaced' | 'closing', reason: string, graceMs?: number): void;
  /** At once. */
  end(kind: EndKind, reason: string): void;
}

/** Answers to several streams at once must neither fill the memory nor wait for each other. */
const windowOfPipe = 1 << 19;
const windowOfCarrier = 1 << 24;
const shared = {
  // Counts data that slow readers have not read; at the default of 10 MB they would keep others from opening a pipe.
  maxSessionMemory: 2 * maxPipes,
  maxHeaderListPairs: 8,
  maxSettings: 16,
};
const settings = { initialWindowSize: windowOfPipe, enablePush: false, maxHeaderListSize: 4096 };
/** Every cancelled request is a reset; at the default of 33 a second a busy page would cut the link. */
const resets = { streamResetBurst: 10_000, streamResetRate: 1000 };

export function createCarrier(deps: CarrierDeps): Carrier {
  const { socket, timers } = deps;
  const pipes = createPipes(deps.accept);
  let session: Http2Session | null = null;
  let up = false;
  let draining: 'replaced' | 'closing' | null = null;
  let drainReason = '';
  let ended = false;
  const cancelSetup = timers.after(setupMs, () => end('broken', 'The other side was not ready in time.'));
  let cancelDrain = () => {};

  const silence = createSilenceWatch({
    timers,
    ping,
    isSending: () => join.waiting > 0,
    onSilent: (ms) => end('silent', `Nothing was heard for ${ms / 1000} s.`),
  });
  const join = joinWebSocket(socket, {
    onHeard: () => silence.heard(),
    onSaid: (bytes) => silence.said(bytes),
    onClosed: ({ code, reason }) => finish(kindOf(code), reason),
  });
  createSocketPair().then(
    ([inner, outer]) => {
      for (const half of [inner, outer]) half.on('error', () => {});
      if (ended) {
        inner.destroy();
        outer.destroy();
        return;
      }
      begin(inner);
      join.to(outer);
      outer.once('close', lost);
    },
    (fault) => end('broken', `No socket could be made: ${String(fault)}`),
  );

  function begin(inner: Socket): void {
    const made: Http2Session = deps.accept === undefined ? openingSession(inner) : acceptingSession(inner);
    session = made;
    if (deps.accept !== undefined) made.on('stream', pipes.take as never);
    made.on('error', () => {});
    made.once('remoteSettings', () => {
      made.setLocalWindowSize(windowOfCarrier);
      if (ended) return;
      up = true;
      cancelSetup();
      silence.begin();
      deps.onUp();
    });
    made.on('goaway', (_code, _last, data) => {
      if (draining === null)
        markDraining(data?.toString() === 'replaced' ? 'replaced' : 'closing', 'The other side closes.', drainMs);
    });
    made.once('close', lost);
  }

  function ping(): void {
    try {
      session?.ping(() => {});
    } catch {
      // It is ending, and reports its end on its own.
    }
  }

  function markDraining(kind: 'replaced' | 'closing', reason: string, graceMs: number): boolean {
    if (ended) return false;
    cancelDrain();
    cancelDrain = timers.after(graceMs, () => end(kind, reason));
    if (draining !== null) return false;
    draining = kind;
    drainReason = reason;
    pipes.tellDraining();
    deps.onDraining(kind);
    return true;
  }

  /** No stream is left: after draining, this is the normal end. */
  function lost(): void {
    if (draining === null) end('broken', 'The connection inside the link closed.');
    else end(draining, drainReason);
  }

  function end(kind: EndKind, reason: string): void {
    if (ended) return;
    // The reason is shortened to fit a close frame.
    join.close(endCodes[kind], reason.slice(0, 100));
    finish(kind, reason);
  }

  function finish(kind: CarrierEnd['kind'], reason: string): void {
    if (ended) return;
    ended = true;
    cancelSetup();
    cancelDrain();
    silence.stop();
    // The pipes first: a session's leftovers must not decide whether a caller waits for ever.
    pipes.end(reason);
    session?.destroy();
    join.destroy();
    deps.onEnd({ kind, reason });
  }

  return {
    get ready() {
      return up && !ended && draining === null;
    },
    get pipes() {
      return pipes.size;
    },
    open(side) {
      if (!up || ended || draining !== null) return null;
      return pipes.open(session as ClientHttp2Session, side);
    },
    drain(kind, reason, graceMs = drainMs) {
      if (!markDraining(kind, reason, graceMs)) return;
      if (!up || session === null || session.destroyed) return end(kind, reason);
      session.goaway(constants.NGHTTP2_NO_ERROR, 0, Buffer.from(kind));
      session.close();
    },
    end,
  };
}

function openingSession(inner: Socket): ClientHttp2Session {
  const options = { ...shared, settings, peerMaxConcurrentStreams: maxPipes, createConnection: () => inner };
  return connect('http://runtime', options);
}

function acceptingSession(inner: Socket): Http2Session {
  const options = { ...shared, ...resets, settings: { ...settings, maxConcurrentStreams: maxTaken } };
  return performServerHandshake(inner, options);
}

/** The open pipes of one carrier: opened here, or accepted where `accept` knows the endpoint. */
function createPipes(accept: CarrierDeps['accept']) {
  const pipes = new Set<Pipe>();
  let ended = false;

  function keep(stream: Http2Stream): Pipe {
    const pipe = new Pipe(stream);
    pipes.add(pipe);
    pipe.on('error', () => {}); // Users listen too; this listener only keeps an error from ending the program.
    pipe.once('close', () => pipes.delete(pipe));
    return pipe;
  }

  return {
    get size() {
      return pipes.size;
    },
    open(session: ClientHttp2Session, side: string): Pipe | null {
      if (pipes.size >= maxPipes) return null;
      try {
        const stream = session.request(
          { [constants.HTTP2_HEADER_METHOD]: 'CONNECT', [constants.HTTP2_HEADER_AUTHORITY]: side },
          { endStream: false },
        );
        return keep(stream);
      } catch {
        return null; // It ends at this moment.
      }
    },
    take(stream: ServerHttp2Stream, headers: Record<string, unknown>): void {
      stream.on('error', () => {});
      const side =
        headers[constants.HTTP2_HEADER_METHOD] === 'CONNECT' ? headers[constants.HTTP2_HEADER_AUTHORITY] : null;
      if (typeof side !== 'string' || ended) {
        stream.respond({ [constants.HTTP2_HEADER_STATUS]: 405 }, { endStream: true });
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return;
      }
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 });
      const pipe = keep(stream);
      if (accept?.(side, pipe) !== true) pipe.destroy();
    },
    tellDraining() {
      for (const pipe of [...pipes]) pipe.emit(drainingEvent);
    },
    end(reason: string) {
      ended = true;
      for (const pipe of [...pipes])
        pipe.destroy(Object.assign(new Error(reason || 'The link was cut.'), { code: 'ECONNRESET' }));
    },
  };
}

/**
 * Notices that the other side is gone. A beat of pings finds any silence; after something was sent, a ping of its own finds a cut that is reported to
 * neither side sooner: without it, callers would wait until two pings of the beat are missed.
 */
function createSilenceWatch(deps: {
  readonly timers: Timers;
  readonly ping: () => void;
  /** The network has not taken yet what was sent: an answer cannot be expected, and the beat decides. */
  readonly isSending: () => boolean;
  readonly onSilent: (ms: number) => void;
}) {
  const { timers, ping, onSilent } = deps;
  let began = false;
  let heardSinceBeat = true;
  let misses = 0;
  let cancelBeat = () => {};
  let step: 'idle' | 'said' | 'asked' = 'idle';
  let saidSince = false;
  let cancelStep = () => {};

  function beat(): void {
    misses = heardSinceBeat ? 0 : misses + 1;
    if (misses >= maxMisses) {
      onSilent(pingEveryMs * (maxMisses + 1));
      return;
    }
    heardSinceBeat = false;
    ping();
    cancelBeat = timers.after(pingEveryMs, beat);
  }

  function waitToAsk(): void {
    step = 'said';
    cancelStep = timers.after(askAfterMs, ask);
  }

  function ask(): void {
    step = 'asked';
    saidSince = false;
    ping();
    // In two halves: after this program stood still, its timers come before what was received meanwhile, which is read in the second half.
    cancelStep = timers.after(answerMs / 2, () => {
      cancelStep = timers.after(answerMs / 2, giveUp);
    });
  }

  function giveUp(): void {
    if (deps.isSending()) done();
    else onSilent(answerMs);
  }

  function done(): void {
    step = 'idle';
    if (saidSince) waitToAsk();
  }

  return {
    /** Both sides are ready. */
    begin() {
      began = true;
      cancelBeat = timers.after(pingEveryMs, beat);
    },
    said(bytes: number) {
      if (bytes <= controlBytes || !began) return;
      saidSince = true;
      if (step === 'idle') waitToAsk();
    },
    heard() {
      heardSinceBeat = true;
      if (step !== 'asked') return;
      cancelStep();
      done();
    },
    /** For good. */
    stop() {
      began = false;
      cancelBeat();
      cancelStep();
    },
  };
}

function kindOf(code: number): CarrierEnd['kind'] {
  for (const [kind, value] of Object.entries(endCodes)) if (value === code) return kind as EndKind;
  return 'cut';
}
