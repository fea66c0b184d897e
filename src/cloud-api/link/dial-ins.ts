/**
 * The cloud's end of links: computers dial in, the cloud opens connections to them. One carrier for each computer; the newest wins, and the previous
 * one finishes its streams. Owns who is linked since when; must not know routes or tables.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { AppError } from '../../contracts/common/errors.ts';
import { dialInHeaders } from '../../contracts/link/dial-in.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { render, toAppError } from '../../kit/http/faults.ts';
import { endWith } from '../../kit/http/server.ts';
import { type Carrier, type CarrierEnd, createCarrier, maxPipes } from '../../kit/link/carrier.ts';
import { signatureHeaders } from '../../kit/signing/signature.ts';
import type { Link, LinkState } from './link.ts';

export interface Device {
  readonly computerId: string;
  readonly userId: string;
  /** The pairing of this computer; absent if nothing asks for it. */
  readonly pairing?: number;
}

interface Connection {
  readonly epoch: number;
  /** The bearer that the computer accepts over it. */
  readonly token: string;
}

export interface DialIns extends Link {
  credential(computerId: string): string | null;
  state(computerId: string): LinkState;
  /** The newest connection here; null: none. */
  current(computerId: string): Connection | null;
  /** Computers that are linked here. */
  linked(): string[];
  /** Another process has a newer connection: this one takes nothing new and finishes its streams. */
  retire(computerId: string, epoch: number): void;
  /** Takes an upgrade whose Host, Origin and path were checked. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /**
   * Ends every connection of this computer at once, such as after a revocation, including one that is still being made. Keeps those of the named
   * pairing.
   */
  end(computerId: string, reason: string, except?: number): void;
  /** Takes nothing more, lets streams finish for `graceMs`, then ends everything. */
  close(graceMs?: number): Promise<void>;
}

interface Linked extends Connection {
  readonly carrier: Carrier;
  readonly pairing: number | undefined;
}

interface Entry {
  /** Connected, and the newest. */
  current: Linked | null;
  /** Its WebSocket is open, HTTP/2 is not ready yet. */
  coming: Linked | null;
  /** Replaced or closing, still finishing. */
  readonly leaving: Set<Linked>;
  since: number;
}

/** Limit for a chunk read from a socket, with room to spare. */
const largestMessage = 1 << 20;
/** A live peer answers a close frame at once. */
const closeFrameMs = 2_000;
/** The program ends within 5 s. */
const closeGraceMs = 1_000;
const tokenShape = /^[A-Za-z0-9._~+/=-]{32,256}$/;
const epochShape = /^\d{1,15}$/;

export function createDialIns(deps: {
  /** The device that signed; null or a thrown 401: no valid signature. Accepts each signature once. */
  readonly authenticate: (request: IncomingMessage) => Promise<Device | null>;
  /** The epoch of this computer's connection at another process; null: none has one. */
  readonly newestElsewhere?: (computerId: string) => Promise<number | null>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: {
    info(message: string, facts?: Record<string, unknown>): void;
    warn(message: string, facts?: Record<string, unknown>): void;
  };
}): DialIns {
  const { timers, log } = deps;
  const connections = createConnections(deps);
  const { state, onChange, newest } = connections;
  /** Upgrades whose signature is being checked, by the id they claim. */
  const arriving = new Set<{ readonly claimed: string; ended: string | null }>();
  // Its types do not know `closeTimeout` yet, so the options are an object of their own.
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: largestMessage,
    closeTimeout: closeFrameMs,
  };
  const server = new WebSocketServer(options);
  let closing = false;

  async function admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const arrival = { claimed: String(request.headers[signatureHeaders.id] ?? ''), ended: null as string | null };
    arriving.add(arrival);
    try {
      const { epoch, token } = readHeaders(request);
      const device = await deps.authenticate(request);
      if (device === null) throw unauthorized('The upgrade is not signed.');
      const elsewhere = (await deps.newestElsewhere?.(device.computerId)) ?? -1;
      if (arrival.ended !== null) throw unauthorized(arrival.ended);
      if (closing) throw unavailable();
      const before = Math.max(newest(device.computerId), elsewhere);
      if (epoch <= before) throw older(epoch, before);
      if (socket.destroyed) return;
      server.handleUpgrade(request, socket, head, (ws) => connections.add(device, { epoch, token }, ws, socket));
    } finally {
      arriving.delete(arrival);
    }
  }

  return {
    state,
    credential: (computerId) => connections.current(computerId)?.token ?? null,
    onChange,
    current: connections.current,
    linked: connections.linked,
    retire(computerId, epoch) {
      const current = connections.current(computerId);
      if (current?.epoch === epoch) current.carrier.drain('replaced', 'A newer connection was made.');
    },
    untilLinked(computerId, ms, signal) {
      if (state(computerId).linked || signal.aborted) return Promise.resolve(!signal.aborted);
      return new Promise((resolve) => {
        const done = (came: boolean) => {
          stop();
          cancel();
          signal.removeEventListener('abort', leave);
          resolve(came);
        };
        const leave = () => done(false);
        const stop = onChange((id, linked) => {
          if (id === computerId && linked) done(true);
        });
        const cancel = timers.after(ms, leave);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
    open(computerId, side) {
      const current = connections.current(computerId);
      if (current === null || !current.carrier.ready) return Promise.reject(away(computerId, state(computerId).since));
      const pipe = current.carrier.open(side);
      if (pipe !== null) return Promise.resolve(pipe);
      return Promise.reject(current.carrier.ready ? full(computerId) : away(computerId, state(computerId).since));
    },
    handleUpgrade(request, socket, head) {
      socket.on('error', () => {});
      admit(request, socket, head).catch((thrown: unknown) => {
        const error = toAppError(thrown, 'link');
        if (error.code === 'internal') log.warn('A computer could not dial in.', { fault: String(error.cause) });
        refuse(socket, error);
      });
    },
    end(computerId, reason, except) {
      for (const arrival of arriving) if (arrival.claimed === computerId) arrival.ended = reason;
      connections.end(computerId, reason, except);
    },
    close(graceMs = closeGraceMs) {
      closing = true;
      return connections.drain('The cloud is shutting down.', graceMs);
    },
  };
}

/** The connections of each computer, from the open WebSocket to the end: the newest one counts, those before it finish. */
function createConnections({
  clock,
  timers,
  log,
}: {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: { info(message: string, facts?: Record<string, unknown>): void };
}) {
  const entries = new Map<string, Entry>();
  const listeners = new Set<(computerId: string, linked: boolean) => void>();
  const waitForEmpty: (() => void)[] = [];

  function entryOf(computerId: string): Entry {
    let entry = entries.get(computerId);
    if (entry === undefined) {
      entry = { current: null, coming: null, leaving: new Set(), since: 0 };
      entries.set(computerId, entry);
    }
    return entry;
  }

  function tell(computerId: string, linked: boolean): void {
    for (const listener of [...listeners]) listener(computerId, linked);
  }

  function raise(computerId: string, entry: Entry, linked: Linked): void {
    entry.coming = null;
    const before = entry.current;
    entry.current = linked;
    if (before === null) entry.since = clock.now();
    else {
      entry.leaving.add(before);
      before.carrier.drain('replaced', 'A newer connection was made.');
    }
    log.info('A computer is linked.', { computer: computerId, epoch: linked.epoch });
    tell(computerId, true);
  }

  /** It takes nothing new; its successor may be connected already. */
  function leave(computerId: string, entry: Entry, linked: Linked, replaced: boolean): void {
    entry.leaving.add(linked);
    if (entry.current !== linked) return;
    entry.current = null;
    entry.since = clock.now();
    log.info('A computer’s link closes.', { computer: computerId, replaced });
    tell(computerId, false);
  }

  function drop(computerId: string, entry: Entry, linked: Linked, end: CarrierEnd): void {
    entry.leaving.delete(linked);
    if (entry.coming === linked) entry.coming = null;
    if (entry.current === linked) {
      entry.current = null;
      entry.since = clock.now();
      log.info('A computer is not linked any more.', { computer: computerId, why: end.kind, reason: end.reason });
      tell(computerId, false);
    }
    if (waitForEmpty.length > 0 && carriers().length === 0) for (const told of waitForEmpty.splice(0)) told();
  }

  function carriers(): Carrier[] {
    return [...entries.values()].flatMap(({ current, coming, leaving }) =>
      [current, coming, ...leaving].flatMap((linked) => (linked === null ? [] : [linked.carrier])),
    );
  }

  return {
    /** Called in the tick in which its WebSocket opens: its first messages follow at once. */
    add({ computerId, pairing }: Device, connection: Connection, socket: WebSocket, below: Duplex): void {
      const entry = entryOf(computerId);
      const linked: Linked = {
        ...connection,
        pairing,
        carrier: createCarrier({
          socket,
          below,
          timers,
          onUp: () => raise(computerId, entry, linked),
          onDraining: (kind) => leave(computerId, entry, linked, kind === 'replaced'),
          onEnd: (end) => drop(computerId, entry, linked, end),
        }),
      };
      entry.coming?.carrier.end('replaced', 'A newer connection was made.');
      entry.coming = linked;
    },
    /** The highest epoch among the connected or connecting ones; -1 if there are none. */
    newest(computerId: string): number {
      const entry = entries.get(computerId);
      return Math.max(entry?.current?.epoch ?? -1, entry?.coming?.epoch ?? -1);
    },
    state(computerId: string): LinkState {
      const entry = entries.get(computerId);
      return { linked: entry?.current != null, since: entry?.since ?? 0 };
    },
    onChange(listener: (computerId: string, linked: boolean) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    current: (computerId: string): Linked | null => entries.get(computerId)?.current ?? null,
    linked: () => [...entries].flatMap(([computerId, { current }]) => (current === null ? [] : [computerId])),
    end(computerId: string, reason: string, except: number | undefined): void {
      const entry = entries.get(computerId);
      if (entry === undefined) return;
      for (const linked of [entry.coming, ...entry.leaving, entry.current]) {
        if (linked !== null && (except === undefined || linked.pairing !== except)) {
          linked.carrier.end('revoked', reason);
        }
      }
    },
    /** Resolves when all have ended, at the latest after `graceMs`. */
    async drain(reason: string, graceMs: number): Promise<void> {
      for (const carrier of carriers()) carrier.drain('closing', reason, graceMs);
      if (carriers().length > 0) await new Promise<void>((resolve) => waitForEmpty.push(resolve));
    },
  };
}

function readHeaders({ headers }: IncomingMessage): { epoch: number; token: string } {
  const epoch = headers[dialInHeaders.epoch];
  const token = headers[dialInHeaders.token];
  if (typeof epoch !== 'string' || !epochShape.test(epoch) || typeof token !== 'string' || !tokenShape.test(token)) {
    throw new AppError(
      'usage',
      `A computer dials with ${dialInHeaders.epoch} and ${dialInHeaders.token}.`,
      'Send both, and the three headers of its signature.',
      { wireCode: 'bad_request' },
    );
  }
  return { epoch: Number(epoch), token };
}

function refuse(socket: Duplex, error: AppError): void {
  const { status, body, headers } = render(error, 'plain');
  const text = JSON.stringify(body);
  const lines = Object.entries({
    connection: 'close',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  endWith(socket, `HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${text}`);
}

/** The response for a computer without a link; `since` as in {@link LinkState}. */
export function away(computerId: string, since: number): AppError {
  return new AppError(
    'transport',
    `The computer ${computerId} is not linked${since === 0 ? ', and has not been since this cloud started' : `, since ${iso(since)}`}.`,
    'Check that Gantry runs there and can reach this cloud.',
    { wireCode: 'computer_unavailable' },
  );
}

function full(computerId: string): AppError {
  return new AppError(
    'refused',
    `The computer ${computerId} has ${maxPipes} connections open, the most that a link allows.`,
    'Close a page or a stream, or wait a moment.',
    { status: 429, wireCode: 'rate_limited', retryAfter: 5 },
  );
}

function older(epoch: number, newest: number): AppError {
  return new AppError(
    'refused',
    `Connection ${newest} of this computer is newer than ${epoch}.`,
    'Dial with a newer one.',
    { status: 409, wireCode: 'conflict', extra: { epoch: newest } },
  );
}

function unauthorized(fact: string): AppError {
  return new AppError('refused', fact, 'Sign with the key of a paired computer.', {
    status: 401,
    wireCode: 'unauthorized',
  });
}

function unavailable(): AppError {
  return new AppError('transport', 'This cloud is closing.', 'Dial again in a moment.', {
    wireCode: 'unavailable',
    retryAfter: 1,
  });
}
