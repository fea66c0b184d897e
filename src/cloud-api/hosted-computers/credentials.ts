/**
 * The credentials with which hosted computers and their hosts dial their cloud. They follow from the master key, so every replica knows them and none
 * keeps them. A computer's is good for that computer only and ends with that start; a host's ends when the host is removed. Must not know links.
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
  /** What a computer host joins with: its id and its key. */
  tokenOfHost(id: string): string;
  /** Knows a hosted computer or a computer host by its signature, and takes each signature once. Nobody else is known here. */
  readonly authenticator: Authenticator;
}

/** Whether who dials is a hosted computer or a computer host, and no person's computer. */
export const isHosted = (id: string): boolean => isHost(id) || HostedComputerId.safeParse(id).success;
const isHost = (id: string) => id.startsWith('host_');

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

  const keyOfHost = (id: string) => sealer.derive(`host|${id}`).toString('hex');

  return {
    keyOf,
    tokenOfHost: (id) => `${id}.${keyOfHost(id)}`,
    authenticator: createDeviceAuthenticator({
      store,
      clock,
      async find(id) {
        if (isHost(id)) {
          const there = await store.get('SELECT id FROM computer_host WHERE id = ? AND removed_at IS NULL', id);
          return there === undefined ? null : { userId: id, keys: [keyOfHost(id)] };
        }
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
