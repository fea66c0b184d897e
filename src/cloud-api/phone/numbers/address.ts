/**
 * The relay address of a number: 32 random bytes that only the carrier is told. Kept hashed, to be found by; and sealed, to be told
 * again. Must not know rows.
 */
import type { Sealer } from '../../../kit/secrets/sealer.ts';
import { hashOf } from './store.ts';

export interface MintedAddress {
  readonly addressHash: string;
  /** Sealed. */
  readonly address: string;
}

export interface Addresses {
  mint(numberId: string): MintedAddress;
  /** The whole of it, as the carrier posts to it. */
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
