/**
 * Detects a data folder without its master key although something in it was sealed: a new key would open none of it, and a person who only mislaid
 * the file would lose everything without warning. Must not open sealed values.
 */
import { existsSync } from 'node:fs';
import { AppError } from '../contracts/common/errors.ts';
import { sealedPrefix } from '../kit/secrets/sealer.ts';
import { rowsBeginning } from '../kit/store/rows-beginning.ts';
import type { Places } from './places.ts';

/** What a person calls the rows of a table; what is not here is named by its table. */
const words: Readonly<Record<string, string>> = {
  device: 'the identity of this computer',
  home_secret: 'the pairing with its cloud',
  engine_secret: 'secrets of the vault',
  model_place: 'keys of model providers',
  attached_server: 'secrets of attached tool servers',
  oauth_grant: 'sign-ins at other services',
  computer: 'the keys of computers',
  ticket_key: 'the key that signs peer tickets',
  push_key: 'the keys of web push',
  edge_subscription: 'secrets of webhooks',
  connector_registration: 'addresses of connector events',
  phone_invite: 'invites to phone numbers',
};

/** Throws `refused`, naming what would be lost; nothing was changed then. */
export function refuseLostKey({ home, masterKey, runtimeDb, cloudDb }: Places, gantry: string): void {
  if (existsSync(masterKey)) return;
  const lost = [runtimeDb, cloudDb].flatMap((file) => [...rowsBeginning(file, sealedPrefix)]);
  if (lost.length === 0) return;
  const named = lost.map(([table, rows]) => `${words[table] ?? table} (${rows})`).join(', ');
  throw new AppError(
    'refused',
    `master.key is missing from ${home}. Without it these cannot be opened: ${named}.`,
    `Put the file back, or restore a backup that contains it: ${gantry} restore <file>. To start without them, use --new-master-key.`,
  );
}
