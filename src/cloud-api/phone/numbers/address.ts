/**
 * The relay address of a number: 32 random bytes that only the carrier gets. Stored hashed, for lookups, and sealed, to be sent again. Must not know
 * rows.
 */
import type { Sealer } from '../../../kit/secrets/sealer.ts';
import { hashOf } from './store.ts';

interface MintedAddress {
  readonly addressHash: string;
  /** Sealed. */
  readonly address: string;
}

export interface Addresses {
  mint(numberId: string): MintedAddress;
  /** The full URL to which the carrier posts. */
  url(numberId: string, sealed: string): string;
}

const bytes = 32;

export function createAddresses(deps: {
  readonly sealer: Sealer;
  readonly random: (bytes: number) => Buffer;
  readonly webhookOrigin: string;
}): Addresses {
  const place = (numberId: string) => `phone_number|address|${numberId}`;
  return {
    mint(numberId) {
      const address = deps.random(bytes).toString('hex');
      return { addressHash: hashOf(address), address: deps.sealer.seal(place(numberId), address) };
    },
    url: (numberId, sealed) => `${deps.webhookOrigin}/channels/in/${deps.sealer.open(place(numberId), sealed)}`,
  };
}
