/**
 * The credential with which a hosted computer dials its cloud. It follows from the computer's start and the master key, so every replica knows it and
 * none keeps it; it is good for that computer only, and ends with that start. Must not know links.
 */

import { driverUser, HostedComputerId } from '../../contracts/hosted-computers/computer.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Authenticator } from '../../kit/http/types.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import { createDeviceAuthenticator } from '../../kit/signing/authenticator.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { ComputerRow } from './model.ts';

/** What a credential depends on. */
type Started = Pick<ComputerRow, 'id' | 'phase' | 'starts' | 'createdAt'>;

export interface Credentials {
  /** The key that signs for a computer that starts or runs; null: no computer that is in this phase dials. */
  keyOf(row: Started): string | null;
  /** Knows a hosted computer by its signature, and takes each signature once. Nobody else is known here. */
  readonly authenticator: Authenticator;
}

export const isHosted = (computerId: string): boolean => HostedComputerId.safeParse(computerId).success;

export function createCredentials({
  store,
  clock,
  sealer,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  /** Of this purpose alone. */
  readonly sealer: Pick<Sealer, 'derive'>;
}): Credentials {
  function keyOf({ id, phase, starts, createdAt }: Started): string | null {
    if (phase !== 'starting' && phase !== 'running') return null;
    // A start is counted once it is over.
    const start = phase === 'starting' ? starts + 1 : starts;
    return sealer.derive(`${id}|${createdAt}|${start}`).toString('hex');
  }

  return {
    keyOf,
    authenticator: createDeviceAuthenticator({
      store,
      clock,
      async find(id) {
        const row = await store.get<Started>(
          'SELECT id, phase, starts, created_at AS "createdAt" FROM hosted_computer WHERE id = ?',
          id,
        );
        const key = row === undefined ? null : keyOf(row);
        return key === null ? null : { userId: driverUser(id), keys: [key] };
      },
    }),
  };
}
