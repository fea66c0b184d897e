/**
 * A job apart: what the newest versions of the agent programs break. `npm run test:newest [-- <harness> …]` installs the newest of each from npm, one
 * after the other, into a scratch folder, plays the rows of the conformance kit with it, and says which rows fail. Ends with 1 where one does; edits
 * nothing. `GANTRY_NEWEST_PREFIX` names a folder that keeps what was installed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Play } from './harness-play.ts';
import { plays } from './harness-plays.ts';
import { binOf, playScenes } from './harness-run.ts';

/** null: npm does not say. */
function newestOf({ package: name }: Play): string | null {
  const asked = spawnSync('npm', ['view', name, 'version'], { encoding: 'utf8' });
  return asked.status === 0 ? asked.stdout.trim() : null;
}

/** What to say of it, and whether it is whole. */
async function playNewest(play: Play, root: string): Promise<{ readonly whole: boolean; readonly words: string[] }> {
  const { harness, version } = play;
  const newest = newestOf(play);
  if (newest === null) return { whole: false, words: [`${harness}: npm does not know ${play.package}`] };
  const prefix = join(root, `${harness}-${newest}`);
  try {
    const title = `${harness} ${newest} (played before: ${version})`;
    const bin = binOf({ ...play, program: harness }, prefix, newest);
    if (bin === null) return { whole: false, words: [`${title}: it could not be installed`] };
    const failed: string[] = [];
    let passed = 0;
    const onLine = (line: string) => {
      if (line.startsWith('ok ')) passed += 1;
      if (line.startsWith('FAIL ')) failed.push(`  ${line}`);
    };
    const whole = await playScenes(play, bin, { kitOnly: true, onLine });
    const count = `${passed} of ${passed + failed.length} passed`;
    const end = whole || failed.length > 0 ? '' : ', then it ended without a word';
    return { whole, words: [`${title}: ${count}${end}`, ...failed] };
  } finally {
    // They are large: never more than one at a time.
    if (given === undefined) rmSync(prefix, { recursive: true, force: true });
  }
}

const asked = process.argv.slice(2);
const given = process.env.GANTRY_NEWEST_PREFIX;
const root = given ?? mkdtempSync(join(tmpdir(), 'gantry-newest-'));
const said: string[] = [];
try {
  for (const play of plays.filter(({ harness }) => asked.length === 0 || asked.includes(harness))) {
    const { whole, words } = await playNewest(play, root);
    said.push(...words);
    if (!whole) process.exitCode = 1;
  }
} finally {
  if (given === undefined) rmSync(root, { recursive: true, force: true });
}
console.log(`\n${said.join('\n')}`);
