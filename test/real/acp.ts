/**
 * A job apart: real agents over ACP from npm, through the real room of bots over ACP, against the scripted model server. `npm run test:acp [-- <agent> …]`
 * installs what is missing into scratch folders and plays the scenes without any network but loopback, where the system can make such a namespace.
 * `GANTRY_ACP_PREFIX` names a folder that keeps them: one folder an agent.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plays } from './acp-plays.ts';
import { binOf } from './harness-run.ts';

const scenes = fileURLToPath(new URL('./acp-scenes.ts', import.meta.url));
const run = (command: string, args: readonly string[], env = process.env): boolean =>
  spawnSync(command, args, { stdio: 'inherit', env }).status === 0;

const asked = process.argv.slice(2);
const given = process.env.GANTRY_ACP_PREFIX;
const root = given ?? mkdtempSync(join(tmpdir(), 'gantry-acp-'));
const alone = ['--net', '--map-root-user', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const isolated = spawnSync('unshare', [...alone, 'true']).status === 0;
if (!isolated) console.error('no network namespace here: the scenes run with the network that there is');
try {
  for (const play of plays.filter(({ agent }) => asked.length === 0 || asked.includes(agent))) {
    const bin = binOf(play, join(root, play.agent), play.version);
    if (bin === null) {
      console.log(`SKIP ${play.agent}: ${play.package}@${play.version} could not be installed`);
      continue;
    }
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const passed = isolated
      ? run('unshare', [...alone, process.execPath, scenes, play.agent], env)
      : run(process.execPath, [scenes, play.agent], env);
    if (!passed) process.exitCode = 1;
  }
} finally {
  if (given === undefined) rmSync(root, { recursive: true, force: true });
}
