/**
 * A job apart: the real Claude Code from npm, through the real pane host and harness, against the scripted model server.
 * `npm run test:claude` installs it into a scratch folder (361 MB) and runs the scenes without any network but loopback, where
 * the system can make such a namespace. `GANTRY_CLAUDE_PREFIX` names a folder that already has it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The version that the rules were recorded with. */
const version = '2.1.329';
const scenes = fileURLToPath(new URL('./claude-scenes.ts', import.meta.url));

function run(command: string, args: readonly string[], env = process.env): number {
  return spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1;
}

/** npm may leave install scripts out; the one of this package puts the native program in its place. */
function install(prefix: string): void {
  const wanted = `@anthropic-ai/claude-code@${version}`;
  const folder = join(prefix, 'node_modules', '@anthropic-ai', 'claude-code');
  console.error(`installing ${wanted} …`);
  const done =
    run('npm', ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--loglevel', 'error', wanted]) === 0 &&
    run(process.execPath, [join(folder, 'install.cjs')]) === 0;
  if (!done) throw new Error(`${wanted} could not be installed.`);
}

const given = process.env.GANTRY_CLAUDE_PREFIX;
const prefix = given ?? mkdtempSync(join(tmpdir(), 'gantry-claude-'));
try {
  const bin = join(prefix, 'node_modules', '.bin');
  if (!existsSync(join(bin, 'claude'))) install(prefix);
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const alone = ['--net', '--map-root-user', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
  const isolated = spawnSync('unshare', [...alone, 'true']).status === 0;
  if (!isolated) console.error('no network namespace here: the scenes run with the network that there is');
  process.exitCode = isolated
    ? run('unshare', [...alone, process.execPath, scenes], env)
    : run(process.execPath, [scenes], env);
} finally {
  if (given === undefined) rmSync(prefix, { recursive: true, force: true });
}
