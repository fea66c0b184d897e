/** Which container engine makes hosted computers, and what computers may ask for, from the environment. Must not know the driver. */
import { isAbsolute } from 'node:path';
import type { ComputerBounds, KubernetesSettings } from '../cloud-api/hosted-computers/index.ts';
import { AppError } from '../contracts/common/errors.ts';
import { maxLifetimeSeconds } from '../contracts/hosted-computers/computer.ts';
import { coresIn, whole } from './env-number.ts';
import { readImageRules } from './image-rules.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface ComputersEngine {
  readonly socket: string;
  readonly image: string;
  readonly runtime: string | null;
  /** What each computer has at most, which is also what it has unless it asks for less. Mebibytes; processes and threads. */
  readonly most: { readonly memory: number; readonly processes: number };
  /** Cores of each computer, or null for no limit. */
  readonly processor: number | null;
  /** Of an image that a computer asks for. Mebibytes; null: any. */
  readonly maxImage: number | null;
  /** How many computers of each toolset run before anybody asks for them. */
  readonly warm: { readonly desktop: number; readonly shell: number };
}

/** The word in place of a socket. */
const inCluster = 'kubernetes';

/** Null: computers are made by the computer host, or in a cluster. Throws `usage`. */
export function readComputersEngine(env: Env): ComputersEngine | null {
  const socket = env.GANTRY_COMPUTERS_ENGINE || null;
  if (socket === null || socket === inCluster) return null;
  if (!isAbsolute(socket)) {
    throw new AppError(
      'usage',
      `GANTRY_COMPUTERS_ENGINE is ${JSON.stringify(socket)}.`,
      'Give the path of the container engine’s socket, such as /var/run/docker.sock, or the word kubernetes.',
    );
  }
  return {
    socket,
    image: env.GANTRY_COMPUTERS_IMAGE || 'gantry-computer',
    runtime: env.GANTRY_COMPUTERS_RUNTIME || null,
    most: {
      memory: whole(env, 'GANTRY_COMPUTERS_MEMORY', 'a number of MiB', 256, 1_048_576) ?? 2048,
      processes: whole(env, 'GANTRY_COMPUTERS_PROCESSES', 'a number', 64, 1_000_000) ?? 1024,
    },
    processor: processorIn(env),
    maxImage: whole(env, 'GANTRY_COMPUTERS_MAX_IMAGE', 'a number of MiB', 1, 1_048_576),
    warm: {
      desktop: whole(env, 'GANTRY_COMPUTERS_WARM_DESKTOP', 'a number', 0, 200) ?? 0,
      shell: whole(env, 'GANTRY_COMPUTERS_WARM_SHELL', 'a number', 0, 200) ?? 0,
    },
  };
}

/** Null: computers are not made in a cluster. Throws `usage`. */
export function readComputersCluster(env: Env): KubernetesSettings | null {
  if (env.GANTRY_COMPUTERS_ENGINE !== inCluster) return null;
  for (const name of ['GANTRY_COMPUTERS_MAX_IMAGE', 'GANTRY_COMPUTERS_WARM_DESKTOP', 'GANTRY_COMPUTERS_WARM_SHELL']) {
    if (env[name]) {
      const action =
        'Leave it out: in a cluster no image can be measured before it runs, and no computer is kept warm.';
      throw new AppError(
        'usage',
        `${name} is set, which is not possible with GANTRY_COMPUTERS_ENGINE=kubernetes.`,
        action,
      );
    }
  }
  const kubeconfig = env.KUBECONFIG || null;
  if (kubeconfig === null && !env.KUBERNETES_SERVICE_HOST) {
    throw new AppError(
      'usage',
      'GANTRY_COMPUTERS_ENGINE is kubernetes, but this process runs in no cluster.',
      'Name the file that says where the cluster is: KUBECONFIG=/path/to/file.',
    );
  }
  return {
    kubeconfig,
    namespace: nameIn(env, 'GANTRY_COMPUTERS_NAMESPACE', isNamespace) ?? 'gantry-computers',
    image: env.GANTRY_COMPUTERS_IMAGE || 'gantry-computer',
    runtime: nameIn(env, 'GANTRY_COMPUTERS_RUNTIME', isObjectName),
    wall: wallIn(env),
    storageClass: nameIn(env, 'GANTRY_COMPUTERS_STORAGE_CLASS', isObjectName),
    disk: whole(env, 'GANTRY_COMPUTERS_DISK', 'a number of MiB', 64, 16_777_216) ?? 2048,
    most: { memory: whole(env, 'GANTRY_COMPUTERS_MEMORY', 'a number of MiB', 256, 1_048_576) ?? 2048 },
    processor: processorIn(env),
    seccomp: env.GANTRY_COMPUTERS_SECCOMP || null,
    cloud: addressIn(env, 'GANTRY_COMPUTERS_CLOUD'),
  };
}

/** Null if it is not set. */
function processorIn(env: Env): number | null {
  const name = 'GANTRY_COMPUTERS_PROCESSOR';
  return env[name] ? coresIn(name, env[name]) : null;
}

/** A DNS label. */
const isNamespace = (name: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);

/** Of a StorageClass or a RuntimeClass: DNS labels with dots between. */
const isObjectName = (name: string): boolean =>
  name.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(name);

/** Null if it is not set. An API server would refuse another name at the first computer, which is late. */
function nameIn(env: Env, name: string, isName: (given: string) => boolean): string | null {
  const given = env[name] || null;
  if (given === null || isName(given)) return given;
  const most =
    isName === isNamespace
      ? 'at most 63 small letters, digits and hyphens'
      : 'small letters, digits, hyphens and dots, at most 253';
  const action = `Give the name of one that the cluster has: ${most}, with a letter or digit at both ends.`;
  throw new AppError('usage', `${name} is ${JSON.stringify(given)}, which no cluster takes as a name.`, action);
}

/** The cluster's account may not read what a RuntimeClass is: its usual names say it, and an operator can. */
function wallIn(env: Env): KubernetesSettings['wall'] {
  const walls = ['namespace', 'gvisor', 'vm'] as const;
  const given = env.GANTRY_COMPUTERS_WALL;
  const named = walls.find((wall) => wall === given);
  if (given && named === undefined) {
    throw new AppError('usage', `GANTRY_COMPUTERS_WALL is ${JSON.stringify(given)}.`, `Give ${walls.join(', ')}.`);
  }
  const runtime = env.GANTRY_COMPUTERS_RUNTIME ?? '';
  return named ?? (/gvisor|runsc/.test(runtime) ? 'gvisor' : /kata/.test(runtime) ? 'vm' : 'namespace');
}

/** Null if it is not set. */
function addressIn(env: Env, name: string): string | null {
  const given = env[name]?.trim() ?? '';
  if (given === '') return null;
  const url = URL.parse(given);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') return url.href;
  const action = 'Give where Pods reach the cloud, such as http://gantry-cloud.gantry.svc:3010.';
  throw new AppError('usage', `${name} is ${JSON.stringify(given)}.`, action);
}

/** Throws `usage`. */
export function readComputerBounds(env: Env): ComputerBounds {
  const seconds = whole(env, 'GANTRY_COMPUTERS_LIFETIME', 'a number of seconds', 10, maxLifetimeSeconds);
  return {
    images: readImageRules(env, 'GANTRY_COMPUTERS_IMAGES'),
    lifetime: seconds === null ? null : seconds * 1000,
  };
}
