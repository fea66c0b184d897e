/** `gantry restore`. */
import { basename, resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type Restored, restoreBackup } from '../../host/backup/restore-backup.ts';
import { dataFolder, placesIn } from '../../host/places.ts';
import { type Action, type Context, flag, text } from '../command.ts';
import { findRunning } from '../running.ts';
import { localTimes } from '../words.ts';

export const restore: Action = async (context, input) => {
  const places = placesIn(dataFolder(context.env));
  const dryRun = flag(input, 'dryRun');
  const running = findRunning(context.env);
  if (running !== null && !dryRun) {
    throw new AppError(
      'refused',
      `Gantry is running in ${places.home} (process ${running.pid}).`,
      `Stop it before restoring: ${context.names.gantry} stop`,
    );
  }
  const file = resolve(context.cwd, text(input, 'file'));
  const now = context.now();
  const clock = { now: () => now, monotonic: () => now };
  const progress = context.output.progress('Reading the backup');
  const done = await restoreBackup({
    places,
    file,
    salvage: flag(input, 'salvage'),
    dryRun,
    clock,
    onProgress: progress.at,
  }).finally(progress.end);
  context.output.result(dryRun ? { dryRun: true, plan: done } : done, () => told(context, done, dryRun));
  return undefined;
};

function told(context: Context, done: Restored, dryRun: boolean): string {
  const { manifest, ledger } = done;
  const from = manifest.computer === null ? 'a cloud' : manifest.computer.name;
  const head = `${dryRun ? 'Would restore' : 'Restored'} the backup of ${from}, taken ${localTimes(manifest.at)} by Gantry ${manifest.version}.`;
  return [
    ...(done.undone ? ['An earlier restore that was interrupted was undone first.'] : []),
    head,
    ...done.put.map((path) => `  ${dryRun ? 'would put' : 'put'}  ${path}`),
    ...done.damaged.map(({ path, what }) => `  left out  ${path}: it ${what}`),
    done.aside === null
      ? 'Nothing was there before.'
      : `Existing data ${dryRun ? 'would be' : 'was'} moved to ${done.aside}; nothing is deleted.`,
    ...ledgerLine(ledger),
    ...done.elsewhere.map((one) => elsewhereLine(one, dryRun)),
    ...(manifest.secrets ? [] : ['It has no keys: sealed data opens only if the same master.key is here.']),
    ...(done.pairing === 'dropped'
      ? [
          `This is another computer or folder, so it is not paired. If the other Gantry still runs, stop it, since both would act. Then: ${context.names.gantry} pair`,
        ]
      : []),
    ...(dryRun ? ['Nothing was changed.'] : startLines(context, done)),
  ].join('\n');
}

/** `gantry start` in the data folder of a cloud would start another Gantry than the one that was saved. */
function startLines({ names }: Context, { manifest, put }: Restored): string[] {
  if (manifest.computer !== null) return [`Start it: ${names.start}`];
  return [
    ...(put.some((path) => basename(path) === 'cloud.db')
      ? []
      : ['The data of this cloud is in PostgreSQL and was NOT in this file: restore it with pg_restore.']),
    `Start it as before: its service, or ${names.gantry} cloud with its options.`,
  ];
}

function ledgerLine(ledger: Restored['ledger']): string[] {
  if (ledger === null) return [];
  const { rows, problem } = ledger;
  return [problem === null ? `Its ledger is whole (${rows} rows).` : `Its ledger is not whole: ${problem}`];
}

function elsewhereLine({ workspace, why, in: place }: Restored['elsewhere'][number], dryRun: boolean): string {
  const what = why === 'taken' ? 'has teams already, which may be another Gantry’s' : 'does not exist here';
  return `${workspace} ${what}: its saved teams and proofs ${dryRun ? 'would be' : 'are'} in ${place}. Saved runs appear only in a workspace at the old path.`;
}
