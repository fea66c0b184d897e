/** Authenticates a peer ticket. Must not know routes or where the pairing is kept. */
import type { TicketKey } from '../../contracts/link/pairings.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { bearerOf } from '../../kit/http/principals.ts';
import type { Authenticator } from '../../kit/http/types.ts';
import { verifyPeerTicket } from '../../kit/signing/peer-ticket.ts';

/** The pairing's values by which tickets are checked. */
export interface TicketFacts {
  readonly keys: readonly TicketKey[];
  readonly computerId: string;
  /** Address of the cloud. */
  readonly issuer: string;
  /** The person there whose computer this is. */
  readonly user: string;
  /** How far its clock is ahead of this computer's, as measured over the link. Milliseconds. */
  readonly aheadMs: number;
}

/** `pairing`: null while this computer is not paired; then every ticket is refused. */
export function createTicketAuthenticator(deps: { clock: Clock; pairing: () => TicketFacts | null }): Authenticator {
  return {
    name: 'peer-ticket',
    async authenticate(request) {
      const token = bearerOf(request);
      const pairing = deps.pairing();
      if (token === null || pairing === null) return null;
      // A ticket is good for five minutes of the cloud that signed it, however wrong this computer's clock is.
      const cloudClock = { ...deps.clock, now: () => deps.clock.now() + pairing.aheadMs };
      const { userId, expiresAt: cloudExpiresAt } = await verifyPeerTicket(token, { ...pairing, clock: cloudClock });
      const expiresAt = cloudExpiresAt - pairing.aheadMs;
      return { kind: 'peer', userId, scopes: new Set(), via: 'peer-ticket', expiresAt };
    },
  };
}
