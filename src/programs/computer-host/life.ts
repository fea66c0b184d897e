/**
 * One computer's life on this machine: its folders, its network, its program, and how all of them end. Calls run one after another. Must not know the
 * socket.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, closeSync, lstatSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { readStat } from '../../kit/process/process-tree.ts';
import { asidePipes, feedAsides } from '../../kit/process/run-process.ts';
import { confine } from '../../kit/sandbox/bubblewrap.ts';
import type { Groups } from '../../kit/sandbox/groups.ts';
import type { Code } from '../../kit/sandbox/own-code.ts';
import type { Firewall } from './firewall.ts';
import { type NameServer, startNameServer } from './names.ts';
import type { Network } from './network.ts';
import { type HostedState, startsWithin } from './protocol.ts';
import { type ComputerRecord, endOf, isWarm, type Records } from './records.ts';
import { asUser, inside, roomEnvironment, roomFolders, roomSandbox, writeEtc } from './room.ts';
import type { HostSettings, Names } from './settings.ts';
import { HostError } from './tools.ts';

interface LifeDeps {
  readonly settings: HostSettings;
  readonly names: Names;
  readonly records: Records;
  readonly network: Network;
  readonly firewall: Firewall;
  readonly groups: Groups;
  readonly code: Code;
  readonly path: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** It reached that state, however. */
  readonly onState: (state: HostedState) => void;
  readonly onEnded: (computer: string, why: string) => void;
}

export interface Life {
  readonly record: ComputerRecord;
  /** One that runs becomes this computer, and goes on as it is. Null: it ends or does not run. */
  handOver(record: ComputerRecord): HostedState | null;
  state(): HostedState;
  start(): Promise<HostedState>;
  freeze(): Promise<HostedState>;
  thaw(): Promise<HostedState>;
  stop(): Promise<HostedState>;
  /** Stops it and removes its folders. */
  remove(): Promise<void>;
  /** Takes over the run that an earlier helper started, or ends its remains. */
  takeOver(): Promise<void>;
  /** Cuts it off because the firewall no longer holds: it stops. */
  cutOff(why: string): Promise<void>;
}

/** The settings for a computer's program on its stdin, as one line (host/hosted-device.ts reads it). */
interface Boot {
  readonly token: string;
  readonly socket: string;
  readonly folder: string;
  readonly screen: { readonly width: number; readonly height: number };
  readonly toolset: 'desktop' | 'shell';
  readonly warm: boolean;
}

/** 1.02 megapixels: pictures for models are not scaled. */
export const screen = { width: 1280, height: 800 } as const;
const socketName = 'engine.sock';
/** How often to check a run that an earlier helper started, as it is not our child. Milliseconds. */
const watchesEvery = 1000;

export function createLife(given: ComputerRecord, deps: LifeDeps): Life {
  const { settings, records, network, groups, clock } = deps;
  const { slot } = given;
  let record = given;
  const uid = settings.firstUid + slot;
  const key = String(slot);
  const filesOf = ({ computer }: ComputerRecord) => {
    const folder = records.folderOf(computer);
    const socket = join(folder, roomFolders.run, socketName);
    return { folder, socket, ...createFolders({ folder, socket, uid, gid: settings.owner.gid }) };
  };
  let files = filesOf(record);
  const isolation = createIsolation(record, deps, () => void inLane(restartNames));

  let now: HostedState = stopped(null);
  /** Resolves when the first process of the run is gone. */
  let ended: { readonly gone: Promise<string>; wanted: boolean } | null = null;
  let lane: Promise<unknown> = Promise.resolve();
  let removal: Promise<void> | null = null;
  let endLifetime = () => {};

  function set(next: HostedState): HostedState {
    now = next;
    deps.onState(next);
    return next;
  }

  /** Counted from its start, also over a change of the helper. */
  function limitLife(since: number): void {
    const lifetime = record.spec?.lifetime ?? null;
    if (lifetime === null) return;
    const left = since + lifetime - clock.now();
    endLifetime = deps.timers.after(left, () => {
      void cutOff(`Its lifetime of ${lifetime / 1000} s is over.`);
    });
  }

  const cutOff = (why: string) =>
    inLane(async () => {
      if (now.state === 'stopped') return;
      await end(why);
      deps.onEnded(record.computer, why);
    });

  function stopped(why: string | null): HostedState {
    return { computer: record.computer, state: 'stopped', why, channel: null, since: clock.now() };
  }

  function inLane<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = lane.then(work);
    lane = result.catch(() => {});
    return result;
  }

  async function restartNames(): Promise<void> {
    if (now.state !== 'running' && now.state !== 'frozen') return;
    try {
      await isolation.startNames();
    } catch (fault) {
      await end((fault as Error).message);
    }
  }

  function watch(gone: Promise<string>): void {
    const one = { gone, wanted: false };
    ended = one;
    void gone.then((how) => {
      if (one.wanted || ended !== one) return;
      void inLane(async () => {
        if (one.wanted || ended !== one) return;
        const why = `It ended unexpectedly (${how}). ${complaint(files.folder)}`.trim();
        await end(why);
        deps.onEnded(record.computer, why);
      });
    });
  }

  /** Ends all processes and the network. Its files stay. */
  async function end(why: string | null): Promise<void> {
    if (ended !== null) ended.wanted = true;
    ended = null;
    endLifetime();
    await isolation.cut();
    await groups.end(key, uid);
    await isolation.remove();
    records.setRun(record.computer, null);
    files.clearSocket();
    set(stopped(why));
  }

  async function boot(): Promise<HostedState> {
    const token = randomBytes(32).toString('hex');
    set({ computer: record.computer, state: 'starting', why: null, channel: null, since: clock.now() });
    const { folder, socket, prepare, closeRun } = files;
    try {
      prepare(network.addresses(slot).gateway4);
      await isolation.make();
      const { pid, gone } = launch(deps, { record, folder, uid, token });
      watch(gone);
      records.setRun(record.computer, { token, pid, began: beganAt(pid) ?? '', since: now.since });
      await answers({ socket, folder, clock, gone });
      closeRun();
    } catch (error) {
      const fault =
        error instanceof HostError ? error : new HostError('failed', (error as Error).message, { cause: error });
      await end(fault.message);
      throw fault;
    }
    limitLife(now.since);
    return set({
      computer: record.computer,
      state: 'running',
      why: null,
      channel: { socket, token },
      since: clock.now(),
    });
  }

  function thaw(): HostedState {
    groups.thaw(key, uid);
    return now.state === 'frozen' ? set({ ...now, state: 'running', since: clock.now() }) : now;
  }

  return {
    get record() {
      return record;
    },
    handOver(next) {
      const { state, channel } = now;
      if (state !== 'running' || channel === null || removal !== null) return null;
      records.handOver(record.computer, next);
      record = next;
      files = filesOf(next);
      const { computer } = next;
      return set({ ...now, computer, channel: { ...channel, socket: files.socket }, since: clock.now() });
    },
    state: () => now,
    start: () =>
      inLane(async () => {
        if (now.state === 'frozen') return thaw();
        return now.state === 'running' ? now : boot();
      }),
    freeze: () =>
      inLane(async () => {
        if (now.state === 'stopped') throw new HostError('not_running', `${record.computer} is stopped.`);
        if (now.state === 'frozen') return now;
        try {
          await groups.freeze(key, uid);
        } catch (error) {
          groups.thaw(key, uid);
          throw error;
        }
        return set({ ...now, state: 'frozen', since: clock.now() });
      }),
    thaw: () =>
      inLane(async () => {
        if (now.state === 'stopped') throw new HostError('not_running', `${record.computer} is stopped.`);
        return thaw();
      }),
    stop: () =>
      inLane(async () => {
        if (now.state !== 'stopped') await end(null);
        return now;
      }),
    remove() {
      // Once: after it, others may have its place, and a second end would end them.
      removal ??= inLane(async () => {
        await end(null);
        records.removeComputer(record.computer);
      }).catch((fault: unknown) => {
        removal = null;
        throw fault;
      });
      return removal;
    },
    takeOver: () =>
      inLane(async () => {
        const run = records.run(record.computer);
        const lives = run !== null && run.began !== '' && beganAt(run.pid) === run.began && network.isMade(slot);
        if (!lives) {
          // Includes a run that began and was not recorded: it would run on, unknown, and block the next start.
          const left = run !== null || network.slots().includes(slot) || groups.processes(key, uid).length > 0;
          if (left) await end('The machine or its computer host ended meanwhile.');
          return;
        }
        const frozen = groups.isFrozen(key, uid);
        // A frozen one cannot answer, but its socket accepts the connection.
        if (!(await connects(files.socket))) return end('It did not answer when its computer host came back.');
        try {
          // Its cable stays up: the firewall has held it all the time, or was just installed with it.
          await isolation.startNames();
        } catch (fault) {
          return end((fault as Error).message);
        }
        watch(goneOf(run.pid, run.began, deps.timers));
        const channel = { socket: files.socket, token: run.token };
        set({ computer: record.computer, state: frozen ? 'frozen' : 'running', why: null, channel, since: run.since });
        limitLife(run.since);
      }),
    cutOff,
  };
}

/** The network of one computer: its cable, the firewall that holds it, and its name server. */
function createIsolation(
  { slot, spec }: ComputerRecord,
  { settings, names, network, firewall, path }: LifeDeps,
  onNamesEnded: () => void,
) {
  const guest = network.guest(slot);
  let nameServer: NameServer | null = null;

  async function startNames(): Promise<void> {
    nameServer = null;
    if (spec?.egress === 'none') return;
    nameServer = await startNameServer({
      path,
      interfaceName: names.interfaceOf(slot),
      addresses: network.addresses(slot),
      upstream: settings.nameServers,
      onEnd: onNamesEnded,
    });
  }

  return {
    startNames,
    /** In this order: a computer can send nothing before the firewall is known to hold it. */
    async make(): Promise<void> {
      await network.make(slot);
      await firewall.admit(guest);
      if (spec?.egress !== 'none') await network.connect(slot);
      await startNames();
    },
    /** Nothing is sent any more, even if the rest of an end fails. */
    async cut(): Promise<void> {
      if (network.isMade(slot)) await network.disconnect(slot).catch(() => {});
    },
    async remove(): Promise<void> {
      const server = nameServer;
      nameServer = null;
      await server?.end();
      await network.remove(slot);
      await firewall.expel(guest);
    },
  };
}

/** The end of what its program wrote. */
function complaint(folder: string): string {
  try {
    return endOf(join(folder, 'boot.log')).trim().slice(-600);
  } catch {
    return '';
  }
}

/** Resolves when the computer's program takes connections; throws if it ends or is late. */
async function answers({
  socket,
  folder,
  clock,
  gone,
}: {
  readonly socket: string;
  readonly folder: string;
  readonly clock: Clock;
  readonly gone: Promise<string>;
}): Promise<void> {
  const until = clock.monotonic() + startsWithin;
  const ended = gone.then((how) => {
    throw new HostError('failed', `It ended while starting (${how}). ${complaint(folder)}`.trim());
  });
  const tried = (async () => {
    while (clock.monotonic() < until) {
      if (await connects(socket)) return;
      await delay(5);
    }
    const late = `It did not start answering within ${startsWithin / 1000} s. ${complaint(folder)}`;
    throw new HostError('timeout', late.trim());
  })();
  await Promise.race([tried, ended]);
}

/** The folders of one computer, and the socket in them: who may read and replace what, before and after its program answers. */
function createFolders({ folder, socket, uid, gid }: { folder: string; socket: string; uid: number; gid: number }) {
  return { prepare, clearSocket, closeRun };

  function prepare(gateway: string): void {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o711);
    for (const name of Object.values(roomFolders)) mkdirSync(join(folder, name), { recursive: true });
    chmodSync(join(folder, roomFolders.etc), 0o755);
    for (const name of [roomFolders.home, roomFolders.data]) own(join(folder, name), 0o700);
    // The program's files there also belong to the group that may call it.
    own(join(folder, roomFolders.run), 0o2710, gid);
    clearSocket();
    writeEtc(join(folder, roomFolders.etc), uid, gateway);
  }

  /** Nothing of it runs. Until its run has ended it may have put anything there. */
  function clearSocket(): void {
    rmSync(socket, { recursive: true, force: true });
  }

  function own(path: string, mode: number, group = uid): void {
    if (!lstatSync(path).isDirectory()) throw new HostError('failed', `${path} is not a folder.`);
    chownSync(path, uid, group);
    chmodSync(path, mode);
  }

  /** From now on no process in the computer can replace its socket. */
  function closeRun(): void {
    const run = join(folder, roomFolders.run);
    chownSync(run, 0, gid);
    chmodSync(run, 0o710);
    const found = lstatSync(socket);
    if (!found.isSocket() || found.uid !== uid)
      throw new HostError('failed', 'The program that answers is not the computer.');
    chownSync(socket, uid, gid);
    chmodSync(socket, 0o660);
  }
}

/** Starts the first process of a computer. `gone` resolves with how it ended. */
function launch(
  { settings, names, groups, code, path }: Pick<LifeDeps, 'settings' | 'names' | 'groups' | 'code' | 'path'>,
  { record, folder, uid, token }: { record: ComputerRecord; folder: string; uid: number; token: string },
): { readonly pid: number; readonly gone: Promise<string> } {
  const { computer, slot, spec } = record;
  const { memory, processes, processor } = settings;
  const limits = {
    memory: spec?.memory ?? memory,
    processes: spec?.processes ?? processes,
    processor: processor ?? undefined,
  };
  const groupFolders = groups.make(String(slot), limits);
  const log = openSync(join(folder, 'boot.log'), 'w', 0o600);
  const joinGroups = groupFolders.map((each) => `echo $$ > '${each}/cgroup.procs'`).join(' && ');
  const script = `${joinGroups === '' ? '' : `${joinGroups} && `}ulimit -c 0 && exec "$@"`;
  const confined = confine('bwrap', {
    sandbox: roomSandbox({ folder, code, node: process.execPath }),
    command: [inside.node, join(inside.gantry, code.program)],
    env: roomEnvironment,
  });
  const words = [
    ...['nsenter', `--net=/run/netns/${names.namespaceOf(slot)}`, '--', ...asUser(uid)],
    ...confined.command,
  ];
  try {
    // Not a child that ends with us: the next helper takes it over.
    const child = spawn('/bin/sh', ['-c', script, 'sh', ...words], {
      stdio: ['pipe', log, log, ...asidePipes(confined.asides)],
      env: { PATH: path },
      detached: true,
    });
    if (child.pid === undefined) throw new HostError('failed', 'The computer’s first process could not be started.');
    const gone = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
      child.once('error', (error) => resolve(error.message));
    });
    const boot: Boot = {
      token,
      socket: join(inside.run, socketName),
      folder: inside.data,
      screen,
      toolset: spec?.toolset ?? 'desktop',
      warm: isWarm(computer),
    };
    feedAsides(child, confined.asides);
    child.stdin?.on('error', () => {});
    child.stdin?.end(`${JSON.stringify(boot)}\n`);
    child.unref();
    return { pid: child.pid, gone };
  } finally {
    closeSync(log);
  }
}

function connects(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

/** When a process began, in ticks since the machine's boot; null if it has ended. */
function beganAt(pid: number): string | null {
  const found = readStat(pid);
  return found === null || found.state === 'Z' ? null : String(found.started);
}

function goneOf(pid: number, began: string, timers: Timers): Promise<string> {
  return new Promise((resolve) => {
    const look = () => {
      if (beganAt(pid) !== began) resolve('its computer host was not there');
      else timers.after(watchesEvery, look);
    };
    look();
  });
}
