/**
 * A job apart: real agent programs, in terminals and over ACP, as bots in `sandbox: closed` with a key that they never hold. `npm run test:closed
 * [-- <name> …]` installs what is missing into scratch folders and plays one scene with each, in namespaces of its own with a small internet in them, as
 * a user. `GANTRY_CLOSED_PREFIX` names a folder that keeps what was installed: one folder a package.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inPlace } from './closed-place.ts';
import { plays } from './closed-plays.ts';
import { binOf } from './harness-run.ts';

const scene = fileURLToPath(new URL('./closed-scene.ts', import.meta.url));
const asked = process.argv.slice(2);
const given = process.env.GANTRY_CLOSED_PREFIX;
const root = given ?? mkdtempSync(join(tmpdir(), 'gantry-closed-'));
try {
  for (const play of plays.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
    const prefix = join(root, play.package.replace('/', '-'));
    const bin = binOf(play, prefix, play.version);
    if (bin === null) {
      console.log(`SKIP ${play.name}: ${play.package}@${play.version} could not be installed`);
      continue;
    }
    // Not in a folder for temporary files: a sandbox has those of its own.
    const folder = mkdtempSync(join(homedir(), '.gantry-closed-'));
    try {
      const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
      const [command, ...args] = inPlace(folder, [process.execPath, scene, play.name, folder]);
      if (spawnSync(command, args, { stdio: 'inherit', env }).status !== 0) process.exitCode = 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
} finally {
  if (given === undefined) rmSync(root, { recursive: true, force: true });
}
