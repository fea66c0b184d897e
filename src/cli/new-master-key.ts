/** `--new-master-key`: the flag of a person who lost master.key and accepts losing everything sealed with it. */
import { existsSync } from 'node:fs';
import { dataFolder, placesIn } from '../host/places.ts';
import { ensureTokenFile } from '../kit/secrets/token-file.ts';
import { type Context, flag, type Input } from './command.ts';

/** Makes a master key unless one exists. */
export function makeMasterKeyIfAsked({ env }: Context, input: Input): void {
  if (!flag(input, 'newMasterKey')) return;
  const places = placesIn(dataFolder(env));
  if (existsSync(places.home)) ensureTokenFile(places.masterKey);
}
