/** The helper as people run it, in a namespace of a world, and both ends of what it is asked: its socket and its computers' engines. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ToolsetResult } from '../../../src/contracts/computer-use/toolset.ts';
import { offerAt } from '../../../src/kit/link/offer.ts';
import {
  type HostAnswerLine,
  type HostChange,
  type HostedState,
  type HostFault,
  type HostRequest,
  type HostValues,
  socketIn,
} from '../../../src/programs/computer-host/protocol.ts';
import { namesFor } from '../../../src/programs/computer-host/settings.ts';
import { type Called, callOver, type LinkedComputer, type Offer } from './dialled.ts';
import { type World, world } from './world.ts';

const source = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

/** What a test of computers needs of this machine, as a sentence; null: all is there. */
export function noComputers(): string | null {
  if (process.platform !== 'linux') return `this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'only root may make networks and users';
  const programs = ['ip', 'nft', 'dnsmasq', 'bwrap', 'setpriv', 'nsenter', 'Xvfb', 'openbox', 'chromium'];
  const missing = programs.filter((name) => spawnSync('which', [name]).status !== 0);
  return missing.length === 0 ? null : `missing here: ${missing.join(', ')}`;
}

export class Refused extends Error {
  readonly fault: HostFault;
  constructor(fault: HostFault) {
    super(`${fault.code}: ${fault.message}`);
    this.fault = fault;
  }
}

export interface Helper {
  readonly child: ChildProcess;
  readonly folder: string;
  /** What it said on its stderr. */
  said(): string;
  ask<Op extends HostRequest['op']>(op: Op, computer?: string, more?: object): Promise<HostValues[Op]>;
  /** What it told since it was asked to watch. */
  readonly changes: readonly HostChange[];
  /** Asks it to end, and waits. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface HelperOptions {
  readonly world: World;
  readonly folder: string;
  readonly more?: readonly string[];
  /** A program to run instead of the source: as it is built. */
  readonly program?: string;
  /** Before everything else where programs are looked for. */
  readonly path?: string;
}

/** Its computers' users must be able to get in. */
export function helperFolder(): string {
  const folder = mkdtempSync('/tmp/gantry-computers-');
  chmodSync(folder, 0o755);
  return folder;
}

/** Resolves once its socket answers, or it ended. */
export async function startHelper({ world: around, folder, more = [], ...rest }: HelperOptions): Promise<Helper> {
  const [enter, ...words] = around.on('machine');
  const command = [rest.program ?? source, 'computer-host', '--folder', folder, '--dns', world.nameServer, ...more];
  const path = rest.path === undefined ? process.env.PATH : `${rest.path}:${process.env.PATH}`;
  const child = spawn(enter, [...words, process.execPath, ...command], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: path },
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const waits = new AbortController();
  const socket = await Promise.race([connected(socketIn(folder), waits.signal), gone.then(() => null)]);
  // Who looks for one that ended keeps looking for ever.
  waits.abort();
  const changes: HostChange[] = [];
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  let last = 0;
  let unread = '';
  socket?.on('data', (chunk: Buffer) => {
    const lines = (unread + chunk.toString('utf8')).split('\n');
    unread = lines.pop() as string;
    for (const line of lines) {
      const read = JSON.parse(line) as HostAnswerLine;
      if ('event' in read) {
        if (read.event === 'changed') changes.push(read.change);
      } else if (read.ok) waiting.get(read.id)?.resolve(read.value as never);
      else waiting.get(read.id)?.reject(new Refused(read.fault));
    }
  });
  return {
    child,
    folder,
    said: () => said,
    changes,
    ask(op, computer, more = {}) {
      last += 1;
      const id = last;
      socket?.write(`${JSON.stringify({ id, op, ...(computer === undefined ? {} : { computer }), ...more })}\n`);
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    },
    async stop() {
      child.kill('SIGTERM');
      await gone;
      socket?.destroy();
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
      socket?.destroy();
    },
  };
}

async function connected(path: string, signal: AbortSignal): Promise<Socket | null> {
  while (!signal.aborted) {
    const socket = await new Promise<Socket | null>((resolve) => {
      const one = connect(path);
      one.once('connect', () => resolve(one));
      one.once('error', () => resolve(null));
    });
    if (socket !== null) return socket;
    await delay(20);
  }
  return null;
}

/** Offers a connection to the computer of that state, as the driver does. */
const offerTo =
  ({ channel, computer }: Pick<HostedState, 'computer' | 'channel'>): Offer =>
  (dial) =>
    channel === null
      ? Promise.reject(new Error(`${computer} has no channel.`))
      : offerAt(channel.socket, channel.token, dial);

export const driveComputer = (
  state: Pick<HostedState, 'computer' | 'channel'>,
  ...call: Parameters<LinkedComputer['drive']>
): Promise<Called<ToolsetResult>> => callOver(state.computer, offerTo(state), (linked) => linked.drive(...call));

export const kept = (folder: string, name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as never;

/** Everything on this machine that carries the names of this folder's helper: what is left behind when it is not empty. */
export function leftovers({ machine }: World, folder: string): string[] {
  const names = namesFor(folder);
  const inMachine = (...command: string[]) =>
    spawnSync('nsenter', [`--net=/run/netns/${machine}`, '--', ...command], { encoding: 'utf8' }).stdout;
  const groups = spawnSync('find', ['/sys/fs/cgroup', '-maxdepth', '3', '-path', `*/${names.group}*`], {
    encoding: 'utf8',
  }).stdout;
  const lines = [
    ...spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.split('\n'),
    ...inMachine('ip', '-o', 'link').split('\n'),
    ...inMachine('ip', 'route', 'show', 'type', 'unreachable')
      .split('\n')
      .map((line) => (line === '' ? '' : `gc route ${line}`)),
    ...inMachine('nft', 'list', 'tables').split('\n'),
    ...groups.split('\n'),
    ...spawnSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).stdout.split('\n'),
  ];
  const ours = [names.interfaces, names.table, names.group, `${folder}/computers`, 'gc route'];
  return lines.filter((line) => ours.some((name) => line.includes(name)));
}

/** Ends whatever a test that failed left, and removes its folder. */
export function clearAway(folder: string): void {
  const names = namesFor(folder);
  const groups = spawnSync('find', ['/sys/fs/cgroup', '-depth', '-path', `*/${names.group}*`, '-type', 'd'], {
    encoding: 'utf8',
  }).stdout;
  for (const group of groups.split('\n').filter(Boolean)) {
    for (const pid of readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
    spawnSync('rmdir', [group]);
  }
  for (const line of spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.split('\n')) {
    const [name] = line.split(' ');
    if (name?.startsWith(`${names.group}-`)) spawnSync('ip', ['netns', 'del', name]);
  }
  rmSync(folder, { recursive: true, force: true });
}
