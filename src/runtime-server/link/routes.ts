/** The pairing of this computer, for the person at it: the same routes on both of its listeners. */
import { endLocalPairing, readLocalPairing, startLocalPairing } from '../../contracts/link/local-pairing.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Pairing } from './pairing.ts';

export function localPairingRoutes(pairing: Pairing): BoundRoute[] {
  return [
    bind(readLocalPairing, () => ({ body: pairing.status() })),
    bind(startLocalPairing, async ({ body: { cloudUrl, dryRun } }) => {
      if (dryRun !== true) return { body: await pairing.begin(cloudUrl) };
      return { body: { dryRun: true as const, plan: { cloudUrl: await pairing.check(cloudUrl) } } };
    }),
    bind(endLocalPairing, async ({ query: { dryRun } }) => {
      if (dryRun !== true) return { body: await pairing.end() };
      return { body: { dryRun: true as const, plan: { cloudUrl: pairing.status().cloudUrl ?? '' } } };
    }),
  ];
}
