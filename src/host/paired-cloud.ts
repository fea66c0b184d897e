/** Which cloud a data folder's computer belongs to, also while nothing runs there. */
import { readPairing } from '../runtime-server/link/pairing-file.ts';
import { placesIn } from './places.ts';

/** The cloud that the pairing file of this data folder names; null without a usable one. Starts nothing. */
export function pairedCloud(home: string): string | null {
  const found = readPairing(placesIn(home).pairing);
  return found.is === 'pairing' ? found.pairing.cloudUrl : null;
}
