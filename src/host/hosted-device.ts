/**
 * The program inside a hosted computer: its display and window manager (none for the toolset `shell`), a store, the executor with its gate, and their
 * routes over a link that it dials. It dials on connections that its cloud offers at one Unix socket. No factory, no panes, no port. The helper that
 * made the computer passes its settings on stdin. The program ends with its display.
 *
 * In a container its settings are a file (its first argument), and it begins as root, because the socket is in a folder that the computer's own user
 * must never enter. Once it listens, it becomes that user for good.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type OpenConnections, openConnections } from './listeners.ts';

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** As src/programs/computer-host/life.ts writes it, or for a container src/cloud-api/hosted-computers/docker.ts. */
interface Boot {
  readonly token: string;
  readonly socket: string;
  readonly folder: string;
  readonly screen: { readonly width: number; readonly height: number };
  /** Absent where a computer host of an older Gantry started it. */
  readonly toolset?: 'desktop' | 'shell';
  /** In a container: who may offer it connections, and who it runs as. */
  readonly owner?: Owner;
  readonly user?: Owner;
  readonly warm?: boolean;
}

/** Milliseconds. */
const displayWithin = 20_000;

const [, , file] = process.argv;
const boot = JSON.parse(file === undefined ? await text(process.stdin) : readFileSync(file, 'utf8')) as Boot;
const connections =
  boot.owner === undefined
    ? null
    : await listenAsRoot(boot.owner).catch((error: Error) => end(`Its socket could not be made: ${error.message}`));
process.umask(0o007);
mkdirSync(boot.folder, { recursive: true, mode: 0o700 });
enableCompileCache(join(boot.folder, 'compiled'));

// The display comes up while the rest is being read.
const { toolset = 'desktop', warm = false } = boot;
const [display, { serveHostedDevice }] = await Promise.all([
  toolset === 'desktop' ? startDisplay() : null,
  import('./serve-hosted-device.ts'),
]);
if (display !== null) {
  const manager = spawn('openbox', { env: { ...process.env, DISPLAY: display.name }, stdio: 'ignore' });
  manager.on('error', (error) => end(`The window manager could not be started: ${error.message}`));
  display.process.once('exit', (code, signal) => end(`The display ended (${signal ?? `code ${code}`}).`));
}
const shown = display === null ? {} : { DISPLAY: display.name };
await serveHostedDevice({ ...boot, toolset, warm, env: { ...process.env, ...shown }, connections });

/** Everything in the computer ends with this process: it is the first one. */
function end(why: string): never {
  console.error(why);
  process.exit(1);
}

async function listenAsRoot({ uid, gid }: Owner): Promise<OpenConnections> {
  const opened = await openConnections(boot.socket);
  // In this order: in a container root may not change the mode of what is another user's.
  chmodSync(boot.socket, 0o600);
  chownSync(boot.socket, uid, gid);
  const { user } = boot;
  if (user === undefined) return end('The settings name no user.');
  process.setgroups?.([]);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
  const status = readFileSync('/proc/self/status', 'utf8');
  const left = /^Cap(?:Prm|Eff|Amb):\t(?!0+$).*$/m.exec(status)?.[0] ?? /^NoNewPrivs:\t0$/m.exec(status)?.[0];
  if (left !== undefined) return end(`The computer's program would keep rights (${left}).`);
  return opened;
}

async function startDisplay(): Promise<{ readonly name: string; readonly process: ChildProcess }> {
  const { width, height } = boot.screen;
  const words = [
    '-displayfd',
    '3',
    '-screen',
    '0',
    `${width}x${height}x24`,
    '-nolisten',
    'tcp',
    '-noreset',
    '-dpi',
    '96',
  ];
  const child = spawn('Xvfb', words, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const late = setTimeout(() => end('The display did not come up in time.'), displayWithin);
  const number = await new Promise<string>((resolve) => {
    child.once('error', (error) => end(`The display could not be started: ${error.message}`));
    child.once('exit', (code, signal) => end(`The display could not be started (${signal ?? `code ${code}`}).`));
    let said = '';
    (child.stdio[3] as Readable).on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
      if (said.endsWith('\n')) resolve(said.trim());
    });
  });
  clearTimeout(late);
  child.removeAllListeners('exit');
  return { name: `:${number}`, process: child };
}
