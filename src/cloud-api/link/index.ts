/**
 * Computers of a cloud: pairing, keys, names, tickets and how each of them ends. Owns their composition; the host passes in the store, the link and
 * the sign-ins.
 */

import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { createDeviceToken, describeDevice, rotateDevice, unpairDevice } from '../../contracts/link/device.ts';
import { clockHeader, knownHere, knowsHeader } from '../../contracts/link/knows.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type Authenticator, type BoundRoute, bind, type OwnerLookups, type Principal } from '../../kit/http/types.ts';
import { largestOffsetMs } from '../../kit/signing/signed-call.ts';
import { type Computers, type ComputersDeps, createComputers } from './computers.ts';
import { type PairingsDeps, pairingRoutes } from './pairings.ts';
import type { Tickets } from './tickets.ts';

export type { ComputerLookup } from './computers.ts';

export interface LinkArea {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly authenticator: Authenticator;
  readonly computers: Computers;
}

export function createLinkArea(
  deps: ComputersDeps &
    Omit<PairingsDeps, 'computers' | 'tickets' | 'home' | 'store' | 'clock'> & {
      readonly tickets: Tickets;
    },
): LinkArea {
  const { devices, tickets } = deps;
  const computers = createComputers(deps);
  return {
    computers,
    owners: computers.owners,
    authenticator: tickets.authenticator((id) => computers.ownerOf(id)),
    routes: [
      ...computers.routes,
      ...pairingRoutes({ ...deps, computers }),
      bind(describeDevice, async ({ principal, body, request }) => {
        await computers.describe(idOf(principal), body.version, aheadOf(request, deps.clock.now()));
        return { body: undefined, headers: { [knowsHeader]: knownHere } };
      }),
      bind(rotateDevice, async ({ principal }) => {
        const deviceToken = await devices.rotate(idOf(principal));
        if (deviceToken === null) throw notPaired();
        return { body: { deviceToken } };
      }),
      bind(unpairDevice, async ({ principal }) => {
        await computers.revoke(idOf(principal), 'The computer ended its pairing.');
        return { body: undefined };
      }),
      bind(createDeviceToken, async ({ principal }) => {
        const { token, expiresAt } = await tickets.mintDeviceToken(idOf(principal), principal.userId);
        return { body: { token, expiresAt: iso(expiresAt) } };
      }),
    ],
  };
}

/** How far the computer's clock is ahead of this one; null: it did not say. */
function aheadOf({ headers }: IncomingMessage, now: number): number | null {
  const at = Number(headers[clockHeader]);
  return Number.isFinite(at) && Math.abs(at - now) <= largestOffsetMs ? Math.round(at - now) : null;
}

/** The authenticator of devices always names the computer that signed. */
const idOf = ({ computerId }: Principal) => computerId ?? '';

function notPaired(): AppError {
  return new AppError('refused', 'This computer is no longer paired.', 'Pair it again.', { status: 401 });
}
