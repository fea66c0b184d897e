/**
 * A job apart: the real Claude Code from npm, through the real pane host and harness, against the scripted model server.
 * `npm run test:claude` installs it into a scratch folder (361 MB) and runs the scenes without any network but loopback, where
 * the system can make such a namespace. `GANTRY_CLAUDE_PREFIX` names a folder that already has it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claudeIn } from './claude-install.ts';

const scenes = fileURLToPath(new URL('./claude-scenes.ts', import.meta.url));

function run(command: string, args: readonly string[], env = process.env): number {
  return spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1;
}

const given = process.env.GANTRY_CLAUDE_PREFIX;
const prefix = given ?? mkdtempSync(join(tmpdir(), 'gantry-claude-'));
try {
  const env = { ...process.env, PATH: `${claudeIn(prefix)}:${process.env.PATH}` };
  const alone = ['--net', '--map-root-user', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
  const isolated = spawnSync('unshare', [...alone, 'true']).status === 0;
  if (!isolated) console.error('no network namespace here: the scenes run with the network that there is');
  process.exitCode = isolated
    ? run('unshare', [...alone, process.execPath, scenes], env)
    : run(process.execPath, [scenes], env);
} finally {
  if (given === undefined) rmSync(prefix, { recursive: true, force: true });
}
