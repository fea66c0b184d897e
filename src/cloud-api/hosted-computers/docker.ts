/**
 * The driver `docker`: computers in containers of an engine on this machine, by the API of Docker on its socket. Each has a folder of this machine with
 * its socket and the settings of its start, into which nothing in the computer can look. What begins in the container is
 * src/programs/computer-init. Must not know projects.
 */
import { hash, randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Container,
  ContainerCreateOptions,
  ContainerInspectInfo,
  ExecCreateOptions,
  ImageInspectInfo,
} from 'dockerode';
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
  program as initProgram,
  inside,
} from '../../programs/computer-init/protocol.ts';
import { createDockerProof } from './docker-proof.ts';
import { containerOf, labels } from './docker-spec.ts';
import { claimIn, createDockerWarm, isWarm, placesOf, type WarmCounts, warmSpec } from './docker-warm.ts';
import { createDockerWatch } from './docker-watch.ts';
import {
  type ComputerSpec,
  type DriverCapabilities,
  DriverFault,
  type DriverState,
  type OfferingDriver,
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
  /** Cores of each computer, or null for no limit. */
  readonly processor: number | null;
  /** Of an image that a computer asks for. Mebibytes; null: any. */
  readonly maxImage: number | null;
  readonly warm: WarmCounts;
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
/** All addresses are tried at once, each for two seconds. */
const triesWithin = 20_000;
/** Nothing in a computer runs as this user, so nothing there can touch what does. */
const nobody = '65534:65534';
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
  log,
}: {
  readonly settings: DockerSettings;
  /** Of this machine, and of the engine by the same path. Replicas share it; another cloud has another one. */
  readonly folder?: string | undefined;
  /** The public name of this cloud, whose addresses no computer reaches. */
  readonly cloudHost: string | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): OfferingDriver {
  const { socket } = settings;
  const engine = later(() => openEngine({ socket }));
  const greeting = later(() => openEngine({ socket, within: greetsWithin }));
  const installation = createInstallation(folder);
  const { nameOf, computerIn, computerOf, placeOf, folderOf, channelOf, tokenOf, readyFile } = placesOfContainers(
    folder,
    installation,
  );
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
    const made = found?.Config.Labels ?? {};
    return made[labels.cloud] === installation() && made[labels.computer] !== undefined ? found : null;
  }

  async function there(
    computer: string,
  ): Promise<{ readonly container: Container; readonly info: ContainerInspectInfo }> {
    const info = await find(computer);
    if (info === null) throw new DriverFault('not_found', `There is no computer ${computer}.`);
    const { asks } = await engine();
    return { container: asks.getContainer(info.Id), info };
  }

  function stateOf(info: ContainerInspectInfo): DriverState {
    const { State, Created, Config } = info;
    const [computer, place] = [computerOf(info), placeOf(info)];
    if (!State.Running) {
      const why = State.Status === 'created' ? null : whyOf(State.ExitCode, Config.Labels);
      const since = Date.parse(State.Status === 'created' ? Created : State.FinishedAt);
      return { computer, state: 'stopped', why, since };
    }
    const since = Date.parse(State.StartedAt);
    if (!State.Paused && !existsSync(readyFile(place))) {
      return { computer, state: 'starting', why: null, since };
    }
    return { computer, state: State.Paused ? 'sleeping' : 'running', why: null, since };
  }

  /** Its own timer stands still while it sleeps. Once its time is over it is woken, and the timer ends it. */
  async function settled(info: ContainerInspectInfo): Promise<ContainerInspectInfo | null> {
    if (!info.State.Paused || timeLeft(info) > 0) return info;
    const computer = computerOf(info);
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

  async function begin(container: Container, info: ContainerInspectInfo): Promise<void> {
    const made = info.Config.Labels;
    const place = placeOf(info);
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
      warm: isWarm(computerOf(info)),
    };
    mkdirSync(folderOf(place), { recursive: true, mode: 0o700 });
    for (const left of [readyFile(place), channelOf(place)]) rmSync(left, { force: true });
    writeFileSync(join(folderOf(place), files.boot), JSON.stringify(boot), { mode: 0o600 });
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
  async function answers(computer: string, place: string, container: Container): Promise<void> {
    const end = clock.monotonic() + startsWithin;
    const token = tokenOf(place);
    while (!(await isReadyAt(channelOf(place), token, end - clock.monotonic()))) {
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

  /** Nothing changes; but every watch hears from the engine that it can be called. */
  const tellThatItRuns = (container: Container) => ask(() => container.update({ RestartPolicy: { Name: 'no' } }));

  const proof = createDockerProof({
    clock,
    timers,
    log,
    addresses: machine.addresses,
    async running() {
      const filters = { label: [`${labels.cloud}=${installation()}`, 'gantry.egress=public'], status: ['running'] };
      const all = await ask((asks) => asks.listContainers({ filters }));
      // One that starts proves itself.
      const up = all.filter(({ Labels }) => existsSync(readyFile(Labels[labels.computer] ?? '')));
      return up.flatMap(({ Names }) => computerIn(bareName(Names[0])) ?? []);
    },
    async attempt(computer, addresses) {
      const { container } = await there(computer);
      const Cmd = ['node', initProgram, 'try', JSON.stringify(addresses)];
      const said = await ask(() => unless([404, 409], outputOf(container, { Cmd, User: nobody, WorkingDir: '/' })));
      const runs = (await find(computer))?.State;
      if (said === null || runs?.Running !== true || runs.Paused) return null;
      return JSON.parse(said) as Record<string, string>;
    },
    async kill(computer) {
      const { container } = await there(computer);
      await ask(() => unless([404, 409], container.kill()));
    },
  });

  async function start(computer: string): Promise<DriverState> {
    const { container, info } = await there(computer);
    if (info.State.Paused) {
      await ask(() => container.unpause());
      await until(computer, (now) => now?.State.Paused === false, 'woke up');
    } else if (!info.State.Running) await begin(container, info);
    const ready = readyFile(placeOf(info));
    if (!existsSync(ready)) {
      await answers(computer, placeOf(info), container);
      writeFileSync(ready, '');
      if (info.Config.Labels['gantry.egress'] === 'public') proof.started();
      await tellThatItRuns(container);
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
    if ((await find(computer)) === null && !(await claimWarm(spec))) await makeContainer(spec);
    const info = await find(computer);
    if (info === null || keyOf(info) !== key) {
      throw new DriverFault('exists', `The container engine has another container with the name ${nameOf(computer)}.`);
    }
    return stateOf(info);
  }

  const keyOf = (info: ContainerInspectInfo) => claimIn(folder, placeOf(info))?.key ?? info.Config.Labels[labels.key];

  function containerFor(spec: ComputerSpec): ContainerCreateOptions {
    const { runtime, most, processor } = settings;
    const image = spec.image ?? settings.image;
    const name = nameOf(spec.computer);
    return containerOf(spec, {
      name,
      installation: installation(),
      image,
      folder: folderOf(spec.computer),
      runtime,
      most,
      processor,
    });
  }

  async function makeContainer(spec: ComputerSpec, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const wanted = containerFor(spec);
    // The engine would make it as root's.
    mkdirSync(folderOf(spec.computer), { recursive: true, mode: 0o700 });
    await ask((asks) => unless([409], asks.createContainer({ ...wanted, Labels: { ...wanted.Labels, ...more } })));
  }

  /** Whatever would be different in one that is made now, but for its image. */
  const madeAs = (toolset: ComputerSpec['toolset']) =>
    hash('sha256', JSON.stringify(containerFor(warmSpec(toolset, 'warm'))), 'hex').slice(0, 16);

  const warm = createDockerWarm({
    wanted: settings.warm,
    folder,
    clock,
    timers,
    log,
    async list() {
      const filters = { label: [`${labels.cloud}=${installation()}`, labels.warm] };
      const [all, image] = await ask((asks) =>
        Promise.all([asks.listContainers({ all: true, filters }), orNull(asks.getImage(settings.image).inspect())]),
      );
      return all.flatMap(({ Names, Labels, State, ImageID }) => {
        const place = computerIn(bareName(Names[0])) ?? '';
        if (!isWarm(place)) return [];
        const toolset = Labels[labels.warm] === 'shell' ? 'shell' : 'desktop';
        const state = State !== 'running' ? 'stopped' : existsSync(readyFile(place)) ? 'running' : 'starting';
        const isCurrent = ImageID === image?.Id && Labels[labels.made] === madeAs(toolset);
        return [{ place, toolset, state, isCurrent } as const];
      });
    },
    async make(spec) {
      const { refused } = await capabilities(settings.image);
      if (refused !== null) return;
      await makeContainer(spec, { [labels.warm]: spec.toolset, [labels.made]: madeAs(spec.toolset) });
      await start(spec.computer);
    },
    remove,
  });

  /** False if none is kept for it. */
  async function claimWarm(spec: ComputerSpec): Promise<boolean> {
    const place = await warm.take(spec);
    if (place === null) return false;
    const { container } = await there(place);
    await ask(() => unless([409], container.rename({ name: nameOf(spec.computer) })));
    await tellThatItRuns(container);
    return true;
  }

  async function remove(computer: string): Promise<void> {
    const info = await find(computer);
    if (info !== null) {
      await ask(async (asks) => {
        const container = asks.getContainer(info.Id);
        if (info.State.Paused) await unless([404, 409], container.unpause());
        await unless([404, 409], container.remove({ force: true, v: true }));
      });
      await until(computer, (now) => now === null, 'is gone');
    }
    const left = existsSync(folder) ? readdirSync(folder) : [];
    for (const place of placesOf(folder, computer, left)) rmSync(folderOf(place), { recursive: true, force: true });
  }

  async function inspect(computer: string): Promise<DriverState | null> {
    const found = await find(computer);
    const info = found === null ? null : await settled(found);
    return info === null ? null : stateOf(info);
  }

  /** The computers of this cloud, without those that are kept warm. */
  async function containers(): Promise<readonly string[]> {
    const filters = { label: [`${labels.cloud}=${installation()}`, labels.computer] };
    const all = await ask((asks) => asks.listContainers({ all: true, filters }));
    const names = all.map(({ Names }) => computerIn(bareName(Names[0])) ?? '');
    return names.filter((name) => !isWarm(name));
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
        refused: engineRefusal(settings, info) ?? imageRefusal(settings, image, found) ?? proof.unproven(),
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

  warm.begin();
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
    async capabilities() {
      const known = await capabilities(settings.image);
      return known.refused === null ? { ...known, warm: await warm.counts() } : known;
    },
    async hosts() {
      const { refused, limits } = await capabilities(settings.image);
      const { memory, processes } = settings.most;
      const held = { memory: limits.memory ? memory : null, processes: limits.processes ? processes : null };
      const computers = refused === null ? await containers().catch(() => null) : null;
      return [
        {
          name: null,
          refused,
          limits: held,
          provenAt: proof.provenAt(),
          computers: computers?.length ?? null,
          most: null,
        },
      ];
    },
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
      return offerAt(channelOf(placeOf(info)), tokenOf(placeOf(info)), dial);
    },
    stop,
    delete: remove,
    inspect,
    async list() {
      const found = await Promise.all((await containers()).map(find));
      const now = await Promise.all(found.map((info) => (info === null ? null : settled(info))));
      return now.flatMap((info) => (info === null ? [] : [stateOf(info)]));
    },
    watch: createDockerWatch({ engine, installation, computerIn, whyOf, clock, timers }),
    close() {
      warm.close();
      proof.close();
    },
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

/** What a program in a container wrote. */
async function outputOf(container: Container, program: ExecCreateOptions): Promise<string> {
  const exec = await container.exec({ ...program, AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({});
  const late = setTimeout(() => stream.destroy(new Error('The program in the container did not end.')), triesWithin);
  try {
    return unframed(await buffer(stream));
  } finally {
    clearTimeout(late);
  }
}

/** The end of what a container wrote. */
async function lastWords(container: Container): Promise<string> {
  const framed = await container.logs({ stdout: true, stderr: true, tail: 12 }).catch(() => Buffer.alloc(0));
  return unframed(framed).trim().slice(-4000);
}

/** The engine frames each piece of output with eight bytes. */
function unframed(framed: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; at + 8 <= framed.length; ) {
    const length = framed.readUInt32BE(at + 4);
    pieces.push(framed.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** As the engine gives it, with a slash before it. */
const bareName = (name = '') => name.replace(/^\//, '');

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

/** How containers are called, and where on this machine each has its files. */
function placesOfContainers(folder: string, installation: () => string) {
  const prefix = () => `gantry-${installation()}-`;
  const nameOf = (computer: string) => `${prefix()}${computer}`;
  /** Null if the name is not one of ours. */
  const computerIn = (name: string) => (name.startsWith(prefix()) ? name.slice(prefix().length) : null);
  const computerOf = ({ Name }: Pick<ContainerInspectInfo, 'Name'>) => computerIn(bareName(Name)) ?? '';
  /** Of its folder: a computer that was warm has that of its container. */
  const placeOf = ({ Config }: Pick<ContainerInspectInfo, 'Config'>) => Config.Labels[labels.computer] ?? '';
  const folderOf = (place: string) => join(folder, place);
  const channelOf = (place: string) => join(folderOf(place), files.socket);
  /** Of its last start. */
  const tokenOf = (place: string) =>
    (JSON.parse(readFileSync(join(folderOf(place), files.boot), 'utf8')) as Boot).token;
  const readyFile = (place: string) => join(folderOf(place), 'ready');
  return { nameOf, computerIn, computerOf, placeOf, folderOf, channelOf, tokenOf, readyFile };
}
