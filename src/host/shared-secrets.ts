/**
 * Replicas of one cloud share the master key and the internal token: each must open what another sealed. Each start compares them with what the first
 * replica left in the database. A cloud of one process keeps both beside its file and needs no check.
 */
import { hash } from 'node:crypto';
import { AppError } from '../contracts/common/errors.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Migration } from '../kit/store/store.ts';

export const sharedSecretsMigrations: readonly Migration[] = [
  {
    area: 'cloud',
    number: 1,
    name: 'what its replicas share',
    sql: 'CREATE TABLE cloud_secret (name TEXT PRIMARY KEY, sealed TEXT NOT NULL) STRICT',
  },
];

const name = 'internal-token';
const place = `cloud_secret|sealed|${name}`;

/** Throws `refused` when this process was given other secrets than the ones before it. */
export async function checkSharedSecrets(
  store: SharedStore,
  { masterKey, internalToken }: { readonly masterKey: string; readonly internalToken: string },
): Promise<void> {
  if (store.engine === 'sqlite') return;
  const sealer = createSealer({ masterKey, purpose: 'replicas' });
  const own = hash('sha256', internalToken, 'hex');
  const kept = await store.write(function* (tx) {
    const insert = 'INSERT INTO cloud_secret (name, sealed) VALUES (?, ?) ON CONFLICT (name) DO NOTHING';
    yield* tx.run(insert, name, sealer.seal(place, own));
    return (yield* tx.get<{ sealed: string }>('SELECT sealed FROM cloud_secret WHERE name = ?', name))!.sealed;
  });
  if (opened(() => sealer.open(place, kept)) === own) return;
  throw new AppError(
    'refused',
    'The other replicas on this database use a different master key or internal token.',
    'Copy master.key and internal-token from the data folder of one of them to this one, then restart.',
  );
}

function opened(open: () => string): string | null {
  try {
    return open();
  } catch {
    return null;
  }
}
