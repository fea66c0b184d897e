/**
 * The listener for the person's other computers: 127.0.0.1:3019 while this one is paired, and the endpoint `peer` of the link. Loopback proves
 * nothing, so every call needs a ticket. Owns when it listens; must not know what the routes do.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../kit/clock/clock.ts';
import type { Timers } from '../kit/clock/timers.ts';
import { createDispatcher, type DispatcherOptions } from '../kit/http/dispatcher.ts';
import { closeServer, createHttpServer } from '../kit/http/server.ts';
import type { BoundRoute } from '../kit/http/types.ts';
import { createTicketAuthenticator, type TicketFacts } from '../runtime-server/peers/index.ts';
import { type OpenListener, openPort } from './listeners.ts';

/** What the peer server needs to know of the pairing of this computer. */
export interface PeerPairing {
  /** Null while it is not paired. */
  current(): TicketFacts | null;
  onChange(listener: () => void): () => void;
}

export interface PeerServer {
  /** Null while it does not listen. */
  readonly port: number | null;
  /** Why it does not listen although this computer is paired; null otherwise. */
  readonly problem: string | null;
  /** A connection that the cloud opened through the link. */
  connection(stream: Duplex): void;
  /** Ends event streams with a last event. */
  endStreams(reason: string): void;
  close(): Promise<void>;
}

/** A port in use may become free later; until then only the link's listener serves. Milliseconds. */
const againMs = 30_000;
const notPaired = 'This computer is no longer paired.';

export function createPeerServer(
  options: Pick<DispatcherOptions, 'ids' | 'limits' | 'answers'> & {
    readonly routes: readonly BoundRoute[];
    readonly pairing: PeerPairing;
    /** 0: any free one. */
    readonly port: number;
    readonly clock: Clock;
    readonly timers: Timers;
    readonly log: DispatcherOptions['log'];
  },
): PeerServer {
  const { pairing, timers, log } = options;
  const shared = {
    ...options,
    owners: {},
    shape: 'factory' as const,
    authenticators: [createTicketAuthenticator({ clock: options.clock, pairing: () => pairing.current() })],
  };
  const behindPort = createDispatcher({ ...shared, listener: { kind: 'tcp', origins: 'none' } });
  const behindLink = createDispatcher({ ...shared, listener: { kind: 'socket' } });
  const linked = createHttpServer((request, response) => void behindLink.handle(request, response));
  const connections = new Set<Duplex>();
  let bound: OpenListener | null = null;
  let problem: string | null = null;
  let served: TicketFacts | null = null;
  let cancelTry = () => {};
  let closed = false;
  /** One change of the listener at a time. */
  let changing: Promise<void> = Promise.resolve();

  const endStreams = (reason: string) => {
    behindPort.close(reason);
    behindLink.close(reason);
  };
  const shut = async () => {
    const open = bound;
    bound = null;
    await open?.close();
  };
  async function follow(): Promise<void> {
    cancelTry();
    const now = closed ? null : pairing.current();
    // Callers that the former pairing admitted must not continue under a new one.
    if (served !== null && !sameAccount(served, now)) {
      endStreams(notPaired);
      for (const stream of connections) stream.destroy();
    }
    served = now;
    if (now === null) {
      problem = null;
      await shut();
    } else if (bound === null) await listen();
  }
  async function listen(): Promise<void> {
    try {
      const opened = await openPort(options.port, '--peer-port');
      opened.serve((request, response) => void behindPort.handle(request, response));
      bound = opened;
      problem = null;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (problem !== why) log.warn('Other computers can reach this one only through its link.', { why });
      problem = why;
      cancelTry = timers.after(againMs, change);
    }
  }
  function change(): void {
    changing = changing.then(follow).catch((fault: unknown) => {
      log.error('The peer port failed.', { fault: String(fault) });
    });
  }
  const stop = pairing.onChange(change);
  change();

  return {
    get port() {
      return bound?.port ?? null;
    },
    get problem() {
      return problem;
    },
    connection(stream) {
      if (closed || pairing.current() === null) {
        stream.destroy();
        return;
      }
      connections.add(stream);
      stream.once('close', () => connections.delete(stream));
      linked.emit('connection', stream);
    },
    endStreams,
    async close() {
      closed = true;
      stop();
      change();
      await changing;
      endStreams('Gantry is stopping.');
      for (const stream of connections) stream.destroy();
      await closeServer(linked);
    },
  };
}

function sameAccount(before: TicketFacts, now: TicketFacts | null): boolean {
  if (now === null) return false;
  return before.issuer === now.issuer && before.computerId === now.computerId && before.user === now.user;
}
