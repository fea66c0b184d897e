/** `gantry backup`. */
import { existsSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { writeBackup } from '../../host/backup/write-backup.ts';
import { dataFolder, placesIn } from '../../host/places.ts';
import { type Action, type Context, flag, optionalText } from '../command.ts';
import { count } from '../words.ts';

export const backup: Action = async (context, input) => {
  const places = placesIn(dataFolder(context.env));
  if (!existsSync(places.home)) {
    throw new AppError('not_found', `There is nothing to back up: ${places.home} does not exist.`, 'Set GANTRY_HOME.');
  }
  const file = target(context, optionalText(input, 'file'));
  const withSecrets = !flag(input, 'withoutSecrets');
  const postgres = postgresCommand(context, places.cloudDb, places.computer);
  if (flag(input, 'dryRun')) {
    const plan = { home: places.home, file, secrets: withSecrets };
    context.output.result({ dryRun: true, plan, postgres }, () => `Would save ${places.home} to ${file}.`);
    return undefined;
  }
  const now = context.now();
  const clock = { now: () => now, monotonic: () => now };
  const progress = context.output.progress('Backing up');
  const written = await writeBackup({ places, file, withSecrets, clock, onProgress: progress.at }).finally(
    progress.end,
  );
  context.output.result({ ...written, secrets: withSecrets, postgres }, () => {
    const what = `${count(written.files, 'file')}, ${size(written.bytes)}`;
    return [
      `Saved ${places.home} to ${written.file} (${what}). Only you can read it.`,
      withSecrets
        ? 'It has the keys that open your secrets: protect it like a password.'
        : 'It has no keys: sealed data in it opens only with the master.key of this computer.',
      ...written.workspaces.map(
        (path) => `It includes the teams, policy and proofs of ${path}, but not its other files.`,
      ),
      ...written.unknown.map((name) => `Left out because it is not Gantry’s: ${join(places.home, name)}`),
      ...(postgres === null
        ? []
        : [
            '',
            'The data of this cloud is in PostgreSQL and NOT in this file. Save it at the same time with:',
            `  ${postgres}`,
          ]),
    ].join('\n');
  });
  return undefined;
};

function target(context: Context, given: string | undefined): string {
  const name = `gantry-${hostname().replaceAll(/[^\w.-]/g, '_')}-${stampOf(context.now())}.tar.gz`;
  const asked = resolve(context.cwd, given ?? name);
  if (statSync(asked, { throwIfNoEntry: false })?.isDirectory() === true) return join(asked, name);
  // Somebody who writes it so means a folder; a file of that name would be in its place until they look for it.
  if (given !== undefined && /[/\\]$/.test(given)) {
    throw new AppError('not_found', `There is no folder ${asked}.`, 'Create it first, or name a file.');
  }
  return asked;
}

export const stampOf = (now: number) => new Date(now).toISOString().slice(0, 16).replace('T', '-').replace(':', '');

/** A multi-user cloud keeps its data in PostgreSQL if DATABASE_URL is set, or if there is no `cloud.db` beside its keys. */
function postgresCommand(context: Context, cloudDb: string, computer: string): string | null {
  if (existsSync(computer)) return null;
  if ((context.env.DATABASE_URL ?? '') === '' && existsSync(cloudDb)) return null;
  return `pg_dump --format=custom --no-owner --file=gantry-cloud-${stampOf(context.now())}.dump "$DATABASE_URL"`;
}

export function size(bytes: number): string {
  if (bytes < 1024 ** 2) return `${Math.max(1, Math.round(bytes / 1024))} kB`;
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MB` : `${(bytes / 1024 ** 3).toFixed(2)} GB`;
}
