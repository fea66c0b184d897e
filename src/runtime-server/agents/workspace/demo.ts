/**
 * Puts the sample repository and its demo team into a workspace. Never overwrites: a file that is there stays as it is.
 * Must not know teams' states or HTTP.
 */
import { constants, existsSync, lstatSync, realpathSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { isWithin } from '../../../kit/files/within.ts';
import type { By, Trust } from '../../trust/index.ts';

export interface Demo {
  /** Whether the workspace was made from the sample. */
  isSample(): boolean;
  add(dryRun: boolean, by: By): Promise<{ team: string; written: string[]; applied: boolean }>;
}

export function createDemo(options: {
  readonly workspace: string;
  readonly trust: Pick<Trust, 'sayYes'>;
  readonly onAdded: () => Promise<void>;
}): Demo {
  const { workspace } = options;
  return {
    isSample: () => existsSync(join(workspace, sampleMark)),
    async add(dryRun, by) {
      const written = (await copySample(workspace, { dryRun, withMark: false })).map((file) =>
        file.replaceAll('\\', '/'),
      );
      if (!dryRun && written.length > 0) {
        await options.trust.sayYes(await writtenFiles(workspace, written), by);
        await options.onAdded();
      }
      return { team: demoTeam, written, applied: !dryRun };
    },
  };
}

/** Files of the sample that decide what may run: the person gets them from Gantry, as shipped. */
export async function writtenFiles(
  workspace: string,
  written: readonly string[],
): Promise<{ path: string; text: string }[]> {
  const telling = written.filter((file) =>
    /^\.gantry\/(?:teams\/[^/]+\/team\.yaml|templates\/|policy\.yaml)/.test(file),
  );
  return Promise.all(
    telling.map(async (file) => ({
      path: join(workspace, file),
      text: await readFile(join(sampleFolder(), file), 'utf8'),
    })),
  );
}

/** Copies missing files; returns which. `refused` when the folder cannot be written to. */
export async function copySample(target: string, options: { dryRun: boolean; withMark: boolean }): Promise<string[]> {
  const sample = sampleFolder();
  const files = (await sampleFiles(sample)).filter((file) => options.withMark || file !== sampleMark);
  const missing = files.filter((file) => !existsSync(join(target, file)));
  if (options.dryRun) return missing;
  for (const file of missing) refuseWayOut(target, dirname(join(target, file)));
  for (const file of missing) {
    try {
      await mkdir(dirname(join(target, file)), { recursive: true });
      // Exclusive: a file that appeared in between belongs to somebody.
      await copyFile(join(sample, file), join(target, file), constants.COPYFILE_EXCL);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw notWritable(join(target, file), error);
    }
  }
  return missing;
}

/** A cloned repository may have a link in the place of a folder: nothing is written through one that leads out of it. */
function refuseWayOut(target: string, folder: string): void {
  let there = folder;
  while (there !== target && lstatSync(there, { throwIfNoEntry: false }) === undefined) there = dirname(there);
  if (existsSync(there) && isWithin(realpathSync(target), realpathSync(there))) return;
  const fact = `${there} leads out of the workspace.`;
  throw new AppError('refused', fact, 'Remove the link there, then try again.', { status: 409 });
}

export function notWritable(path: string, cause: unknown): AppError {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new AppError(
    full ? 'transport' : 'refused',
    `${path} cannot be written: ${full ? 'the disk is full' : code}.`,
    full ? 'Free some space, then try again.' : 'Give yourself write permission there, or name another workspace.',
    { cause },
  );
}

/** The demo team's file inside the sample; also how a workspace is known to hold the demo. */
const demoTeam = 'demo';
const demoTeamFile = join('.gantry', 'teams', demoTeam, 'team.yaml');
/** Only the sample itself has it: a workspace that was made from nothing but the sample. */
const sampleMark = join('.gantry', 'sample.json');

function sampleFolder(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const sample = join(folder, 'sample');
    if (existsSync(join(sample, demoTeamFile))) return sample;
    if (dirname(folder) === folder) throw new Error(`The sample repository was not found above ${from}.`);
  }
}

/** Files of the sample relative to it, sorted. */
async function sampleFiles(sample: string): Promise<string[]> {
  const entries = await readdir(sample, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(sample, join(entry.parentPath, entry.name)))
    .sort();
}
