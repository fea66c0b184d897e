/**
 * A Docker daemon of a test's own (root, Linux, Debian's docker.io), with its own folder, socket and pid file. Without a network of its own it touches
 * none: it has no bridge and no rules, so its containers have no network either. Never a daemon that was there.
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { until } from '../../real/scenes.ts';
import { unmountBelow } from '../mounts.ts';

interface DaemonOptions {
  /** One that stays. Default: a new one, removed with the daemon. A short name: Docker puts sockets into it. */
  readonly folder?: string;
  /** Its images and containers. Default: in its folder. */
  readonly data?: string;
  /** The words before its command that put it into a network namespace; empty: it has that of this process. Default: it has no network. */
  readonly network?: readonly string[];
  /** Its daemon.json. */
  readonly config?: object;
}

export interface Daemon {
  readonly folder: string;
  readonly socket: string;
  readonly pid: number;
  docker(...words: readonly string[]): Promise<string>;
  /** What it has logged. */
  log(): string;
  /** kill -9; resolves once its successor answers. */
  kill(): Promise<void>;
  /** Ends it with its containers, and removes its folder unless that stays. */
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

const noNetworkWords = ['--bridge', 'none', '--iptables=false', '--ip-masq=false', '--ip-forward=false'];

export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const { network, config = {} } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'gdk-'));
  const at = (name: string) => join(folder, name);
  const socket = at('d.sock');
  writeFileSync(at('daemon.json'), JSON.stringify(config));
  const [program = 'dockerd', ...words] = [
    ...[...(network ?? []), 'dockerd', '--data-root', options.data ?? at('data'), '--exec-root', at('exec')],
    ...['--pidfile', at('d.pid'), '-H', `unix://${socket}`, '--storage-driver', 'overlay2'],
    ...['--config-file', at('daemon.json'), ...(network === undefined ? noNetworkWords : [])],
  ];
  const docker = (...words: readonly string[]) => run('docker', ['-H', `unix://${socket}`, ...words]);
  const said = () => readFileSync(at('dockerd.log'), 'utf8');
  let child: ChildProcess;

  async function start(): Promise<void> {
    // Of one that was killed.
    rmSync(at('d.pid'), { force: true });
    const log = openSync(at('dockerd.log'), 'a');
    // Apart from this group, so that an early end from a keyboard reaches it only once its containers are gone.
    child = spawn(program, words, { stdio: ['ignore', log, log], detached: true });
    await until(
      'dockerd answers',
      async () => child.exitCode !== null || (await docker('version')) !== '',
      90_000,
    ).catch(() => {});
    if (child.exitCode === null && (await docker('version').catch(() => null)) !== null) return;
    throw new Error(`dockerd does not answer:\n${said().slice(-2_000)}`);
  }

  async function close(): Promise<void> {
    const ids = (await docker('ps', '-aq').catch(() => '')).split('\n').filter(Boolean);
    if (ids.length > 0) await docker('rm', '-f', '-v', ...ids).catch(() => {});
    await ended(child, 'SIGTERM');
    unmountBelow(folder);
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }

  await start().catch(async (error) => {
    await close();
    throw error;
  });
  return {
    folder,
    socket,
    get pid() {
      return child.pid ?? 0;
    },
    docker,
    log: said,
    async kill() {
      const pidFile = at('exec/containerd/containerd.pid');
      const containerd = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : '';
      await ended(child, 'SIGKILL');
      // Ends with it, a moment later: a successor that still sees it takes it for one that runs.
      await until('its containerd ends', async () => containerd === '' || !existsSync(`/proc/${containerd}`));
      await start();
    },
    close,
  };
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

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(null)));
  child.kill(signal);
  await gone;
}

function run(program: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, words, { maxBuffer: 64 << 20, timeout: 240_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${words.join(' ')}: ${stderr.trim() || error.message}`));
    });
  });
}
