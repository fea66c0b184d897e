/**
 * Joins the computers of a cloud to the rest of it: their keys, their links, their owners, and what ends with a pairing. The computer of the same
 * process is known without a pairing.
 */

import {
  type Credentials,
  createCredentials,
  createTakeOffered,
  type HostedLink,
} from '../cloud-api/hosted-computers/index.ts';
import type { Identity } from '../cloud-api/identity/index.ts';
import { createDevices, type Devices } from '../cloud-api/link/devices.ts';
import { type ComputerLookup, createLinkArea, type LinkArea } from '../cloud-api/link/index.ts';
import { createTickets, type Tickets } from '../cloud-api/link/tickets.ts';
import { AppError } from '../contracts/common/errors.ts';
import { localPairingRoutes } from '../contracts/link/local-pairing.ts';
import type { Clock } from '../kit/clock/clock.ts';
import type { AddressOf } from '../kit/http/client-address.ts';
import type { HttpLog } from '../kit/http/dispatcher.ts';
import { createLimits } from '../kit/http/limits.ts';
import type { Authenticator, BoundRoute } from '../kit/http/types.ts';
import type { Ids } from '../kit/ids/ids.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { createDeviceAuthenticator } from '../kit/signing/authenticator.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Closing } from './closing.ts';
import type { EmbeddedMode, LinkEnd, LinkParts } from './cloud-options.ts';
import { openHostedDialIns } from './dial-ins.ts';
import { packageVersion } from './places.ts';

export interface ComposedComputers {
  readonly area: LinkArea;
  /** The one of the same process is known without a look: a key stroke must not wait for one. */
  readonly lookup: ComputerLookup;
  readonly devices: Devices;
  readonly linkEnd: LinkEnd;
  /** How hosted computers dial in. */
  readonly hosted: { readonly link: HostedLink; readonly credentials: Credentials };
  readonly tickets: Tickets;
  /** Computers by their signature. */
  readonly authenticator: Authenticator;
  /** Called when a computer's pairing ends: nothing that the computer began may continue. Returns a function that stops listening. */
  onEnded(listener: (computerId: string) => void): () => void;
}

/** Codes that one address may ask for. */
const pairingsAMinute = 20;

export async function composeComputers(
  options: {
    readonly store: SharedStore;
    readonly masterKey: string;
    readonly openLink: (parts: LinkParts) => LinkEnd | Promise<LinkEnd>;
    readonly storeClock: LinkParts['storeClock'];
    readonly identity: Pick<Identity, 'admits' | 'users' | 'sessions'>;
    /** The one of the same process; null where computers dial in. */
    readonly local: EmbeddedMode | null;
    /** Address of this cloud. */
    readonly origin: string;
    readonly addressOf: AddressOf;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly log: HttpLog;
  },
  closing: Closing,
): Promise<ComposedComputers> {
  const { store, masterKey, identity, local, origin, addressOf, clock, ids, log } = options;
  const devices = createDevices({ store, sealer: createSealer({ masterKey, purpose: 'device' }), clock });
  const authenticator = createDeviceAuthenticator({
    store,
    clock,
    async find(id) {
      const device = await devices.find(id);
      return device !== null && (await identity.admits(device.userId)) ? device : null;
    },
    used: (id, key) => devices.used(id, key),
  });
  const credentials = createCredentials({
    store,
    clock,
    sealer: createSealer({ masterKey, purpose: 'hosted computer' }),
  });
  const parts = { store, storeClock: options.storeClock, devices, authenticator, hosted: credentials.authenticator };
  const linkEnd = await options.openLink(parts);
  closing.add('computers', () => linkEnd.close());
  const hosted = { credentials, link: openHostedLink(linkEnd, credentials, options, closing) };
  const tickets = await createTickets({
    store,
    sealer: createSealer({ masterKey, purpose: 'ticket' }),
    clock,
    ids,
    issuer: origin,
  });
  const listeners = new Set<(computerId: string) => void>();
  const limits = createLimits({ publicPages: pairingsAMinute }, { addressOf });
  const area = createLinkArea({
    store,
    devices,
    link: linkEnd.link,
    endLink(id, reason, except) {
      linkEnd.end?.(id, reason, except);
      for (const listener of listeners) listener(id);
    },
    users: identity.users,
    home: {
      begin: ({ userId, computerId, name }) => identity.sessions.beginHome(userId, computerId, name),
      end: (computerId) => identity.sessions.endHome(computerId),
    },
    tickets,
    origin,
    open: local === null,
    addressOf,
    limit: (request) => limits.page(request),
    clock,
    ids,
    log,
  });
  closing.add('list of computers', () => area.computers.close());
  if (local !== null) {
    const { computerId: id, userId, token } = local.device;
    await area.computers.know({ id, userId, token, name: local.computer.name, version: packageVersion() });
  }
  const onEnded = (listener: (computerId: string) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const lookup = local === null ? area.computers : lookUpLocal(local.computer.id, area.computers);
  return { area, lookup, devices, linkEnd, hosted, tickets, authenticator, onEnded };
}

/** Hosted computers dial where paired ones do; where none can, in a place of their own. */
function openHostedLink(
  { link, upgrade, end }: LinkEnd,
  { authenticator }: Credentials,
  { clock, log }: { readonly clock: Clock; readonly log: HttpLog },
  closing: Closing,
): HostedLink {
  if (upgrade !== undefined) {
    return { link, take: createTakeOffered(upgrade), end: (id, reason) => end?.(id, reason) };
  }
  const own = openHostedDialIns(authenticator, {
    clock,
    // Each computer's own events say when it came and went.
    log: { info() {}, warn: (message, facts) => log.warn(message, facts) },
  });
  closing.add('hosted computers that dialled', () => own.close());
  return { link: own, take: createTakeOffered(own.handleUpgrade), end: own.end };
}

function lookUpLocal(computerId: string, others: ComputerLookup): ComputerLookup {
  return {
    resolve: (userId, named) => (named === null || named === computerId ? computerId : others.resolve(userId, named)),
  };
}

/** A multi-user cloud has no computer of its own to pair. */
export const noComputerHere: readonly BoundRoute[] = localPairingRoutes.map((route) => ({
  route,
  handler() {
    throw new AppError('not_found', 'This server has no computer of its own.', 'Use the Gantry on your computer.', {
      wireCode: 'no_computer',
    });
  },
}));
