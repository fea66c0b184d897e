/**
 * What the driver kubernetes asks its cluster for: a record, a disk and a Secret for each computer, and a Pod for each start. Pure: a computer in, the
 * API's words out. Must not know how they are asked for.
 */
import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import type {
  V1ConfigMap,
  V1Container,
  V1ObjectMeta,
  V1OwnerReference,
  V1PersistentVolumeClaim,
  V1Pod,
  V1ResourceRequirements,
  V1Secret,
  V1SecurityContext,
} from '@kubernetes/client-node';
import type { Dial } from '../../kit/link/offer.ts';
import {
  type Boot,
  computerUser,
  files,
  program as initProgram,
  inside,
  type LinkBoot,
  linkFiles,
  linkProgram,
  linkUser,
  podFiles,
} from '../../programs/computer-init/protocol.ts';
import type { ComputerSpec, DriverState } from './driver.ts';

export interface KubernetesSettings {
  /** The file that says where the cluster is; null: the one in which this process runs. */
  readonly kubeconfig: string | null;
  /** Of all that is made. */
  readonly namespace: string;
  /** What computers are made from unless they ask for another one, and what restricts the network of all. */
  readonly image: string;
  /** A RuntimeClass; null: the cluster's usual runtime. */
  readonly runtime: string | null;
  /** What separates computers from their node with that runtime. */
  readonly wall: 'namespace' | 'gvisor' | 'vm';
  /** Of the disks; null: the cluster's usual one. */
  readonly storageClass: string | null;
  /** Of each disk. Mebibytes. */
  readonly disk: number;
  /** What each computer has at most, which is also what it has unless it asks for less. Mebibytes. */
  readonly most: { readonly memory: number };
  /** Cores of each computer, or null for no limit. */
  readonly processor: number | null;
  /** A profile of system calls on each node (`localhostProfile`); null: none. */
  readonly seccomp: string | null;
  /** Where Pods dial the cloud; null: at its public address. */
  readonly cloud: string | null;
}

/** Of everything that is made. `installation` names the Gantry that made it: another one in the same namespace leaves it alone. */
export const labels = {
  installation: 'gantry.dev/installation',
  computer: 'gantry.dev/computer',
  /** Of a Pod and its Secret: of which start they are. */
  start: 'gantry.dev/start',
} as const;

/** The containers of a Pod, in the order in which they begin. */
export const containers = { network: 'network', computer: 'computer', link: 'link' } as const;

/** Of a record: what was asked for, and in which state it is. Every change of a record is a change of the computer's state. */
export interface ComputerRecord {
  readonly spec: ComputerSpec;
  readonly state: DriverState['state'] | 'gone';
  readonly why: string | null;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Of the Pod that counts; null: none does. */
  readonly start: string | null;
  /** By its hash: with what the cloud lets that start dial. */
  readonly key: string | null;
}

/** Milliseconds: the computer's own timer ends it, and the cluster ends one in which that timer does not run any more. */
const lifetimeGrace = 60_000;
/** What a computer is promised of its limit; a node has more computers than would fit if all used everything. */
const reserved = 4;
/** One without a tag would be pulled for each start, and no computer would start while its registry is away. */
const imagePullPolicy = 'IfNotPresent';
/** Seconds that a Pod stays on a node that does not answer. */
const awayFor = 60;
/** Also long enough for a node that begins several at once. */
export const startsWithinSeconds = 120;
/** 1.02 megapixels: pictures for models are not scaled. */
const screen = { width: 1280, height: 800 } as const;

/** At most 63 characters, in which names of computers may differ only by capitals or be too long: then by their hash. */
export function nameOf(installation: string, computer: string, start?: string): string {
  const own = computer
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 24)
    .replace(/-$/, '');
  const hash = createHash('sha256').update(computer).digest('hex').slice(0, 6);
  return ['gantry', installation, own, hash, ...(start === undefined ? [] : [start])].join('-');
}

/** Everything of an installation is removed by the cluster once this is. */
export function installationOf(installation: string): V1ConfigMap {
  return {
    metadata: { name: `gantry-${installation}`, labels: { [labels.installation]: installation } },
    data: { about: 'Owns the hosted computers of one Gantry. Deleting it deletes all of them with their files.' },
  };
}

export function recordOf(record: ComputerRecord, place: Place, resourceVersion?: string): V1ConfigMap {
  return {
    metadata: {
      ...metadataOf(place, record.spec.computer),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    data: { record: JSON.stringify(record) },
  };
}

/** Null: nothing that this driver wrote. */
export function readRecord({ data, metadata }: V1ConfigMap): ComputerRecord | null {
  try {
    const record = JSON.parse(data?.record ?? '') as ComputerRecord;
    return record.spec.computer === metadata?.labels?.[labels.computer] ? record : null;
  } catch {
    return null;
  }
}

/** Where something is made, and by what it is removed with. */
interface Place {
  readonly installation: string;
  readonly owner: V1OwnerReference;
}

export function diskOf(
  { computer }: ComputerSpec,
  place: Place,
  settings: KubernetesSettings,
): V1PersistentVolumeClaim {
  return {
    metadata: metadataOf(place, computer),
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: `${settings.disk}Mi` } },
      ...(settings.storageClass === null ? {} : { storageClassName: settings.storageClass }),
    },
  };
}

/** What the containers of one start read. `token` proves an offer of the program that dials. */
export function secretOf(
  { computer, toolset, egress }: ComputerSpec,
  place: Place,
  { start, token, dial, cloud, refuse }: Start,
): V1Secret {
  const socket = `${inside.channel}/${files.socket}`;
  const boot: Boot = {
    token,
    socket,
    folder: inside.data,
    screen,
    toolset,
    owner: linkUser,
    user: computerUser,
    egress,
    refuse,
    warm: false,
    pod: { cloud: { host: cloud.host, port: cloud.port } },
  };
  const { host, port, tls, name } = cloud;
  const { ready } = linkFiles;
  const link: LinkBoot = { socket, ready, token, cloud: { host, port, tls }, dial: { computer, key: dial.key, name } };
  return {
    metadata: metadataOf(place, computer, start),
    type: 'Opaque',
    immutable: true,
    stringData: { boot: JSON.stringify(boot), link: JSON.stringify(link) },
  };
}

interface Start {
  /** Names it. */
  readonly start: string;
  readonly token: string;
  readonly dial: Dial;
  readonly cloud: CloudAddress;
  /** Addresses that are refused besides those that are not public. */
  readonly refuse: readonly string[];
}

interface CloudAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** By which the cloud is asked, whatever the address. */
  readonly name: string;
}

/** `dialled`: where Pods find the cloud; null: where everybody does. */
export function cloudAt(dialled: string | null, origin: string): CloudAddress {
  const [at, name] = [new URL(dialled ?? origin), new URL(origin)];
  const tls = at.protocol === 'https:';
  // A proxy on the way may serve the cloud below a path.
  name.pathname = at.pathname;
  return {
    host: at.hostname.replace(/^\[|\]$/g, ''),
    port: Number(at.port) || (tls ? 443 : 80),
    tls,
    name: name.href.replace(/\/+$/, ''),
  };
}

export function podOf(spec: ComputerSpec, place: Place, start: string, settings: KubernetesSettings): V1Pod {
  const { computer, image, limits, lifetime } = spec;
  const memory = limits.memory ?? settings.most.memory;
  const name = nameOf(place.installation, computer, start);
  const disk = (path: string, subPath: string) => ({ name: 'disk', mountPath: path, subPath });
  const kept = [disk(inside.home, 'home'), disk(inside.data, 'data')];
  const channel = { name: 'channel', mountPath: inside.channel };
  const boot = { name: 'boot', mountPath: dirname(podFiles.boot), readOnly: true };
  const scratch = (path: string, subPath: string) => ({ name: 'scratch', mountPath: path, subPath });
  const network: V1Container = {
    name: containers.network,
    // Not an image that somebody asked for: what restricts the network must be ours.
    image: settings.image,
    imagePullPolicy,
    command: ['node', initProgram, podFiles.boot],
    workingDir: '/app',
    env: [{ name: 'GANTRY_NODE', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }],
    // The last lines of its output say why it refuses.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    resources: resources(64, 256),
    securityContext: asRoot(['CHOWN', 'FOWNER', 'NET_ADMIN', 'SETGID', 'SETUID']),
    volumeMounts: [boot, channel, ...kept],
  };
  const program: V1Container = {
    name: containers.computer,
    image: image ?? settings.image,
    imagePullPolicy,
    command: ['/bin/bash', '/app/deploy/images/computer-init.sh', 'restricted'],
    workingDir: '/app',
    env: [
      { name: 'GANTRY_BOOT', value: podFiles.boot },
      ...(lifetime === null ? [] : [{ name: 'GANTRY_LIFETIME', value: String(lifetime / 1000) }]),
    ],
    terminationMessagePolicy: 'FallbackToLogsOnError',
    resources: resources(Math.ceil(memory / reserved), memory, settings.processor),
    securityContext: {
      ...asRoot(['CHOWN', 'SETGID', 'SETUID']),
      // A namespace of processes inside must get a /proc of its own, which the kernel refuses below one with covered parts.
      procMount: 'Unmasked',
      // A runtime's usual profile forbids the namespaces in which commands and the browser's pages are kept apart.
      seccompProfile:
        settings.seccomp === null ? { type: 'Unconfined' } : { type: 'Localhost', localhostProfile: settings.seccomp },
    },
    volumeMounts: [
      boot,
      channel,
      ...kept,
      scratch('/tmp', 'tmp'),
      scratch('/var/tmp', 'var-tmp'),
      { name: 'shared-memory', mountPath: '/dev/shm' },
    ],
  };
  const link: V1Container = {
    name: containers.link,
    image: settings.image,
    imagePullPolicy,
    command: ['node', linkProgram, podFiles.link],
    workingDir: '/app',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    resources: resources(32, 128),
    securityContext: {
      runAsUser: linkUser.uid,
      runAsGroup: linkUser.gid,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    // It says that the computer can be called, and is not asked again.
    startupProbe: {
      exec: { command: ['test', '-e', linkFiles.ready] },
      periodSeconds: 1,
      failureThreshold: startsWithinSeconds,
    },
    volumeMounts: [
      channel,
      { name: 'link', mountPath: dirname(podFiles.link), readOnly: true },
      { name: 'ready', mountPath: linkFiles.folder },
    ],
  };
  const secret = (key: string, path: string, mode: number) => ({
    secret: { secretName: name, items: [{ key, path: basename(path), mode }] },
  });
  const away = (key: string) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: awayFor,
  });
  return {
    metadata: metadataOf(place, computer, start),
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostname: 'computer',
      // Where the cluster has user namespaces, its root is nobody on the node; an older API leaves this out.
      hostUsers: false,
      ...(settings.runtime === null ? {} : { runtimeClassName: settings.runtime }),
      ...(lifetime === null
        ? {}
        : { activeDeadlineSeconds: Math.ceil((lifetime + lifetimeGrace) / 1000) + startsWithinSeconds }),
      terminationGracePeriodSeconds: 3,
      tolerations: [away('not-ready'), away('unreachable')],
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: [network],
      containers: [program, link],
      volumes: [
        { name: 'disk', persistentVolumeClaim: { claimName: nameOf(place.installation, computer) } },
        // Root's only: the program reads it before it becomes the computer's user.
        { name: 'boot', ...secret('boot', podFiles.boot, 0o400) },
        // Mounted only where it is read, as another user than root.
        { name: 'link', ...secret('link', podFiles.link, 0o444) },
        { name: 'channel', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'ready', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'scratch', emptyDir: { medium: 'Memory' } },
        { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit: '512Mi' } },
      ],
    },
  };
}

function metadataOf({ installation, owner }: Place, computer: string, start?: string): V1ObjectMeta {
  return {
    name: nameOf(installation, computer, start),
    labels: {
      [labels.installation]: installation,
      [labels.computer]: computer,
      ...(start === undefined ? {} : { [labels.start]: start }),
    },
    ownerReferences: [owner],
  };
}

/** For becoming other users and giving them folders; all are gone before anything of the computer runs. */
const asRoot = (rights: readonly string[]): V1SecurityContext => ({
  runAsUser: 0,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'], add: [...rights] },
});

/** Mebibytes, and cores. Each container says both, as quotas want it. */
const resources = (requested: number, limit: number, cores: number | null = null): V1ResourceRequirements => ({
  requests: { memory: `${requested}Mi`, cpu: '20m', 'ephemeral-storage': '32Mi' },
  limits: {
    memory: `${limit}Mi`,
    'ephemeral-storage': '256Mi',
    ...(cores === null ? {} : { cpu: `${Math.round(cores * 1000)}m` }),
  },
});
