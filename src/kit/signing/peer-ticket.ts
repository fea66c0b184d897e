/**
 * Peer tickets: a JWT by which the cloud lets one of its users call one computer for five minutes. The names and bounds
 * that both sides share, and the check. First user: the cloud, which issues them; second: the peer server. Must not
 * know routes.
 */
import { createLocalJWKSet, errors, jwtVerify } from 'jose';
import { AppError } from '../../contracts/common/errors.ts';
import type { TicketKey } from '../../contracts/link/pairings.ts';
import type { Clock } from '../clock/clock.ts';

export const peerTicketType = 'peer-ticket+jwt';
export const ticketAlgorithm = 'EdDSA';
export const ticketLifeS = 5 * 60;
/** Accepted difference between the clocks of two computers. */
export const ticketToleranceS = 30;

export const ticketAudience = (computerId: string) => `computer:${computerId}`;

interface PeerTicket {
  /** The cloud's id of the caller. */
  readonly userId: string;
  readonly ticketId: string;
  /** Milliseconds since the epoch; streams end {@link ticketToleranceS} later. */
  readonly expiresAt: number;
}

interface PeerTicketCheck {
  /** From the pairing file. */
  readonly keys: readonly TicketKey[];
  readonly computerId: string;
  /** Address of the cloud that it is paired with. */
  readonly issuer: string;
  readonly clock: Clock;
}

/** Throws `refused` 401 for anything but a valid ticket for this very computer now. */
export async function verifyPeerTicket(
  token: string,
  { keys, computerId, issuer, clock }: PeerTicketCheck,
): Promise<PeerTicket> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [...keys] }), {
      algorithms: [ticketAlgorithm, 'Ed25519'],
      typ: peerTicketType,
      issuer,
      audience: ticketAudience(computerId),
      requiredClaims: ['sub', 'jti', 'iat', 'exp'],
      maxTokenAge: ticketLifeS,
      clockTolerance: ticketToleranceS,
      currentDate: new Date(clock.now()),
    });
    const { sub = '', jti = '', exp = 0 } = payload;
    if (sub === '') throw new errors.JWTClaimValidationFailed('sub is empty', payload, 'sub');
    return { userId: sub, ticketId: jti, expiresAt: exp * 1000 };
  } catch (cause) {
    const expired = cause instanceof errors.JWTExpired;
    throw new AppError(
      'refused',
      expired ? 'The peer ticket has expired.' : 'The peer ticket is not valid on this computer.',
      'Ask the cloud for a new one.',
      { status: 401, cause },
    );
  }
}
