/** The location and files of the sample repository that ships with Gantry. Works from source and from the built program. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** The demo team's file inside the sample; also how a workspace is known to hold the demo. */
export const demoTeam = 'demo';
const demoTeamFile = join('.gantry', 'teams', demoTeam, 'team.yaml');
/** Only the sample itself has it: a workspace that was made from nothing but the sample. */
export const sampleMark = join('.gantry', 'sample.json');

export function sampleFolder(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const sample = join(folder, 'sample');
    if (existsSync(join(sample, demoTeamFile))) return sample;
    if (dirname(folder) === folder) throw new Error(`The sample repository was not found above ${from}.`);
  }
}

/** Files of the sample relative to it, sorted. */
export async function sampleFiles(sample: string): Promise<string[]> {
  const entries = await readdir(sample, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(sample, join(entry.parentPath, entry.name)))
    .sort();
}
