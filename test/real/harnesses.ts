/**
 * A job apart: the real agent CLIs from npm, through the real pane host and harnesses, against the scripted model server. `npm run
 * test:harnesses [-- <harness> …]` installs what is missing into scratch folders and plays the scenes without any network but
 * loopback, where the system can make such a namespace. `GANTRY_HARNESSES_PREFIX` names a folder that keeps them: one folder a harness.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Play } from './harness-play.ts';
import { plays } from './harness-plays.ts';

const scenes = fileURLToPath(new URL('./harness-scenes.ts', import.meta.url));

function run(command: string, args: readonly string[], env = process.env, cwd?: string): boolean {
  return spawnSync(command, args, { stdio: 'inherit', env, cwd }).status === 0;
}

/** The folder to put on PATH; null where it cannot be had. */
function binOf(play: Play, prefix: string): string | null {
  const bin = join(prefix, 'node_modules', '.bin');
  if (existsSync(join(bin, play.harness))) return bin;
  const wanted = `${play.package}@${play.version}`;
  console.error(`installing ${wanted} (${play.megabytes} MB) …`);
  mkdirSync(prefix, { recursive: true });
  const done = run('npm', ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--loglevel', 'error', wanted]);
  // npm may leave install scripts out.
  const folder = join(prefix, 'node_modules', play.package);
  const ready = done && (!play.afterInstall || run(process.execPath, [play.afterInstall], process.env, folder));
  return ready ? bin : null;
}

const asked = process.argv.slice(2);
const given = process.env.GANTRY_HARNESSES_PREFIX;
const root = given ?? mkdtempSync(join(tmpdir(), 'gantry-harnesses-'));
const alone = ['--net', '--map-root-user', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const isolated = spawnSync('unshare', [...alone, 'true']).status === 0;
if (!isolated) console.error('no network namespace here: the scenes run with the network that there is');
try {
  for (const play of plays.filter(({ harness }) => asked.length === 0 || asked.includes(harness))) {
    const bin = binOf(play, join(root, play.harness));
    if (bin === null) {
      console.log(`SKIP ${play.harness}: ${play.package}@${play.version} could not be installed`);
      continue;
    }
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const passed = isolated
      ? run('unshare', [...alone, process.execPath, scenes, play.harness], env)
      : run(process.execPath, [scenes, play.harness], env);
    if (!passed) process.exitCode = 1;
  }
} finally {
  if (given === undefined) rmSync(root, { recursive: true, force: true });
}
