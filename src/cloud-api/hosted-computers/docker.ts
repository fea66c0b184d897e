/**
 * The driver `docker`: computers in containers of an engine on this machine, by the API of Docker on its socket. Each has a folder of this machine with
 * its socket and the settings of its start, into which nothing in the computer can look. What begins in the container is
 * src/programs/computer-init. Must not know projects.
 */
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container, ContainerInspectInfo, ImageInspectInfo } from 'dockerode';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type Engine, engineWords, openEngine, statusOf } from '../../kit/docker/engine.ts';
import { isReadyAt, offerAt } from '../../kit/link/offer.ts';
import { defaultFolder } from '../../programs/computer-host/protocol.ts';
import {
  type Boot,
  computerUser,
  exitCodes,
  files,
  imageLabel,
  inside,
} from '../../programs/computer-init/protocol.ts';
import { containerOf, labels } from './docker-spec.ts';
import { createDockerWatch } from './docker-watch.ts';
import {
  type ComputerSpec,
  type DriverCapabilities,
  DriverFault,
  type DriverState,
  type HostedDriver,
} from './driver.ts';

interface DockerSettings {
  /** Of the engine. */
  readonly socket: string;
  /** What computers are made from unless they ask for another one. */
  readonly image: string;
  /** The engine's runtime, such as `runsc`; null: its usual one. */
  readonly runtime: string | null;
  /** What each computer has at most, which is also what it has unless it asks for less. Mebibytes; processes and threads. */
  readonly most: { readonly memory: number; readonly processes: number };
  /** Of an image that a computer asks for. Mebibytes; null: any. */
  readonly maxImage: number | null;
}

/** Milliseconds. Also long enough for an engine that starts several at once. */
const startsWithin = 60_000;
/** How soon an engine says that it is there. */
const greetsWithin = 5_000;
/** How long a computer's first process has to end when it is asked to. */
const stopsWithin = 3_000;
/** How long a change that an engine confirmed may take to be seen. */
const holdsWithin = 30_000;
const looksEvery = 50;
/** A machine's addresses rarely change. */
const addressesFor = 600_000;

/** 1.02 megapixels: pictures for models are not scaled. */
const screen = { width: 1280, height: 800 } as const;

/** While nothing is known of the engine. */
const nothing = {
  egress: 'none',
  wall: 'namespace',
  sleep: 'memory',
  limits: { memory: false, processes: false },
  images: true,
  warm: null,
} as const satisfies Omit<DriverCapabilities, 'refused'>;

export function createDockerDriver({
  settings,
  folder = defaultFolder,
  cloudHost,
  clock,
  timers,
}: {
  readonly settings: DockerSettings;
  /** Of this machine, and of the engine by the same path. Replicas share it; another cloud has another one. */
  readonly folder?: string | undefined;
  /** The public name of this cloud, whose addresses no computer reaches. */
  readonly cloudHost: string | null;
  readonly clock: Clock;
  readonly timers: Timers;
}): HostedDriver {
  const { socket } = settings;
  const engine = later(() => openEngine({ socket }));
  const greeting = later(() => openEngine({ socket, within: greetsWithin }));
  const installation = createInstallation(folder);
  const nameOf = (computer: string) => `gantry-${installation()}-${computer}`;
  const folderOf = (computer: string) => join(folder, computer);
  const channelOf = (computer: string) => join(folderOf(computer), files.socket);
  /** Of its last start. */
  const tokenOf = (computer: string) =>
    (JSON.parse(readFileSync(join(folderOf(computer), files.boot), 'utf8')) as Boot).token;
  const readyFile = (computer: string) => join(folderOf(computer), 'ready');
  const machine = createMachine({ settings, engine, installation, cloudHost, clock });

  /** An engine that answers with an error has refused this computer; one that does not answer is away. */
  async function ask<Result>(work: (asks: Engine['asks']) => Promise<Result>): Promise<Result> {
    const { asks } = await engine();
    try {
      return await work(asks);
    } catch (fault) {
      if (fault instanceof DriverFault) throw fault;
      const words = engineWords(socket, fault);
      throw statusOf(fault) === null ? new Error(words, { cause: fault }) : new DriverFault('failed', words);
    }
  }

  async function find(computer: string): Promise<ContainerInspectInfo | null> {
    const found = await ask((asks) => orNull(asks.getContainer(nameOf(computer)).inspect()));
    return found?.Config.Labels[labels.computer] === computer ? found : null;
  }

  async function there(
    computer: string,
  ): Promise<{ readonly container: Container; readonly info: ContainerInspectInfo }> {
    const info = await find(computer);
    if (info === null) throw new DriverFault('not_found', `There is no computer ${computer}.`);
    const { asks } = await engine();
    return { container: asks.getContainer(info.Id), info };
  }

  function stateOf({ State, Created, Config }: ContainerInspectInfo): DriverState {
    const computer = Config.Labels[labels.computer] ?? '';
    if (!State.Running) {
      const why = State.Status === 'created' ? null : whyOf(State.ExitCode, Config.Labels);
      const since = Date.parse(State.Status === 'created' ? Created : State.FinishedAt);
      return { computer, state: 'stopped', why, since };
    }
    const since = Date.parse(State.StartedAt);
    if (!State.Paused && !existsSync(readyFile(computer))) {
      return { computer, state: 'starting', why: null, since };
    }
    return { computer, state: State.Paused ? 'sleeping' : 'running', why: null, since };
  }

  /** Its own timer stands still while it sleeps. Once its time is over it is woken, and the timer ends it. */
  async function settled(info: ContainerInspectInfo): Promise<ContainerInspectInfo | null> {
    if (!info.State.Paused || timeLeft(info) > 0) return info;
    const computer = info.Config.Labels[labels.computer] ?? '';
    await ask((asks) => unless([404, 409], asks.getContainer(info.Id).unpause()));
    await until(computer, (now) => now?.State.Running !== true, 'ended');
    return find(computer);
  }

  function timeLeft({ State, Config }: ContainerInspectInfo): number {
    const lifetime = Config.Labels[labels.lifetime];
    return lifetime === undefined ? Infinity : Date.parse(State.StartedAt) + Number(lifetime) - clock.now();
  }

  async function until(computer: string, holds: (info: ContainerInspectInfo | null) => boolean, said: string) {
    const end = clock.monotonic() + holdsWithin;
    while (!holds(await find(computer))) {
      if (clock.monotonic() > end)
        throw new DriverFault('failed', `The container engine said that ${computer} ${said}, but that is not so.`);
      await delay(looksEvery);
    }
  }

  async function begin(computer: string, container: Container, info: ContainerInspectInfo): Promise<void> {
    const made = info.Config.Labels;
    const boot: Boot = {
      token: randomBytes(32).toString('hex'),
      socket: join(inside.channel, files.socket),
      folder: inside.data,
      screen,
      toolset: made['gantry.toolset'] === 'shell' ? 'shell' : 'desktop',
      owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
      user: computerUser,
      egress: made['gantry.egress'] === 'none' ? 'none' : 'public',
      refuse: made['gantry.egress'] === 'none' ? [] : await ask(() => machine.addresses()),
    };
    mkdirSync(folderOf(computer), { recursive: true, mode: 0o700 });
    for (const left of [readyFile(computer), channelOf(computer)]) rmSync(left, { force: true });
    writeFileSync(join(folderOf(computer), files.boot), JSON.stringify(boot), { mode: 0o600 });
    await ask(async () => {
      try {
        await container.start();
      } catch (fault) {
        if (statusOf(fault) !== 400) throw fault;
        // Such as one without the shell in which every computer begins.
        const fact = `The image ${info.Config.Image} cannot start a computer. ${engineWords(socket, fault)}`;
        throw new DriverFault('unsupported', fact);
      }
    });
  }

  /** Resolves when its program could dial; throws if it ends or is late. */
  async function answers(computer: string, container: Container): Promise<void> {
    const end = clock.monotonic() + startsWithin;
    const token = tokenOf(computer);
    while (!(await isReadyAt(channelOf(computer), token, end - clock.monotonic()))) {
      const info = await find(computer);
      if (info?.State.Running !== true) {
        const how = info === null ? 'it was deleted' : `code ${info.State.ExitCode}`;
        throw new DriverFault('failed', `It ended while starting (${how}). ${await lastWords(container)}`.trim());
      }
      if (clock.monotonic() > end) {
        const late = `It did not start answering within ${startsWithin / 1000} s. ${await lastWords(container)}`;
        throw new DriverFault('timeout', late.trim());
      }
      await delay(looksEvery);
    }
  }

  async function start(computer: string): Promise<DriverState> {
    const { container, info } = await there(computer);
    if (info.State.Paused) {
      await ask(() => container.unpause());
      await until(computer, (now) => now?.State.Paused === false, 'woke up');
    } else if (!info.State.Running) await begin(computer, container, info);
    if (!existsSync(readyFile(computer))) {
      await answers(computer, container);
      writeFileSync(readyFile(computer), '');
      // Nothing changes; but now every watch hears from the engine that it can be called.
      await ask(() => container.update({ RestartPolicy: { Name: 'no' } }));
    }
    return stateOf((await there(computer)).info);
  }

  async function stop(computer: string): Promise<void> {
    const { container, info } = await there(computer);
    if (!info.State.Running) return;
    if (info.State.Paused) await ask(() => container.unpause());
    const kill = (signal: string) => ask(() => unless([404, 409], container.kill({ signal })));
    await kill('SIGUSR1');
    const end = clock.monotonic() + stopsWithin;
    while ((await find(computer))?.State.Running === true) {
      // It has not come so far that it hears, or something holds it.
      if (clock.monotonic() > end) {
        await kill('SIGKILL');
        break;
      }
      await delay(looksEvery);
    }
    await until(computer, (now) => now?.State.Running !== true, 'ended');
  }

  async function create(spec: ComputerSpec): Promise<DriverState> {
    const { computer, key } = spec;
    const { refused, limits } = await capabilities(spec.image ?? settings.image);
    if (refused !== null) throw new DriverFault('unsupported', refused);
    for (const [name, unit] of [
      ['memory', 'MiB of memory'],
      ['processes', 'processes'],
    ] as const) {
      const asked = spec.limits[name];
      if (asked !== null && !limits[name]) {
        throw new DriverFault(
          'unsupported',
          `The container engine holds nothing to ${asked} ${unit}: its machine lacks that cgroup.`,
        );
      }
      if (asked !== null && asked > settings.most[name]) {
        throw new DriverFault('unsupported', `A computer can have ${settings.most[name]} ${unit} here, not ${asked}.`);
      }
    }
    const name = nameOf(computer);
    const image = spec.image ?? settings.image;
    const { runtime, most } = settings;
    const wanted = containerOf(spec, {
      name,
      installation: installation(),
      image,
      folder: folderOf(computer),
      runtime,
      most,
    });
    if ((await find(computer)) === null) {
      // The engine would make it as root's.
      mkdirSync(folderOf(computer), { recursive: true, mode: 0o700 });
      await ask((asks) => unless([409], asks.createContainer(wanted)));
    }
    const info = await find(computer);
    if (info?.Config.Labels[labels.key] !== key) {
      throw new DriverFault('exists', `The container engine has another container with the name ${name}.`);
    }
    return stateOf(info);
  }

  async function inspect(computer: string): Promise<DriverState | null> {
    const found = await find(computer);
    const info = found === null ? null : await settled(found);
    return info === null ? null : stateOf(info);
  }

  async function capabilities(image: string): Promise<DriverCapabilities> {
    try {
      installation();
      const { asks } = await greeting();
      const info = (await asks.info()) as {
        readonly SecurityOptions?: readonly string[] | null;
        readonly Runtimes?: Readonly<Record<string, unknown>>;
        readonly MemoryLimit: boolean;
        readonly PidsLimit: boolean;
      };
      const found = await orNull(asks.getImage(image).inspect());
      return {
        refused: engineRefusal(settings, info) ?? imageRefusal(settings, image, found),
        egress: 'enforced',
        wall: settings.runtime === 'runsc' ? 'gvisor' : 'namespace',
        sleep: 'memory',
        limits: { memory: info.MemoryLimit, processes: info.PidsLimit },
        images: true,
        warm: null,
      };
    } catch (fault) {
      return { ...nothing, refused: fault instanceof DriverFault ? fault.message : engineWords(socket, fault) };
    }
  }

  return {
    name: 'docker',
    async away() {
      try {
        installation();
        await (await greeting()).asks.ping();
        return null;
      } catch (fault) {
        return fault instanceof DriverFault ? fault.message : engineWords(socket, fault);
      }
    },
    capabilities: () => capabilities(settings.image),
    create,
    start,
    async sleep(computer) {
      const { container, info } = await there(computer);
      if (!info.State.Running) throw new DriverFault('not_running', `${computer} is stopped.`);
      if (info.State.Paused) return;
      await ask(() => container.pause());
      await until(computer, (now) => now?.State.Paused === true, 'went to sleep');
      const left = timeLeft(info);
      if (left < Infinity) timers.after(left, () => void inspect(computer).catch(() => {}));
    },
    async wake(computer) {
      const { info } = await there(computer);
      if (!info.State.Running) throw new DriverFault('not_running', `${computer} is stopped.`);
      return start(computer);
    },
    async offer(computer, dial) {
      const { info } = await there(computer);
      if (info.State.Paused) throw new DriverFault('sleeping', `${computer} sleeps.`);
      if (!info.State.Running) throw new DriverFault('not_running', `${computer} does not run.`);
      return offerAt(channelOf(computer), tokenOf(computer), dial);
    },
    stop,
    async delete(computer) {
      const info = await find(computer);
      if (info !== null) {
        await ask(async (asks) => {
          const container = asks.getContainer(info.Id);
          if (info.State.Paused) await unless([404, 409], container.unpause());
          await unless([404, 409], container.remove({ force: true, v: true }));
        });
        await until(computer, (now) => now === null, 'is gone');
      }
      rmSync(folderOf(computer), { recursive: true, force: true });
    },
    inspect,
    async list() {
      const filters = { label: [`${labels.cloud}=${installation()}`, labels.computer] };
      const all = await ask((asks) => asks.listContainers({ all: true, filters }));
      const found = await Promise.all(all.map(({ Labels }) => find(Labels[labels.computer] ?? '')));
      const now = await Promise.all(found.map((info) => (info === null ? null : settled(info))));
      return now.flatMap((info) => (info === null ? [] : [stateOf(info)]));
    },
    watch: createDockerWatch({ engine, installation, whyOf, clock, timers }),
    close() {},
  };
}

/** Null: it was asked to. The same for an event and for what is inspected later. */
function whyOf(exitCode: number, made: Readonly<Record<string, string>>): string | null {
  if (exitCode === exitCodes.stopped) return null;
  const lifetime = made[labels.lifetime];
  if (exitCode === exitCodes.lifetimeOver && lifetime !== undefined) {
    return `Its lifetime of ${Number(lifetime) / 1000} s is over.`;
  }
  return `It ended unexpectedly (code ${exitCode}).`;
}

/** Null: it can make computers. */
function engineRefusal(
  { runtime, socket }: DockerSettings,
  info: { readonly SecurityOptions?: readonly string[] | null; readonly Runtimes?: Readonly<Record<string, unknown>> },
): string | null {
  const options = info.SecurityOptions ?? [];
  if (options.some((option) => /^name=(?:rootless|userns)/.test(option))) {
    return `The container engine at ${socket} gives its containers other users (rootless or userns-remap): computers cannot share a folder with it.`;
  }
  if (!options.some((option) => option.startsWith('name=seccomp'))) {
    return `The container engine at ${socket} filters no system calls (seccomp).`;
  }
  if (runtime !== null && !Object.hasOwn(info.Runtimes ?? {}, runtime)) {
    return `The container engine at ${socket} has no runtime ${runtime}.`;
  }
  return null;
}

/** Null: computers can be made from it. */
function imageRefusal(
  { socket, image: usual, maxImage }: DockerSettings,
  image: string,
  found: Pick<ImageInspectInfo, 'Size' | 'Config'> | null,
): string | null {
  if (found === null) return `The container engine at ${socket} has no image ${image}: build it, or pull it.`;
  if (found.Config.Labels?.[imageLabel] === undefined) {
    return `The image ${image} is not made on top of gantry-computer: what starts in it could not restrict itself.`;
  }
  const mebibytes = Math.ceil(found.Size / 1024 / 1024);
  if (image === usual || maxImage === null || mebibytes <= maxImage) return null;
  return `The image ${image} has ${mebibytes} MiB; computers are made from images of at most ${maxImage} MiB here.`;
}

/** Which clouds' containers are this one's: those of one folder. */
function createInstallation(folder: string): () => string {
  let known: string | null = null;
  return () => {
    if (known !== null) return known;
    const file = join(folder, 'installation');
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!existsSync(file)) writeFileSync(file, randomBytes(6).toString('hex'), { flag: 'wx', mode: 0o600 });
    } catch (fault) {
      const { code, message } = fault as NodeJS.ErrnoException;
      // Another replica was first.
      if (code !== 'EEXIST') throw new DriverFault('failed', `The folder of computers cannot be used: ${message}.`);
    }
    const { uid } = statSync(folder);
    if (uid === computerUser.uid)
      throw new DriverFault('failed', `The folder ${folder} belongs to the user of computers.`);
    known = readFileSync(file, 'utf8').trim();
    return known;
  };
}

/** The addresses of the engine's machine, of this cloud and of this program: what a computer could take for something public. */
function createMachine({
  settings: { image },
  engine,
  installation,
  cloudHost,
  clock,
}: {
  readonly settings: DockerSettings;
  readonly engine: () => Promise<Engine>;
  readonly installation: () => string;
  readonly cloudHost: string | null;
  readonly clock: Clock;
}) {
  let known: { readonly at: number; readonly addresses: Promise<readonly string[]> } | null = null;

  /** The cloud may run in a container: only the machine's own network says which addresses it has. */
  async function ofMachine(): Promise<readonly string[]> {
    const { asks } = await engine();
    const program =
      'console.log(JSON.stringify(Object.values(os.networkInterfaces()).flat().map((one) => one.address)))';
    const container = await asks.createContainer({
      name: `gantry-${installation()}-look-${randomBytes(4).toString('hex')}`,
      Image: image,
      Cmd: ['node', '-e', program],
      User: `${computerUser.uid}:${computerUser.gid}`,
      Labels: { [labels.cloud]: installation() },
      HostConfig: {
        NetworkMode: 'host',
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        ReadonlyRootfs: true,
        // Read from there below.
        LogConfig: { Type: 'json-file', Config: {} },
      },
    });
    try {
      await container.start();
      await container.wait();
      return JSON.parse(await lastWords(container)) as string[];
    } finally {
      await container.remove({ force: true });
    }
  }

  async function look(): Promise<readonly string[]> {
    const ofCloud = cloudHost === null ? [] : await lookup(cloudHost, { all: true }).catch(() => []);
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const all = [...(await ofMachine()), ...[...ofCloud, ...own].map(({ address }) => address)];
    // A computer's own loopback is its own; a link-local address is refused as such.
    return [...new Set(all)].filter((address) => !/^(?:127\.|::1$|fe80:)/i.test(address));
  }

  return {
    addresses(): Promise<readonly string[]> {
      if (known === null || clock.monotonic() - known.at > addressesFor) {
        const one = { at: clock.monotonic(), addresses: look() };
        known = one;
        one.addresses.catch(() => {
          if (known === one) known = null;
        });
      }
      return known.addresses;
    },
  };
}

/** The end of what a container wrote, of which the engine frames each piece with eight bytes. */
async function lastWords(container: Container): Promise<string> {
  const framed = await container.logs({ stdout: true, stderr: true, tail: 12 }).catch(() => Buffer.alloc(0));
  const pieces: Buffer[] = [];
  for (let at = 0; at + 8 <= framed.length; ) {
    const length = framed.readUInt32BE(at + 4);
    pieces.push(framed.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(pieces).toString('utf8').trim().slice(-4000);
}

const orNull = <Result>(asked: Promise<Result>) => unless([404], asked);

/** Null where the engine answers with one of these. */
async function unless<Result>(statuses: readonly number[], asked: Promise<Result>): Promise<Result | null> {
  try {
    return await asked;
  } catch (fault) {
    if (statuses.includes(statusOf(fault) ?? 0)) return null;
    throw fault;
  }
}

/** Made at its first use. */
function later<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
