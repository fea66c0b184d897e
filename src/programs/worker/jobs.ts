/**
 * Runs a task's command as a Job of a Kubernetes cluster: the second way to run tasks with an image, beside an engine's containers. Every Job is removed,
 * also those of workers that were killed. Must not know the queue.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { beginsImage } from '../../contracts/work-queue/task.ts';
import { type Cluster, clusterWords, openCluster, statusOf } from '../../kit/kubernetes/cluster.ts';
import type { RunResult } from '../../kit/process/run-process.ts';
import { keepAsking } from './answering.ts';
import { type ContainerRun, type Containers, cannotStart } from './containers.ts';
import {
  type JobSettings,
  jobName,
  jobOf,
  keptSeconds,
  lastSaid,
  ofTasks,
  type PodState,
  pendingSeconds,
  stateOf,
  taskLabel,
  workerLabel,
  workerValue,
} from './job-spec.ts';
import { TaskFailure } from './outcome.ts';

interface JobsOptions extends JobSettings {
  /** The file that says where the cluster is; null: this worker runs in it. */
  readonly kubeconfig: string | null;
  /** As in {@link Containers}. */
  readonly usual: string | null;
  /** Sentences for the person who looks at the worker. */
  readonly note: (words: string) => void;
  /** How long an API server may be away before a task fails for it, ms; default five minutes. */
  readonly patienceMs?: number;
  /** How long a Job may wait for a node and its image, ms; default ten minutes. */
  readonly pendingMs?: number;
  /** How often something is asked again, ms; default one second. */
  readonly againMs?: number;
}

type Ended = Extract<PodState, { kind: 'ended' }>;

/** How often a worker looks whether its cluster answers, and for Jobs of its name that it does not run. */
const lookMs = 10_000;
const defaultPatienceMs = 5 * 60_000;
const defaultAgainMs = 1_000;
/** A stream of changes is not trusted for longer. */
const watchMs = 10_000;
/** A registry may fail once. */
const pullMs = 30_000;
/** A node has so long to end a Pod's programs. */
const endMs = 120_000;
const lastBytes = 4096;
/** Lines are read from the log's end; they may be long. */
const lastLines = 40;

/** Asks the cluster first, so that the worker's first lease call is true. */
export async function openJobs(options: JobsOptions): Promise<Containers> {
  const { kubeconfig, namespace, network, note } = options;
  const jobs = createJobs(await opened(kubeconfig), options);
  const running = new Set<string>();
  const answering = await keepAsking({
    async ask(answered) {
      const ofThis = await jobs.ofThisWorker();
      const left = answered ? ofThis : [...ofThis, ...(await jobs.forgotten())];
      for (const name of left) if (!running.has(name)) await jobs.remove(name);
    },
    whyNot: clusterWords,
    again: 'The cluster answers again.',
    everyMs: lookMs,
    note,
  });
  return {
    about: `Tasks run as Jobs in the namespace ${namespace} of a cluster, labelled for ${network ? 'an open network' : 'no network'}.`,
    usual: options.usual,
    get images() {
      return answering.answers() ? options.images : [];
    },
    run(run) {
      const name = jobName(run);
      running.add(name);
      return runJob(options, jobs, name, run).finally(() => running.delete(name));
    },
    close: answering.close,
  };
}

async function opened(kubeconfig: string | null): Promise<Cluster> {
  try {
    return await openCluster({ kubeconfig });
  } catch (cause) {
    const fact = `The cluster of ${kubeconfig ?? 'this worker'} cannot be used: ${(cause as Error).message}.`;
    throw new AppError('usage', fact, 'Set KUBECONFIG to the file that says where the cluster is.', { cause });
  }
}

/** What is asked of the cluster. Each call rejects where it does not answer. */
function createJobs(cluster: Cluster, { namespace, worker }: JobsOptions) {
  const { core, batch } = cluster;
  const named = async (labelSelector: string) => (await batch.listNamespacedJob({ namespace, labelSelector })).items;
  const nameOf = ({ metadata }: { readonly metadata?: { readonly name?: string } }) => metadata?.name ?? '';
  return {
    create: (body: ReturnType<typeof jobOf>) =>
      batch.createNamespacedJob({ namespace, body }).catch((fault: unknown) => {
        // An earlier try, whose answer did not arrive.
        if (statusOf(fault) !== 409) throw fault;
      }),
    pods: (name: string) => core.listNamespacedPod({ namespace, labelSelector: `job-name=${name}` }),
    ofThisWorker: async () => (await named(`${workerLabel}=${workerValue(worker)}`)).map(nameOf),
    ofTask: async (taskId: string) => (await named(`${taskLabel}=${taskId}`)).map(nameOf),
    /**
     * Ended longer ago than a cluster keeps them that removes them: before 1.23 not every one does. By the cluster's own clock: with the worker's, one
     * that is an hour fast would remove what another worker still reads.
     */
    async forgotten() {
      const { data, headers } = await batch.listNamespacedJobWithHttpInfo({ namespace, labelSelector: ofTasks });
      const now = new Date(headers.date ?? 0).getTime();
      return data.items
        .filter(({ status }) => {
          const end = status?.conditions?.find(
            (one) => ['Complete', 'Failed'].includes(one.type) && one.status === 'True',
          );
          const at = end?.lastTransitionTime;
          return at !== undefined && new Date(at).getTime() < now - 2 * keptSeconds * 1000;
        })
        .map(nameOf);
    },
    remove: (name: string) =>
      batch.deleteNamespacedJob({ namespace, name, propagationPolicy: 'Background' }).then(
        () => {},
        (fault: unknown) => {
          if (statusOf(fault) !== 404) throw fault;
        },
      ),
    log: (pod: string, part: { readonly limitBytes: number; readonly tailLines?: number }) =>
      core.readNamespacedPodLog({ namespace, name: pod, container: 'task', ...part }).then((text) => text ?? ''),
    async said(of: 'Job' | 'Pod', name: string): Promise<string | null> {
      const fieldSelector = `involvedObject.kind=${of},involvedObject.name=${name}`;
      return lastSaid((await core.listNamespacedEvent({ namespace, fieldSelector })).items);
    },
    /** Until one of its Pods changes, or some seconds have passed. Never rejects. */
    async change(name: string, resourceVersion: string, over: AbortSignal): Promise<void> {
      const changed = new AbortController();
      const until = AbortSignal.any([over, changed.signal, AbortSignal.timeout(watchMs)]);
      const path = `/api/v1/namespaces/${namespace}/pods`;
      const query = { labelSelector: `job-name=${name}`, resourceVersion };
      await cluster.watch(path, query, (type) => type !== 'BOOKMARK' && changed.abort(), until).catch(() => {});
    },
  };
}
type Jobs = ReturnType<typeof createJobs>;

async function runJob(options: JobsOptions, jobs: Jobs, name: string, run: ContainerRun) {
  const { image, signal, taskId, input } = run;
  if (!options.images.some((beginning) => beginsImage(beginning, image))) {
    throw failure('no_such_image', `This worker runs only images of ${options.images.join(', ')}, not ${image}.`);
  }
  if (input !== undefined && input !== '') {
    throw failure('no_stdin', 'This worker runs tasks as Jobs of a cluster, which get no standard input.');
  }
  const ask = <Answer>(call: () => Promise<Answer>) => patiently(options, signal, call);
  try {
    // Another worker had this task before, or it would not be here; what it left must not run beside it.
    for (const former of await ask(() => jobs.ofTask(taskId))) {
      if (!(await removed(options, jobs, former))) {
        throw failure('cluster_failed', `The cluster did not end the Job ${former} of an earlier worker.`);
      }
    }
    await ask(() => jobs.create(jobOf(options, run)));
    return await within(options, jobs, name, run);
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    if (signal.aborted) throw failure('ended', 'It was ended.');
    throw failure('cluster_failed', clusterWords(error));
  } finally {
    const gone = await removed(options, jobs, name).catch(() => false);
    if (!gone)
      options.note(
        `The Job ${name} is left behind in ${options.namespace}; the cluster ends it when its time is over.`,
      );
  }
}

/** Follows the Job to the end of its command, of its time, or of its lease. */
async function within(options: JobsOptions, jobs: Jobs, name: string, run: ContainerRun) {
  const { outputCap, signal } = run;
  const ending = new AbortController();
  let ended: RunResult['ended'] = null;
  const end = (why: 'deadline' | 'aborted') => {
    ended ??= why;
    ending.abort();
  };
  const abort = () => end('aborted');
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  let timer: NodeJS.Timeout | undefined;
  try {
    const began = () => {
      timer ??= setTimeout(end, run.deadlineMs, 'deadline');
    };
    const { pod, state } = await followed(options, jobs, { name, run, ending: ending.signal, began });
    const [first, last] = pod === null ? ['', ''] : await logOf(options, jobs, pod, outputCap);
    return {
      exitCode: state?.exitCode ?? null,
      exitSignal: null,
      // A Pod has one log for both.
      stdout: first,
      stderr: '',
      last: { stdout: last, stderr: '' },
      truncated: Buffer.byteLength(first) >= outputCap,
      ended: state === null ? ended : null,
      outOfMemory: state?.outOfMemory ?? false,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** `state` null: `ending` came first. `pod` null: nothing ran in it yet. */
async function followed(
  options: JobsOptions,
  jobs: Jobs,
  asked: {
    readonly name: string;
    readonly run: ContainerRun;
    readonly ending: AbortSignal;
    readonly began: () => void;
  },
): Promise<{ readonly pod: string | null; readonly state: Ended | null }> {
  const { name, run, ending, began } = asked;
  const { againMs = defaultAgainMs } = options;
  const pending = createPending(options, jobs, name, run);
  let known: { readonly uid: string; readonly name: string } | null = null;
  let ran = false;
  const isThere = () =>
    patiently(options, ending, () => jobs.ofTask(run.taskId)).then(
      (there) => there.includes(name),
      (fault: unknown) => {
        if (ending.aborted) return true;
        throw fault;
      },
    );
  while (!ending.aborted) {
    const at = performance.now();
    const { items, metadata } = await patiently(options, ending, () => jobs.pods(name)).catch((fault: unknown) => {
      if (ending.aborted) return { items: [], metadata: undefined };
      throw fault;
    });
    if (ending.aborted) break;
    const pod = items.find(({ metadata: own }) => known === null || own?.uid === known.uid);
    // The cluster makes another Pod for one that was removed, which would run the command again.
    if (known !== null && pod === undefined) throw failure('container_removed', 'Its Pod was removed while it ran.');
    if (pod !== undefined) known ??= { uid: pod.metadata?.uid ?? '', name: pod.metadata?.name ?? '' };
    const state = pod === undefined ? null : stateOf(pod);
    if (state?.kind === 'ended') {
      const unstarted = state.exitCode === 128 || state.exitCode === 127 ? cannotStart(state.said, run) : null;
      if (unstarted !== null) throw unstarted;
      return { pod: known?.name ?? null, state };
    }
    if (state?.kind === 'gone') throw failure('container_removed', state.why);
    if (state?.kind === 'running') {
      ran = true;
      began();
    } else {
      if (pod === undefined && !(await isThere())) {
        throw failure('container_removed', `Its Job ${name} was removed before it ran.`);
      }
      await pending(state, known?.name ?? null);
    }
    await jobs.change(name, metadata?.resourceVersion ?? '', ending);
    if (performance.now() - at < againMs) await delay(againMs, undefined, { signal: ending }).catch(() => {});
  }
  return { pod: ran ? (known?.name ?? null) : null, state: null };
}

/** Throws once a Pod has waited too long for a node, or its image for a registry. */
function createPending(
  { pendingMs = pendingSeconds * 1000 }: JobsOptions,
  jobs: Jobs,
  name: string,
  { image }: ContainerRun,
) {
  const since = performance.now();
  let failsSince: number | null = null;
  return async (state: Extract<PodState, { kind: 'waiting' }> | null, pod: string | null): Promise<void> => {
    const fails = state?.pull === 'fails';
    failsSince = fails ? (failsSince ?? performance.now()) : null;
    if (state?.pull === 'hopeless' || (failsSince !== null && performance.now() - failsSince > pullMs)) {
      const code = fails ? 'image_pull_failed' : 'no_such_image';
      throw failure(code, `The cluster cannot get ${image}: ${state?.why}`);
    }
    if (performance.now() - since < pendingMs) return;
    const said = await (pod === null ? jobs.said('Job', name) : jobs.said('Pod', pod)).catch(() => null);
    const late = `The cluster did not start it within ${pendingMs / 60_000} minutes`;
    if (/^Pulling image /.test(said ?? '')) throw failure('image_pull_failed', `${late}, and still pulls ${image}.`);
    // A Pod's own state says more than an event, unless it says only that it waits.
    const why = state === null || state.why === 'ContainerCreating' ? (said ?? 'it made no Pod') : state.why;
    throw failure('no_room', `${late}: ${why}`);
  };
}

/** Its beginning, and its end where that is more. A log that cannot be read fails nothing: the command has ended. */
async function logOf(
  options: JobsOptions,
  jobs: Jobs,
  pod: string,
  cap: number,
): Promise<[first: string, last: string]> {
  const read = (part: Parameters<Jobs['log']>[1]) =>
    patiently({ ...options, patienceMs: Math.min(options.patienceMs ?? defaultPatienceMs, endMs) }, null, () =>
      jobs.log(pod, part),
    );
  try {
    const first = await read({ limitBytes: cap });
    const isWhole = Buffer.byteLength(first) < cap;
    const last = isWhole ? first : await read({ limitBytes: cap, tailLines: lastLines });
    return [first, last.slice(-lastBytes)];
  } catch (error) {
    options.note(`The log of ${pod} could not be read: ${clusterWords(error)}`);
    return ['', ''];
  }
}

/** Removes the Job, and waits until none of its programs can run any more. False: some may. */
async function removed(options: JobsOptions, jobs: Jobs, name: string): Promise<boolean> {
  const { againMs = defaultAgainMs } = options;
  const limited = { ...options, patienceMs: Math.min(options.patienceMs ?? defaultPatienceMs, endMs) };
  const since = performance.now();
  await patiently(limited, null, () => jobs.remove(name));
  while (performance.now() - since < endMs) {
    const { items } = await patiently(limited, null, () => jobs.pods(name));
    if (
      items.every((pod) => stateOf(pod).kind === 'ended' || ['Failed', 'Succeeded'].includes(pod.status?.phase ?? ''))
    ) {
      return true;
    }
    await delay(againMs);
  }
  return false;
}

/** Asks again while the API server is away or busy. Rejects with what it said last. */
async function patiently<Answer>(
  { patienceMs = defaultPatienceMs, againMs = defaultAgainMs }: Pick<JobsOptions, 'patienceMs' | 'againMs'>,
  signal: AbortSignal | null,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const since = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (fault) {
      const status = statusOf(fault);
      const passes = status === null || status === 429 || status >= 500;
      if (!passes || performance.now() - since > patienceMs) throw fault;
    }
    await delay(againMs);
  }
}

function failure(code: string, message: string): TaskFailure {
  return new TaskFailure({ code, message });
}
