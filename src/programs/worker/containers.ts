/**
 * Runs a task's command in a container of its image: without capabilities, on a root that nobody can write to, with limits, and without network
 * unless the worker's commands have it. Every container is removed, also those of workers that were killed. Must not know the queue.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';
import { beginsImage } from '../../contracts/work-queue/task.ts';
import { type Engine, engineWords, openEngine, statusOf } from '../../kit/docker/engine.ts';
import { startOf } from '../../kit/process/process-tree.ts';
import { collectOutput, pipesMs, type RunResult } from '../../kit/process/run-process.ts';
import { keepAsking } from './answering.ts';
import { readFrames } from './container-output.ts';
import { ensureImage, type PullPolicy } from './images.ts';
import { TaskFailure } from './outcome.ts';

export interface ContainerSettings {
  readonly socket: string;
  /** Beginnings of the names of images that may run; `*`: any. */
  readonly images: readonly string[];
  readonly pull: PullPolicy;
  /** MiB, unpacked. */
  readonly maxImage: number;
  readonly network: boolean;
  /** MiB, with what the task writes. */
  readonly memory: number;
  readonly cpus: number;
  readonly processes: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Sentences for the person who looks at the worker. */
  readonly note: (words: string) => void;
  /** Milliseconds for a call of the engine; default 30 s. */
  readonly callMs?: number;
}

export interface ContainerRun {
  readonly image: string;
  readonly taskId: string;
  readonly fence: number;
  readonly command: readonly string[];
  /** Whether `command` is a line for the image's shell. */
  readonly shell: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | undefined;
  readonly deadlineMs: number;
  readonly outputCap: number;
  readonly signal: AbortSignal;
}

export interface Containers {
  /** A sentence for the person who starts the worker. */
  readonly about: string;
  /** What the lease call says: nothing while the engine does not answer. */
  readonly images: readonly string[];
  /** The image of tasks that name none; null: they fail. Absent: they run without a container. */
  readonly usual?: string | null;
  /** Rejects with `TaskFailure` where the command did not run to its end, of which nothing then runs any more. */
  run(run: ContainerRun): Promise<RunResult & { readonly outOfMemory: boolean }>;
  close(): void;
}

const defaultCallMs = 30_000;
/** How often a worker looks whether its engine answers, and how long it waits for that. */
const watchMs = 5_000;
/** An engine that lost a container does not end the call that waits for it. */
const lookMs = 10_000;
/** A container has so long to be gone after its task's time. */
const graceMs = 5 * 60_000;
/** 128 and the number of SIGKILL. */
const killed = 137;
const home = '/work';
const taskLabel = 'gantry.task';
const workerLabel = 'gantry.worker';
const endsLabel = 'gantry.ends';

/** Asks the engine first, so that the worker's first lease call is true. */
export async function openContainers(settings: ContainerSettings): Promise<Containers> {
  const { socket, network, note } = settings;
  const callMs = settings.callMs ?? defaultCallMs;
  const engine = await openEngine({ socket, within: callMs });
  const watched = await openEngine({ socket, within: Math.min(watchMs, callMs) });
  const running = new Set<string>();
  const answering = await keepAsking({
    async ask(answered) {
      await watched.asks.ping();
      if (answered) return;
      for (const left of await removeLeftovers(engine, socket, running, settings.now())) note(left);
    },
    whyNot: (fault) => engineWords(socket, fault),
    again: `The engine at ${socket} answers again.`,
    everyMs: watchMs,
    note,
  });
  return {
    about: `Tasks with an image run in containers of the engine at ${socket}, ${network ? 'with' : 'without'} network access.`,
    get images() {
      return answering.answers() ? settings.images : [];
    },
    run(run) {
      running.add(run.taskId);
      return runContainer(engine, settings, callMs, run).finally(() => running.delete(run.taskId));
    },
    close: answering.close,
  };
}

async function runContainer(engine: Engine, settings: ContainerSettings, callMs: number, run: ContainerRun) {
  const { socket } = settings;
  const { image, signal, taskId } = run;
  if (!settings.images.some((beginning) => beginsImage(beginning, image))) {
    throw failure('no_such_image', `This worker runs only images of ${settings.images.join(', ')}, not ${image}.`);
  }
  try {
    // Another worker had this task before, or it would not be here; what it left must not run beside it.
    const formerGone = list(engine, `${taskLabel}=${taskId}`).then((former) => removeAll(engine, socket, former));
    const [left, { volumes }] = await Promise.all([formerGone, ensureImage(engine, image, settings, signal)]);
    if (left[0] !== undefined) throw failure('engine_failed', left[0]);
    signal.throwIfAborted();
    // Given apart, since the library also puts what it is given plainly into the address, which engines and those before them log.
    const creation = { _query: { name: `gantry-${taskId}-${run.fence}` }, _body: containerOf(settings, run, volumes) };
    const { id } = await engine.asks.createContainer(creation as Docker.ContainerCreateOptions);
    return await within(engine, settings, callMs, run, id);
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    if (signal.aborted) throw failure('ended', 'It was ended.');
    throw failure('engine_failed', engineWords(socket, error));
  }
}

/** Starts the container `id`, reads it to its end, and removes it. */
async function within(
  engine: Engine,
  settings: ContainerSettings,
  callMs: number,
  run: ContainerRun,
  id: string,
): Promise<RunResult & { outOfMemory: boolean }> {
  const { signal, input, outputCap } = run;
  const { note, socket } = settings;
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const [stdout, stderr] = [collectOutput(streams.stdout, outputCap), collectOutput(streams.stderr, outputCap)];
  const ending = new AbortController();
  let ended: RunResult['ended'] = null;
  const end = (why: 'deadline' | 'aborted') => {
    ended ??= why;
    ending.abort();
  };
  const abort = () => end('aborted');
  signal.addEventListener('abort', abort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  let attached: NodeJS.ReadWriteStream | undefined;
  try {
    signal.throwIfAborted();
    attached = await attach(engine, id, callMs);
    readFrames(attached, streams);
    await engine.asks
      .getContainer(id)
      .start()
      .catch((error: unknown) => Promise.reject(startFailure(error, run)));
    timer = setTimeout(end, run.deadlineMs, 'deadline');
    attached.end(input ?? '');
    let state = await stateAtEnd(engine, id, callMs, ending.signal);
    if (state === null) {
      // One that has ended already refuses it; whether it has, the next look says.
      await engine.asks
        .getContainer(id)
        .kill()
        .catch(() => {});
      state = await stateAtEnd(engine, id, callMs, AbortSignal.timeout(callMs), true);
    }
    if (state === null) {
      throw failure('engine_failed', `The container engine at ${socket} did not end the container ${id.slice(0, 12)}.`);
    }
    await Promise.race([Promise.all([stdout.end(), stderr.end()]), delay(pipesMs, undefined, { ref: false })]);
    return {
      exitCode: state.ExitCode,
      exitSignal: null,
      stdout: stdout.text(),
      stderr: stderr.text(),
      last: { stdout: stdout.last(), stderr: stderr.last() },
      truncated: stdout.truncated() || stderr.truncated(),
      ended,
      outOfMemory: state.OOMKilled,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    (attached as undefined | { destroy(): void })?.destroy();
    streams.stdout.destroy();
    streams.stderr.destroy();
    for (const left of await removeAll(engine, socket, [id])) note(left);
  }
}

function containerOf(
  settings: ContainerSettings,
  run: ContainerRun,
  volumes: readonly string[],
): Docker.ContainerCreateOptions {
  const bytes = settings.memory * 1024 * 1024;
  const scratch = `rw,exec,nosuid,nodev,mode=1777,size=${bytes}`;
  const ends = settings.now() + run.deadlineMs + graceMs;
  return {
    Image: run.image,
    // In place of the image's own entry point, to which a command would be mere arguments.
    Entrypoint: [...run.command],
    Cmd: [],
    Env: Object.entries({ HOME: home, ...run.env }).map(([name, value]) => `${name}=${value}`),
    WorkingDir: home,
    Hostname: 'task',
    Labels: { [taskLabel]: run.taskId, [workerLabel]: thisWorker(), [endsLabel]: String(ends) },
    Healthcheck: { Test: ['NONE'] },
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    HostConfig: {
      NetworkMode: settings.network ? 'bridge' : 'none',
      ReadonlyRootfs: true,
      // Also where the image declares volumes: they would lie on the engine's disk, which has no limit.
      Tmpfs: Object.fromEntries([home, '/tmp', ...volumes].map((place) => [place, scratch])),
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      IpcMode: 'private',
      Memory: bytes,
      MemorySwap: bytes,
      NanoCpus: Math.round(settings.cpus * 1e9),
      PidsLimit: settings.processes,
      // The engine keeps no copy of the output.
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}

/** Once it no longer runs; null: `signal` came first. `ending`: this worker has ended it. */
async function stateAtEnd(engine: Engine, id: string, callMs: number, signal: AbortSignal, ending = false) {
  let silentSince: number | null = null;
  let looked = ending;
  while (!signal.aborted) {
    // The wait answers at once; the look after it finds what a wait is not told: a container that a person removed, an engine that lies.
    const asked = performance.now();
    await waitFor(engine, id, AbortSignal.any([signal, AbortSignal.timeout(lookMs)]));
    if (signal.aborted) return null;
    try {
      const { State: state } = await engine.asks.getContainer(id).inspect();
      silentSince = null;
      if (state.Status === 'created') {
        throw failure('engine_failed', 'The container engine said that it started the container, and did not.');
      }
      if (!state.Running && (state.ExitCode !== killed || state.OOMKilled || looked)) return state;
      // A removal kills it first: whether somebody removes it shows a moment later.
      looked = !state.Running;
    } catch (error) {
      if (error instanceof TaskFailure) throw error;
      if (statusOf(error) === 404) throw failure('container_removed', 'Somebody removed its container while it ran.');
      silentSince ??= performance.now();
      if (performance.now() - silentSince > callMs) throw error;
    }
    // An engine that answers at once, and wrongly, is not asked without end.
    if (performance.now() - asked < 1_000) await delay(1_000, undefined, { signal, ref: false }).catch(() => {});
  }
  return null;
}

/** Until it ends, as the engine says, or `over` aborts. Never rejects. */
async function waitFor(engine: Engine, id: string, over: AbortSignal): Promise<void> {
  const aborted = new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
  const ended = engine.follows.getContainer(id).wait({ abortSignal: over });
  await Promise.race([aborted, ended]).catch(() => {});
}

/** An upgraded connection keeps no deadline of the library's. */
async function attach(engine: Engine, id: string, callMs: number): Promise<NodeJS.ReadWriteStream> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), callMs);
  try {
    return await engine.follows
      .getContainer(id)
      .attach({ stream: true, hijack: true, stdin: true, stdout: true, stderr: true, abortSignal: late.signal });
  } finally {
    clearTimeout(timer);
  }
}

/** Sentences about those that are still there. Never rejects. */
async function removeAll(engine: Engine, socket: string, ids: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const id of ids) {
    const container = engine.asks.getContainer(id);
    await container.remove({ force: true, v: true }).catch(() => {});
    const why = await container.inspect().then(
      ({ State }) => `it is ${State.Status}.`,
      (fault: unknown) => (statusOf(fault) === 404 ? null : engineWords(socket, fault)),
    );
    if (why !== null) left.push(`The container ${id.slice(0, 12)} is left behind at ${socket}: ${why}`);
  }
  return left;
}

/** Ids of the containers with this label, whatever they do, for which `wanted` holds. */
async function list(
  engine: Engine,
  label: string,
  wanted: (labels: Readonly<Record<string, string>>) => boolean = () => true,
): Promise<string[]> {
  const found = await engine.asks.listContainers({ all: true, filters: JSON.stringify({ label: [label] }) });
  return found.filter(({ Labels }) => wanted(Labels)).map(({ Id }) => Id);
}

/** What workers that were killed have left, what an engine made for this one after it had given up, and all whose time is long over. */
async function removeLeftovers(
  engine: Engine,
  socket: string,
  running: ReadonlySet<string>,
  now: number,
): Promise<string[]> {
  const abandoned = await list(engine, workerLabel, (labels) => {
    const worker = labels[workerLabel] ?? '';
    if (worker === thisWorker() && !running.has(labels[taskLabel] ?? '')) return true;
    return isGone(worker) || Number(labels[endsLabel]) < now;
  });
  return removeAll(engine, socket, abandoned);
}

/** The number of a process says who it is only where it was given. */
function placeOfNumbers(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

function thisWorker(): string {
  return `${placeOfNumbers()} ${process.pid} ${startOf(process.pid)}`;
}

function isGone(worker: string): boolean {
  const [place, pid, started] = worker.split(' ');
  if (place !== placeOfNumbers()) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  return startOf(Number(pid)) !== Number(started);
}

function startFailure(error: unknown, run: ContainerRun): unknown {
  if (statusOf(error) === null) return error;
  return cannotStart((error as Error).message, run) ?? error;
}

/** What a task fails with whose image lacks its program, as a container's runtime says; null: it says something else. */
export function cannotStart(
  said: string,
  { image, command, shell }: Pick<ContainerRun, 'image' | 'command' | 'shell'>,
): TaskFailure | null {
  const missing = /no such file or directory|executable file not found|permission denied|not a directory/i;
  if (!missing.test(said)) return null;
  if (shell) {
    return failure(
      'no_shell',
      `${image} has no /bin/sh. Give the command as a list: a program of the image and its words.`,
    );
  }
  return failure('cannot_start', `${image} has no program ${JSON.stringify(command[0])} that can be started.`);
}

function failure(code: string, message: string): TaskFailure {
  return new TaskFailure({ code, message });
}
