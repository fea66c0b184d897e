/** `gantry worker`: works on tasks of the queue until it is stopped or the queue is empty. Prints a line for each task. */
import { hash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { ImageList, LabelList } from '../../contracts/work-queue/task.ts';
import { dataFolder, packageVersion } from '../../host/places.ts';
import { commandRunner } from '../../programs/worker/command.ts';
import type { Containers } from '../../programs/worker/containers.ts';
import { createTaskFiles } from '../../programs/worker/files.ts';
import { pullPolicies } from '../../programs/worker/images.ts';
import { createWorkerMetrics } from '../../programs/worker/metrics.ts';
import { findSandbox } from '../../programs/worker/sandbox.ts';
import { removeAbandoned } from '../../programs/worker/scratch.ts';
import { openSpool, type Spool } from '../../programs/worker/spool.ts';
import { traceWorker } from '../../programs/worker/tracing.ts';
import { startWorker, type WorkerEvent } from '../../programs/worker/worker.ts';
import { type Action, type Context, flag, type Input, integer, optionalFlag, optionalText, text } from '../command.ts';

const maxConcurrent = 256;

export const worker: Action = async (context, input) => {
  const { output, env } = context;
  const url = addressOf(optionalText(input, 'url') ?? env.GANTRY_URL);
  const key = keyIn(optionalText(input, 'keyFile') ?? env.GANTRY_KEY_FILE ?? text(input, 'keyFile'));
  const workerId = optionalText(input, 'name') ?? `${hostname()}-${randomBytes(3).toString('hex')}`;
  const labels = labelsIn(optionalText(input, 'labels'));
  const concurrency = integer(input, 'concurrency', 1, maxConcurrent) ?? 1;
  const untilEmpty = flag(input, 'drain');
  const containers = await containersOf(context, input, workerId);
  const sandbox = await findSandbox({
    wanted: optionalFlag(input, 'sandbox') !== false,
    network: flag(input, 'network'),
    path: env.PATH ?? '',
  });
  output.note(`Worker ${workerId} at ${url}, ${concurrency === 1 ? 'one task' : `${concurrency} tasks`} at a time.`);
  if (containers?.usual === undefined) output.note(sandbox.about);
  if (containers !== null) output.note(containers.about);
  await removeAbandoned();
  const figures = createWorkerMetrics({ concurrency, version: packageVersion(), note: output.note });
  const port = integer(input, 'metrics', 0, 65_535);
  const tokenFile = join(dataFolder(env), 'worker-metrics-token');
  const served = port === undefined ? null : await figures.serve({ port, tokenFile, now: context.now });
  if (served !== null) output.note(`Figures: ${served.url} (token in ${tokenFile})`);
  const tracing = await traceWorker(env, packageVersion());
  const began = performance.now();
  const running = startWorker({
    url,
    key,
    workerId,
    can: {
      labels,
      get images() {
        return containers?.images ?? [];
      },
    },
    concurrency,
    untilEmpty,
    run: tracing.run(
      commandRunner(sandbox, output.note, containers, createTaskFiles({ url, key, random: Math.random })),
    ),
    fetch: tracing.fetch,
    random: Math.random,
    spool: spoolIn(optionalText(input, 'spool') ?? folderFor(url, dataFolder(env)), key, output.note),
    tell(event) {
      figures.tell(event);
      const said = lineOf(event);
      if (event.kind === 'trouble') output.note(said);
      else output.line(said);
    },
  });
  let asked = 0;
  const end = () => {
    asked += 1;
    if (asked === 1) running.drain();
    else {
      output.note('Ending now: its tasks go to other workers when their leases expire.');
      running.abort();
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  try {
    const counts = await running.ended;
    const ms = Math.round(performance.now() - began);
    output.result({ worker: workerId, sandbox: sandbox.closed, ...counts, ms }, () => {
      const parts = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
      return `Worker ${workerId} has ended: ${parts.length === 0 ? 'it did nothing' : parts.join(', ')}.`;
    });
    return 0;
  } finally {
    containers?.close();
    await served?.close();
    await tracing.close();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, end);
  }
};

/** Null without `--docker` and `--kubernetes`. */
async function containersOf({ env, output, now }: Context, input: Input, worker: string): Promise<Containers | null> {
  const socket = optionalText(input, 'docker') ?? env.GANTRY_WORKER_DOCKER;
  const namespace = namespaceOf(env, input);
  const usual = optionalText(input, 'taskImage') || env.GANTRY_WORKER_TASK_IMAGE || null;
  if (usual !== null && namespace === null) {
    throw new AppError('usage', '--task-image is given without --kubernetes.', 'Give --kubernetes <namespace>, too.');
  }
  const settings = {
    images: imagesIn(optionalText(input, 'images')),
    pull: pullIn(optionalText(input, 'pull')),
    maxImage: integer(input, 'maxImage', 1, 1_000_000) ?? 10_240,
    memory: integer(input, 'taskMemory', 16, 10_000_000) ?? 2_048,
    cpus: cpusIn(optionalText(input, 'taskCpus')),
    processes: integer(input, 'taskProcesses', 1, 1_000_000) ?? 512,
    network: flag(input, 'network'),
  };
  if (namespace !== null) {
    if (socket !== undefined && socket !== '') {
      throw new AppError('usage', 'Both --docker and --kubernetes are given.', 'Give the one that is to run tasks.');
    }
    const kubeconfig = env.KUBECONFIG || null;
    if (kubeconfig === null && !env.KUBERNETES_SERVICE_HOST) {
      throw new AppError(
        'usage',
        '--kubernetes is given, but this worker runs in no cluster.',
        'Set KUBECONFIG to the file that says where the cluster is.',
      );
    }
    const pod = env.POD_NAME && env.POD_UID ? { name: env.POD_NAME, uid: env.POD_UID } : null;
    const told = { kubeconfig, namespace, pod, usual, note: output.note, worker: pod?.uid ?? worker };
    const { openJobs } = await import('../../programs/worker/jobs.ts');
    return openJobs({ ...settings, ...told });
  }
  if (socket === undefined || socket === '') return null;
  const path = socket.replace(/^unix:\/\//, '');
  if (!isAbsolute(path)) {
    const fact = `--docker ${JSON.stringify(socket)} is not the path of a socket.`;
    throw new AppError('usage', fact, 'Give a path such as /var/run/docker.sock.');
  }
  // dockerode is only for those who have an engine.
  const { openContainers } = await import('../../programs/worker/containers.ts');
  return openContainers({ ...settings, socket: path, now, note: output.note });
}

/** Null: tasks do not run in a cluster. */
function namespaceOf(env: Context['env'], input: Input): string | null {
  const namespace = optionalText(input, 'kubernetes') || env.GANTRY_WORKER_KUBERNETES || null;
  if (namespace === null || /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace)) return namespace;
  throw new AppError(
    'usage',
    `--kubernetes ${JSON.stringify(namespace)} is not the name of a namespace.`,
    'Give one such as gantry-workers.',
  );
}

function imagesIn(given: string | undefined): readonly string[] {
  if (given === undefined) return ['*'];
  if (given !== 'none' && ImageList.safeParse(given).success) return given.split(',');
  throw new AppError(
    'usage',
    `--images ${JSON.stringify(given)} is not a list of images.`,
    'Give beginnings of names such as ghcr.io/acme,alpine.',
  );
}

function pullIn(given = 'missing') {
  const pull = pullPolicies.find((policy) => policy === given);
  if (pull !== undefined) return pull;
  throw new AppError('usage', `--pull is ${JSON.stringify(given)}.`, `Give ${pullPolicies.join(', ')}.`);
}

function cpusIn(given = '1'): number {
  const cpus = /^\d{1,4}(\.\d{1,2})?$/.test(given) ? Number(given) : 0;
  if (cpus > 0) return cpus;
  throw new AppError(
    'usage',
    `--task-cpus is ${JSON.stringify(given)}.`,
    'Give a number of processors such as 0.5 or 2.',
  );
}

function lineOf(event: WorkerEvent): string {
  switch (event.kind) {
    case 'began':
      return `began      ${event.task.id}  attempt ${event.lease.attempt}`;
    case 'draining':
      return event.held === 0 ? 'draining   holds nothing' : `draining   finishes ${event.held}, takes nothing new`;
    case 'trouble':
      return `${event.why} Retrying in ${(event.againMs / 1000).toFixed(1)} s.`;
    case 'delivered':
      return `delivered  ${event.taskId}  the result that an earlier worker kept`;
    case 'outdated':
      return `outdated   ${event.taskId}  ${firstLine(event.why ?? '')}`;
    case 'damaged':
      return `damaged    ${event.file} is no result of a task and was set aside`;
    default:
      return `${event.kind.padEnd(10)} ${event.task.id}  ${event.ms} ms${event.why === undefined ? '' : `  ${firstLine(event.why)}`}`;
  }
}

/** One for each queue. No key is in it. */
function folderFor(url: string, home: string): string {
  return join(home, 'run', 'worker', hash('sha256', url, 'hex').slice(0, 16));
}

/** Null where nothing can be written: the worker works all the same, and says what that means. */
function spoolIn(folder: string, key: string, note: (words: string) => void): Spool | null {
  try {
    return openSpool(folder, { key });
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    note(`Results cannot be kept in ${folder} (${why}): those that the queue does not take are lost with this worker.`);
    return null;
  }
}

function firstLine(text: string): string {
  const [line = ''] = text.split('\n');
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

function labelsIn(given = ''): Readonly<Record<string, string>> {
  if (LabelList.safeParse(given).success) {
    const pairs = given.split(',').filter((pair) => pair !== '');
    return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
  }
  throw new AppError(
    'usage',
    `--labels ${JSON.stringify(given)} is not a list of labels.`,
    'Give names and values such as gpu=a100,zone=eu.',
  );
}

/** With the path that it has behind a server in front. What else an address may have would be lost without a word. */
export function addressOf(given: string | undefined): string {
  const action = 'Give an address such as https://gantry.example.';
  if (given === undefined)
    throw new AppError('usage', 'The address of the queue is missing.', 'Give --url https://gantry.example.');
  const url = URL.parse(given);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new AppError('usage', `--url ${JSON.stringify(given)} is not an http or https address.`, action);
  }
  const { origin, pathname, username, password, search, hash } = url;
  if (username !== '' || password !== '')
    throw new AppError('usage', '--url contains a user name or a password.', action);
  if (search !== '' || hash !== '')
    throw new AppError('usage', `--url has a query or a fragment: ${search}${hash}.`, action);
  return origin + pathname.replace(/\/+$/, '');
}

function keyIn(file: string): string {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new AppError(
      'usage',
      `The key file ${file} cannot be read (${why}).`,
      'Give the file that holds an API key.',
      {
        cause,
      },
    );
  }
  if (key !== '') return key;
  throw new AppError('usage', `The key file ${file} is empty.`, 'Put an API key with the scope work into it.');
}
