/**
 * A Docker daemon of a test's own (root, Linux, Debian's docker.io), with its own folder, socket and pid file, that touches no network: it has no
 * bridge and no rules, so its containers have no network either. Never a daemon that was there.
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { unmountBelow } from '../mounts.ts';

export interface Daemon {
  readonly socket: string;
  readonly pid: number;
  docker(...words: readonly string[]): Promise<string>;
  /** What it has logged. */
  log(): string;
  /** Ends it with its containers, and removes its folder. */
  close(): Promise<void>;
}

/** Why there can be none; null: there can. */
export function noDaemon(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root';
  const lacks = ['dockerd', 'docker', 'runc'].filter(
    (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0,
  );
  return lacks.length === 0 ? null : `there is no ${lacks.join(', no ')}`;
}

export async function startDaemon(): Promise<Daemon> {
  // A short name: Docker puts sockets into it.
  const folder = mkdtempSync(join(tmpdir(), 'gdk-'));
  const at = (name: string) => join(folder, name);
  const socket = at('d.sock');
  writeFileSync(at('none.json'), '{}');
  const log = openSync(at('dockerd.log'), 'a');
  const words = [
    ...['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('d.pid'), '-H', `unix://${socket}`],
    ...['--storage-driver', 'overlay2', '--config-file', at('none.json')],
    ...['--bridge', 'none', '--iptables=false', '--ip-masq=false', '--ip-forward=false'],
  ];
  const child = spawn('dockerd', words, { stdio: ['ignore', log, log], detached: true });
  const docker = (...words: readonly string[]) => run('docker', ['-H', `unix://${socket}`, ...words]);
  const said = () => readFileSync(at('dockerd.log'), 'utf8');
  const close = async () => {
    const ids = (await docker('ps', '-aq').catch(() => '')).split('\n').filter(Boolean);
    if (ids.length > 0) await docker('rm', '-f', ...ids).catch(() => {});
    await end(child);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; tries < 300; tries += 1) {
    const answer = await docker('version').catch(() => null);
    if (answer !== null) return { socket, pid: child.pid ?? 0, docker, log: said, close };
    if (child.exitCode !== null) break;
    await delay(200);
  }
  const last = said().slice(-2_000);
  await close();
  throw new Error(`dockerd does not answer:\n${last}`);
}

/** An image with these programs of this computer, and what they load. `changes` as in a Dockerfile. */
export async function importImage(
  { docker }: Daemon,
  name: string,
  programs: readonly string[],
  changes: readonly string[] = [],
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'gantry-image-'));
  try {
    mkdirSync(join(root, 'etc'));
    for (const program of programs) {
      const found = execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
      const loaded = spawnSync('ldd', [found], { encoding: 'utf8' }).stdout.match(/\/\S+/g) ?? [];
      put(root, realpathSync(found), `/bin/${program}`);
      for (const file of loaded) put(root, realpathSync(file), file);
    }
    const options = ['ENV PATH=/bin', ...changes].flatMap((change) => ['--change', change]);
    const archive = join(root, '..', `${basename(root)}.tar`);
    await run('tar', ['-C', root, '-cf', archive, '.']);
    await docker('import', ...options, archive, name).finally(() => rmSync(archive));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function put(root: string, from: string, to: string): void {
  mkdirSync(join(root, dirname(to)), { recursive: true });
  cpSync(from, join(root, to));
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(null)));
  child.kill('SIGTERM');
  await ended;
}

function run(program: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, words, { maxBuffer: 64 << 20, timeout: 120_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${words.join(' ')}: ${stderr.trim() || error.message}`));
    });
  });
}
