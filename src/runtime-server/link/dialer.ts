/**
 * The runtime's end of its link: dials its home cloud, serves the streams that the cloud opens, and dials again when the link is
 * gone. The runtime always dials, so that a computer behind a firewall needs no open port. Owns when to dial; must not know
 * routes, or how a computer is paired.
 */

import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { dialInHeaders, linkPath } from '../../contracts/link/dial-in.ts';
import { type Carrier, type CarrierEnd, createCarrier, setupMs } from '../../kit/link/carrier.ts';
import { signedHeaders } from '../../kit/signing/signature.ts';
import { largestOffsetMs } from '../../kit/signing/signed-call.ts';
import type { Base } from '../base/base.ts';
import { type Refusal, readRefusal } from './refusal.ts';

interface Home {
  /** `https://gantry.example`, with or without a path below which the cloud is served. */
  readonly cloudUrl: string;
  readonly computerId: string;
  /** Signs for the computer. */
  readonly key: string;
  /** Dials over this connection, once, in place of one to the address. */
  readonly over?: Duplex;
}

export interface DialerDeps extends Pick<Base, 'clock' | 'timers'> {
  /** Asked before each try; null: nothing is paired, asked again with the next try. */
  readonly home: () => Home | null;
  readonly serve: {
    /** A connection to the engine, as if it came through a socket. */
    engine(connection: Duplex): void;
    /** The same for requests that need a peer ticket. */
    peer(connection: Duplex): void;
  };
  /** A fresh bearer for the next connection; the one before may still be under way. */
  readonly linkToken: () => string;
  /** What a person can do once the cloud no longer accepts the key. Default: what ends a pairing. */
  readonly ifKeyRefused?: string;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: {
    info(message: string, facts?: Record<string, unknown>): void;
    warn(message: string, facts?: Record<string, unknown>): void;
  };
}

interface DialerState {
  readonly linked: boolean;
  /** Since when it is so, milliseconds since the epoch. */
  readonly since: number;
  /** Why it is not linked, by the last report; null while linked and before the first try. */
  readonly problem: string | null;
}

interface Dialer {
  /** Begins to dial; while it does, the next try is made at once. */
  start(): void;
  /** The same while it is linked: what runs on that link may finish once the new one is up. */
  replace(): void;
  /** Ends the link and dials no more, until `start`. Lets what runs finish for `graceMs`. */
  stop(graceMs?: number): Promise<void>;
  state(): DialerState;
  /** Told after each change; also when a new connection replaces one. */
  onChange(listener: (linked: boolean) => void): () => void;
}

const firstDelayMs = 500;
const maxDelayMs = 30_000;
const largestMessage = 1 << 20;
const closeFrameMs = 2_000;
const stopGraceMs = 1_000;

export function createDialer(deps: DialerDeps): Dialer {
  const { clock, timers, log } = deps;
  const listeners = new Set<(linked: boolean) => void>();
  /** Everything that has a WebSocket open, the current one among it. */
  const carriers = new Set<Carrier>();
  let current: Carrier | null = null;
  /** The one that the next is to replace. */
  let former: Carrier | null = null;
  let dialling: WebSocket | null = null;
  let started = false;
  let since = clock.now();
  let problem: string | null = null;
  let failures = 0;
  /** Grows while somebody else keeps dialling as this computer: two machines with one data folder must not chase each other. */
  let contested = 0;
  let epoch = 0;
  let offsetMs = 0;
  let signedAtS = 0;
  let learned = false;
  let cancelTry = () => {};
  const waitForEmpty: (() => void)[] = [];

  function change(linked: boolean): void {
    for (const listener of [...listeners]) listener(linked);
  }

  function dial(): void {
    cancelTry();
    if (!started || dialling !== null || current !== null) return;
    const home = deps.home();
    if (home === null) {
      later('This computer is not paired.');
      return;
    }
    let socket: WebSocket;
    try {
      socket = open(home);
    } catch (fault) {
      later(`The address ${home.cloudUrl} cannot be reached: ${String(fault)}`);
      return;
    }
    dialling = socket;
    let told = false;
    const fail = (why: string, atLeastMs = 0, atOnce = false) => {
      if (told) return;
      told = true;
      cancelWait();
      if (dialling === socket) dialling = null;
      socket.terminate();
      if (atOnce && started) dial();
      else later(why, atLeastMs);
    };
    const cancelWait = timers.after(setupMs, () => fail('The cloud did not answer in time.'));
    socket.on('error', (fault) => fail(`The cloud cannot be reached: ${fault.message}`));
    socket.on('close', () => fail('The connection was closed.'));
    socket.on('unexpected-response', (_request, response) => {
      readRefusal(response, (refusal) => {
        fail(reasonOf(refusal, deps.ifKeyRefused), refusal.retryAfterMs, learn(refusal));
      });
    });
    let below: Duplex | undefined;
    socket.on('upgrade', (response) => {
      below = response.socket;
    });
    socket.on('open', () => {
      if (told || below === undefined) return;
      told = true;
      cancelWait();
      dialling = null;
      carry(socket, below);
    });
  }

  function open({ cloudUrl, computerId, key, over }: Home): WebSocket {
    const url = new URL(cloudUrl);
    url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
    // A proxy in front of the cloud strips the path: the signature covers the path that the cloud sees.
    url.pathname = url.pathname.replace(/\/+$/, '') + linkPath;
    const now = clock.now() + offsetMs;
    epoch = Math.max(epoch + 1, now);
    // A signature is taken once, and two of the same second are one: the second try in a second is signed for the next.
    signedAtS = Math.max(signedAtS + 1, Math.floor(now / 1000));
    const signer = { runtimeId: computerId, key, now: () => signedAtS * 1000 };
    const headers = {
      ...signedHeaders(signer, { method: 'GET', path: linkPath, body: '' }),
      [dialInHeaders.epoch]: String(epoch),
      [dialInHeaders.token]: deps.linkToken(),
    };
    // Its types do not know `closeTimeout` yet, so the options are an object of their own.
    const options = {
      headers,
      perMessageDeflate: false,
      maxPayload: largestMessage,
      followRedirects: false,
      closeTimeout: closeFrameMs,
      ...(canBeRead(url) ? {} : { generateMask: noMask }),
      ...(over === undefined ? {} : { createConnection: () => over }),
    };
    return new WebSocket(url, options);
  }

  function carry(socket: WebSocket, below: Duplex): void {
    const carrier = createCarrier({
      socket,
      below,
      timers,
      accept(side, pipe) {
        if (side !== 'engine' && side !== 'peer') return false;
        deps.serve[side](pipe);
        return true;
      },
      onUp() {
        former?.drain('replaced', 'This computer made a newer connection.');
        former = null;
        failures = contested;
        learned = false;
        problem = null;
        since = clock.now();
        log.info('This computer is linked to its cloud.');
        change(true);
      },
      onDraining(kind) {
        contested = kind === 'replaced' ? contested + 2 : 0;
        failures = contested;
        away(
          carrier,
          kind === 'replaced' ? 'Another connection of this computer took its place.' : 'The cloud is shutting down.',
        );
      },
      onEnd(end) {
        carriers.delete(carrier);
        if (current === carrier) contested = 0;
        away(carrier, describe(end));
        if (carriers.size === 0) for (const told of waitForEmpty.splice(0)) told();
      },
    });
    carriers.add(carrier);
    current = carrier;
  }

  function away(carrier: Carrier, why: string): void {
    if (current !== carrier) return;
    current = null;
    since = clock.now();
    log.info('This computer is no longer linked to its cloud.', { why });
    change(false);
    later(why);
  }

  /** Full jitter: computers that lost the same cloud must not come back at the same moment. */
  function later(why: string, atLeastMs = 0): void {
    if (problem === null && current === null && why !== problem) log.warn('This computer is not linked.', { why });
    problem = why;
    if (!started) return;
    const longest = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures, 10));
    failures += 1;
    cancelTry();
    cancelTry = timers.after(Math.max(atLeastMs, deps.random() * longest), dial);
  }

  /** True when another try at once makes sense: once, or a cloud with a false time would be dialled forever. */
  function learn({ status, serverTime, epoch: newest }: Refusal): boolean {
    const first = !learned;
    if (status === 401 && serverTime !== null) {
      const off = serverTime * 1000 - clock.now();
      if (Math.abs(off) > largestOffsetMs) return false;
      offsetMs = off;
      signedAtS = 0;
    } else if (status === 409 && newest !== null) {
      epoch = Math.max(epoch, newest);
    } else return false;
    learned = true;
    return first;
  }

  function start(): void {
    started = true;
    failures = 0;
    learned = false;
    dial();
  }

  return {
    start,
    replace() {
      const before = dialling;
      dialling = null;
      former = current ?? former;
      current = null;
      before?.terminate();
      start();
    },
    async stop(graceMs = stopGraceMs) {
      started = false;
      cancelTry();
      dialling?.terminate();
      for (const carrier of [...carriers]) carrier.drain('closing', 'The computer is shutting down.', graceMs);
      if (carriers.size > 0) await new Promise<void>((resolve) => waitForEmpty.push(resolve));
    },
    state: () => ({ linked: current?.ready ?? false, since, problem }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * A mask keeps intermediaries from taking our bytes for requests (RFC 6455, 10.3). Behind TLS and on this computer none reads them, and masking
 * would halve the speed.
 */
const noMask = (mask: Buffer) => void mask.fill(0);
const thisComputer = new Set(['127.0.0.1', '[::1]', 'localhost']);

function canBeRead({ protocol, hostname }: URL): boolean {
  return protocol === 'ws:' && !thisComputer.has(hostname);
}

function describe({ kind, reason }: CarrierEnd): string {
  if (kind === 'cut') return 'The link was cut.';
  return reason === '' ? `The link ended (${kind}).` : reason;
}

const endPairing = 'If the pairing was ended there, end it here too, then pair again: gantry pair --end';

/** A key that is refused while the clocks agree belongs to a pairing that was ended: the cloud's own message would not say so. */
function reasonOf({ status, message, serverTime }: Refusal, ifKeyRefused = endPairing): string {
  if (status !== 401 || serverTime !== null) return `The cloud answered ${status}: ${message}`;
  return `The cloud answered 401: it no longer accepts this computer’s key. ${ifKeyRefused}`;
}
