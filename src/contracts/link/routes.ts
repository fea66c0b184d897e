/** Routes of computers and pairing that a cloud serves. The link itself is an upgrade and no route. */
import { computerRoutes } from './computers.ts';
import { deviceRoutes } from './device.ts';
import { pairingRoutes } from './pairings.ts';

export { localPairingRoutes } from './local-pairing.ts';
export const linkRoutes = [...computerRoutes, ...pairingRoutes, ...deviceRoutes] as const;
