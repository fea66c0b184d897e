/**
 * A job apart: the real agent CLIs from npm, through the real pane host and harnesses, against the scripted model server. `npm run
 * test:harnesses [-- <harness> …]` installs what is missing into scratch folders and plays the rows of the conformance kit and each program's own
 * scenes. `GANTRY_HARNESSES_PREFIX` names a folder that keeps them: one folder a harness.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plays } from './harness-plays.ts';
import { binOf, playScenes } from './harness-run.ts';

const asked = process.argv.slice(2);
const given = process.env.GANTRY_HARNESSES_PREFIX;
const root = given ?? mkdtempSync(join(tmpdir(), 'gantry-harnesses-'));
try {
  for (const play of plays.filter(({ harness }) => asked.length === 0 || asked.includes(harness))) {
    const bin = binOf({ ...play, program: play.harness }, join(root, play.harness), play.version);
    if (bin === null) {
      console.log(`SKIP ${play.harness}: ${play.package}@${play.version} could not be installed`);
      continue;
    }
    if (!(await playScenes(play, bin))) process.exitCode = 1;
  }
} finally {
  if (given === undefined) rmSync(root, { recursive: true, force: true });
}
