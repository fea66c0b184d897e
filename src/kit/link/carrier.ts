/**
 * One WebSocket as a carrier of byte pipes with flow control of their own. The cloud opens pipes, the runtime accepts them. Owns pings, limits, draining
 * and the end; after the end nothing stays open and no caller keeps waiting. First user: dial-ins of the cloud; second: the dialer of the runtime. Must not
 * know who dials, or routes.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Timers } from '../clock/timers.ts';
import { createMultiplex } from './multiplex.ts';
import { drainingEvent, type Pipe } from './pipe.ts';
import { createWire } from './wire.ts';

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
/** Bytes that the network has not taken, at which pipes wait. */
const maxWaiting = 512 * 1024;
/** The same at which the other side counts as broken: it asks for answers and reads none. */
const maxUnread = 8 * 1024 * 1024;
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
  /** The connection that the WebSocket runs over. */
  readonly below: Duplex;
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

export function createCarrier(deps: CarrierDeps): Carrier {
  const { socket, timers } = deps;
  let up = false;
  let draining: 'replaced' | 'closing' | null = null;
  let drainReason = '';
  let ended = false;
  const cancelSetup = timers.after(setupMs, () => end('broken', 'The other side was not ready in time.'));
  let cancelDrain = () => {};

  const wire = createWire(socket, deps.below);
  const silence = createSilenceWatch({
    timers,
    isSending: () => wire.waiting > 0,
    onSilent: (ms) => end('silent', `Nothing was heard for ${ms / 1000} s.`),
  });
  const pipes = createMultiplex({
    send(parts, asks) {
      wire.send(parts);
      if (asks) silence.asked();
      else if (wire.waiting > maxUnread) end('broken', 'The other side does not read the answers that it asks for.');
    },
    isFull: () => wire.waiting >= maxWaiting,
    ...(deps.accept === undefined ? {} : { accept: deps.accept }),
    maxAccepted: maxTaken,
    onUp() {
      if (ended) return;
      up = true;
      cancelSetup();
      silence.begin(() => pipes.ping());
      deps.onUp();
    },
    onGoAway(data) {
      if (markDraining(data === 'replaced' ? 'replaced' : 'closing', 'The other side closes.', drainMs)) endIfDrained();
    },
    onClosed: endIfDrained,
    onFault: (why) => end('broken', why),
  });
  wire.listen({
    onBytes(bytes) {
      silence.heard();
      pipes.take(bytes);
    },
    onSent() {
      if (wire.waiting < maxWaiting / 2) pipes.resume();
    },
    onClosed: ({ code, reason }) => finish(kindOf(code), reason),
  });
  pipes.start();

  function markDraining(kind: 'replaced' | 'closing', reason: string, graceMs: number): boolean {
    if (ended) return false;
    cancelDrain();
    cancelDrain = timers.after(graceMs, () => end(kind, reason));
    if (draining !== null) return false;
    draining = kind;
    drainReason = reason;
    pipes.tell(drainingEvent);
    deps.onDraining(kind);
    return true;
  }

  /** Without a pipe, draining has come to its end. */
  function endIfDrained(): void {
    if (draining !== null && pipes.size === 0) end(draining, drainReason);
  }

  function end(kind: EndKind, reason: string): void {
    if (ended) return;
    // The reason is shortened to fit a close frame.
    wire.close(endCodes[kind], reason.slice(0, 100));
    finish(kind, reason);
  }

  function finish(kind: CarrierEnd['kind'], reason: string): void {
    if (ended) return;
    ended = true;
    cancelSetup();
    cancelDrain();
    silence.stop();
    pipes.end(reason);
    wire.destroy();
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
      if (!up || ended || draining !== null || pipes.size >= maxPipes) return null;
      return pipes.open(side);
    },
    drain(kind, reason, graceMs = drainMs) {
      if (!markDraining(kind, reason, graceMs)) return;
      if (up) pipes.goAway(kind);
      endIfDrained();
    },
    end,
  };
}

/**
 * Notices that the other side is gone. A beat of pings finds any silence; after something was sent, a ping of its own finds a cut that is reported to
 * neither side sooner: without it, callers would wait until two pings of the beat are missed.
 */
function createSilenceWatch(deps: {
  readonly timers: Timers;
  /** The network has not taken yet what was sent: an answer cannot be expected, and the beat decides. */
  readonly isSending: () => boolean;
  readonly onSilent: (ms: number) => void;
}) {
  const { timers, onSilent } = deps;
  let ping = () => {};
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
    begin(how: () => void) {
      began = true;
      ping = how;
      cancelBeat = timers.after(pingEveryMs, beat);
    },
    /** Something was sent that somebody waits for. */
    asked() {
      if (!began) return;
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
