/**
 * How the program in a hosted computer reaches its cloud: it dials over each connection that is offered on its socket, and serves its routes over the
 * newest link. It never dials again without an offer, because it knows no address. Must not know the routes.
 */
import type { Duplex } from 'node:stream';
import { driverUser } from '../contracts/hosted-computers/computer.ts';
import type { Clock } from '../kit/clock/clock.ts';
import type { Timers } from '../kit/clock/timers.ts';
import { createLinkTokens, createPairedLinkAuthenticator } from '../kit/http/paired-link.ts';
import type { Authenticator } from '../kit/http/types.ts';
import { type Dial, readyWord, takeOffer } from '../kit/link/offer.ts';
import { createDialer, type DialerDeps } from '../runtime-server/link/dialer.ts';
import type { OpenConnections } from './listeners.ts';

interface HostedDialer {
  /** The cloud of this computer, over its link. */
  readonly authenticator: Authenticator;
  /** Takes what is offered from now on. */
  serve(connections: OpenConnections, accept: (connection: Duplex) => void): void;
}

/** The link is inside of the offered connection: no program reads it on its way, and no address is looked up. */
const nowhere = 'http://localhost';

export function createHostedDialer({
  secret,
  clock,
  timers,
  log,
}: {
  /** Of this start; what offers a connection proves itself with it. */
  readonly secret: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: DialerDeps['log'];
}): HostedDialer {
  const tokens = createLinkTokens();
  let serving: (connection: Duplex) => void = (connection) => connection.destroy();
  /** Offered, and not dialled over yet. */
  let offered: { readonly over: Duplex; readonly dial: Dial } | null = null;
  /** As whom it dials now, and as whom it was taken last. A warm one learns from its first offer who it is. */
  let dialling: string | null = null;
  let computer: string | null = null;
  /** What this clock must be ahead by to be the cloud's. */
  let aheadMs = 0;

  const dialer = createDialer({
    home() {
      if (offered === null) return null;
      const { over, dial } = offered;
      offered = null;
      dialling = dial.computer;
      return { cloudUrl: dial.cloud ?? nowhere, computerId: dial.computer, key: dial.key, over };
    },
    serve: { engine: (connection) => serving(connection), peer: (connection) => connection.destroy() },
    linkToken: () => tokens.next(),
    clock: { ...clock, now: () => clock.now() + aheadMs },
    timers,
    random: Math.random,
    log,
  });

  dialer.onChange((linked) => {
    if (linked) computer = dialling;
  });

  function dialOver(over: Duplex, dial: Dial): void {
    offered?.over.destroy();
    offered = { over, dial };
    aheadMs = dial.at - clock.now();
    dialer.replace();
  }

  return {
    authenticator: createPairedLinkAuthenticator({
      tokens,
      user: () => (computer === null ? null : driverUser(computer)),
    }),
    serve(connections, accept) {
      serving = accept;
      connections.take((connection) => {
        void takeOffer(connection, secret).then((dial) => {
          if (dial === null) connection.end(readyWord);
          else if (dial !== undefined) dialOver(connection, dial);
        });
      });
    },
  };
}
