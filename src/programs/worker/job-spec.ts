/** The Kubernetes Job of a task, and what the state of its Pod means. Pure; must not know how a cluster is asked. */
import { hash } from 'node:crypto';
import type { CoreV1Event, V1Job, V1Pod } from '@kubernetes/client-node';
import type { ContainerRun } from './containers.ts';
import type { PullPolicy } from './images.ts';

export interface JobSettings {
  readonly namespace: string;
  /** Beginnings of the names of images that may run; `*`: any. */
  readonly images: readonly string[];
  readonly pull: PullPolicy;
  readonly network: boolean;
  /** MiB, with what the task writes. */
  readonly memory: number;
  readonly cpus: number;
  /** What this worker is called, also after it was started again: its Jobs are found by it. */
  readonly worker: string;
  /** This worker's Pod, in the same namespace, with which its Jobs go; null: it runs in none, or elsewhere. */
  readonly pod: { readonly name: string; readonly uid: string } | null;
}

export const taskLabel = 'gantry.dev/task';
export const workerLabel = 'gantry.dev/worker';
/** Selected by the NetworkPolicies of deploy/kubernetes. */
const networkLabel = 'gantry.dev/network';
/** The program that makes Jobs of tasks, whichever worker. */
export const ofTasks = 'app.kubernetes.io/managed-by=gantry-worker';
const containerName = 'task';
const home = '/work';
/** Seconds that a Job may wait for a node and its image, beside the task's own time. */
export const pendingSeconds = 600;
/** Seconds after which the cluster removes a Job that ended and that nobody removed. */
export const keptSeconds = 600;
const pulls = { missing: 'IfNotPresent', always: 'Always', never: 'Never' } as const;

/** A label's value holds 63 of few characters, and people name their workers as they like. */
export const workerValue = (worker: string): string => hash('sha256', worker, 'hex').slice(0, 32);

/** Two ids never differ only by capitals, which no name of a cluster has. */
export const jobName = ({ taskId, fence }: Pick<ContainerRun, 'taskId' | 'fence'>): string =>
  `gantry-${taskId.toLowerCase().replace(/[^a-z0-9]/g, '-')}-${fence}`;

/** As the driver of containers has it, for the Pod security level `restricted`. What the API server does not know, it leaves out. */
export function jobOf(settings: JobSettings, run: ContainerRun): V1Job {
  const { namespace, memory, cpus, pull, network, worker, pod } = settings;
  const labels = {
    ...Object.fromEntries([ofTasks.split('=') as [string, string]]),
    [taskLabel]: run.taskId,
    [workerLabel]: workerValue(worker),
    [networkLabel]: network ? 'open' : 'none',
  };
  const limits = { memory: `${memory}Mi`, cpu: String(cpus) };
  const owner = { apiVersion: 'v1', kind: 'Pod', blockOwnerDeletion: false, controller: false };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(run),
      namespace,
      labels,
      ...(pod === null ? {} : { ownerReferences: [{ ...owner, ...pod }] }),
    },
    spec: {
      // The queue decides whether a task is tried again.
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      // Ends what a worker that was killed has left.
      activeDeadlineSeconds: Math.ceil(run.deadlineMs / 1000) + pendingSeconds,
      ttlSecondsAfterFinished: keptSeconds,
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          hostname: 'task',
          // Zero would take the Pod out of the list before its programs have ended.
          terminationGracePeriodSeconds: 1,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 10001,
            runAsGroup: 10001,
            fsGroup: 10001,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: containerName,
              image: run.image,
              imagePullPolicy: pulls[pull],
              // In place of the image's own entry point, to which a command would be mere arguments.
              command: run.command.map(plain),
              env: Object.entries({ HOME: home, ...run.env }).map(([name, value]) => ({ name, value: plain(value) })),
              workingDir: home,
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              resources: { limits, requests: limits },
              volumeMounts: [
                { name: 'work', mountPath: home },
                { name: 'tmp', mountPath: '/tmp' },
              ],
            },
          ],
          // In memory, so that what a task writes counts towards its limit.
          volumes: ['work', 'tmp'].map((name) => ({ name, emptyDir: { medium: 'Memory', sizeLimit: limits.memory } })),
        },
      },
    },
  };
}

/** Kubernetes puts variables in place of `$(NAME)`, and `$` in place of `$$`, also where a task means its shell's. */
const plain = (text: string): string => text.replaceAll('$', '$$$$');

export type PodState =
  | { readonly kind: 'waiting'; readonly why: string; readonly pull: 'fails' | 'hopeless' | null }
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly exitCode: number; readonly outOfMemory: boolean; readonly said: string }
  /** Something else than its command ended it: it was removed, or its node gave it up. */
  | { readonly kind: 'gone'; readonly why: string };

export function stateOf({ metadata, status }: V1Pod): PodState {
  const container = status?.containerStatuses?.find(({ name }) => name === containerName)?.state;
  const { terminated, running, waiting } = container ?? {};
  if (terminated !== undefined && status?.reason === undefined) {
    const { exitCode, reason, message = '' } = terminated;
    return { kind: 'ended', exitCode, outOfMemory: reason === 'OOMKilled', said: message };
  }
  if (metadata?.deletionTimestamp !== undefined) return { kind: 'gone', why: 'Its Pod was removed while it ran.' };
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') {
    const why = status.message ?? status.reason ?? 'its Pod ended without saying why';
    return { kind: 'gone', why: `The cluster ended it: ${why.replace(/\.?\s*$/, '.')}` };
  }
  if (running !== undefined) return { kind: 'running' };
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const why = waiting?.message ?? waiting?.reason ?? scheduled?.message ?? 'its Pod waits';
  const hopeless = ['InvalidImageName', 'ErrImageNeverPull'].includes(waiting?.reason ?? '');
  const fails = ['ErrImagePull', 'ImagePullBackOff'].includes(waiting?.reason ?? '');
  return { kind: 'waiting', why, pull: hopeless ? 'hopeless' : fails ? 'fails' : null };
}

/** What the cluster said last of a Job without a Pod, such as that a quota is used up, or of a Pod, such as that its image is pulled. */
export function lastSaid(events: readonly CoreV1Event[]): string | null {
  const at = ({ lastTimestamp }: CoreV1Event) => new Date(lastTimestamp ?? 0).getTime();
  return events.toSorted((a, b) => at(a) - at(b)).at(-1)?.message ?? null;
}
