/** Installs an agent program and plays its scenes without any network but loopback, where the system can make such a namespace. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Play } from './harness-play.ts';

const scenes = fileURLToPath(new URL('./harness-scenes.ts', import.meta.url));
const alone = ['--net', '--map-root-user', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const isolated = spawnSync('unshare', [...alone, 'true']).status === 0;
if (!isolated) console.error('no network namespace here: the scenes run with the network that there is');

function run(command: string, args: readonly string[], cwd?: string): boolean {
  return spawnSync(command, args, { stdio: 'inherit', cwd }).status === 0;
}

/** `program`: what is on PATH after its install. */
type Installed = Pick<Play, 'package' | 'afterInstall'> & { readonly program: string; readonly megabytes?: number };

/** The folder to put on PATH; null where it cannot be had. */
export function binOf(play: Installed, prefix: string, version: string): string | null {
  const bin = join(prefix, 'node_modules', '.bin');
  if (existsSync(join(bin, play.program))) return bin;
  const wanted = `${play.package}@${version}`;
  console.error(`installing ${wanted}${play.megabytes === undefined ? '' : ` (about ${play.megabytes} MB)`} …`);
  mkdirSync(prefix, { recursive: true });
  const done = run('npm', ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--loglevel', 'error', wanted]);
  // npm may leave install scripts out.
  const folder = join(prefix, 'node_modules', play.package);
  const ready = done && (!play.afterInstall || run(process.execPath, [play.afterInstall], folder));
  return ready ? bin : null;
}

/** Whether all passed. `onLine`: each line as it is printed. */
export async function playScenes(
  play: Play,
  bin: string,
  options: { readonly kitOnly?: boolean; readonly onLine?: (line: string) => void } = {},
): Promise<boolean> {
  const program: [string, ...string[]] = [
    process.execPath,
    scenes,
    play.harness,
    ...(options.kitOnly ? ['--kit'] : []),
  ];
  const [command, ...args] = isolated ? (['unshare', ...alone, ...program] as const) : program;
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  createInterface({ input: child.stdout }).on('line', (line) => {
    console.log(line);
    options.onLine?.(line);
  });
  return new Promise((resolve) => child.once('close', (code) => resolve(code === 0)));
}
