/**
 * One node of a cluster: containerd, kubelet and kube-proxy in a network namespace. Its Pods get addresses of a network of the node's own, and the other
 * places reach them by routes. Its programs see folders of the node's own as /var/log, /var/lib and /run, because a kubelet removes there what it does
 * not know; what they mount goes away with them. Owns the node's cgroups.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../real/scenes.ts';
import type { Place } from '../namespaces.ts';
import { writeKubeconfig } from './api.ts';
import type { Networks } from './cluster.ts';
import { type ControlPlane, featureGates } from './control-plane.ts';
import { createPart, type Part } from './parts.ts';
import type { Programs } from './programs.ts';

export const pauseImage = 'gantry-pause:1';

export interface Node {
  readonly name: string;
  readonly place: Place;
  readonly parts: Readonly<Record<'machine' | 'containerd' | 'kubelet' | 'proxy', Part>>;
  /** Resolves once containerd answers and has the image of the pause container. */
  start(pauseArchive: string): Promise<void>;
  /** `ctr` in the namespace of Kubernetes. */
  ctr(...words: readonly string[]): Promise<string>;
  /** Its parts, its containers, its mounts and its cgroups. */
  close(): Promise<void>;
}

export function createNode(options: {
  readonly programs: Programs;
  readonly place: Place;
  readonly folder: string;
  readonly control: ControlPlane;
  readonly networks: Networks;
  /** Of its Pods, as `10.78.1.0/24`. */
  readonly pods: string;
  /** Who answers its Pods' questions for names. */
  readonly resolver: string;
}): Node {
  const { programs, place, folder, control, networks, pods, resolver } = options;
  const name = place.name;
  mkdirSync(folder, { recursive: true });
  const at = (path: string) => join(folder, path);
  const cgroup = `/${place.namespace}`;
  const socket = at('c.sock');
  const { authority, server } = control;
  const put = (file: string, what: string | object) => {
    writeFileSync(at(file), typeof what === 'string' ? what : JSON.stringify(what));
    return at(file);
  };
  mkdirSync(at('cni'), { recursive: true });
  put('cni/10-gantry.conflist', {
    cniVersion: '0.4.0',
    name: 'gantry',
    // Not a bridge: between two Pods of one bridge a Service's answer would come back without the address that was asked.
    plugins: [
      {
        type: 'ptp',
        ipam: { type: 'host-local', ranges: [[{ subnet: pods }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
  const engineConfig = put('containerd.toml', containerdConfig(socket, at('cni'), programs.plugins));
  const configOf = (subject: string, groups: readonly string[]) => {
    const certified = authority.certify(`${subject.replaceAll(':', '-')}`, { subject, groups });
    return writeKubeconfig(at(`${subject.split(':')[1]}.kubeconfig`), server, authority, certified);
  };
  const kubeletConfig = put('kubelet.json', {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: authority.certificate },
    },
    authorization: { mode: 'Webhook' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    clusterDNS: [resolver],
    clusterDomain: 'cluster.local',
    // Several nodes share the machine's disk: one that is nearly full is no reason to evict anything here.
    evictionHard: { 'memory.available': '100Mi' },
    imageGCHighThresholdPercent: 100,
    failSwapOn: false,
    featureGates: Object.fromEntries(featureGates.split(',').map((gate) => [gate.split('=')[0], true])),
    nodeStatusUpdateFrequency: '5s',
    resolvConf: put('resolv.conf', `nameserver ${resolver}\n`),
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    podPidsLimit: 4096,
  });
  const part = (program: string, path: string, words: readonly string[]): Part =>
    createPart({ name: program, place, folder, program: path, words, beside: () => parts.machine });
  const own = ['log', 'lib'].map((name) => [at(`var-${name}`), `/var/${name}`] as const);
  for (const [here] of own) mkdirSync(here, { recursive: true });
  const mounting = [...own.map(([here, there]) => `mount --bind ${here} ${there}`), 'mount -t tmpfs tmpfs /run'];
  const script = `${mounting.join(' && ')} && touch ${at('ready')} && exec sleep infinity`;
  const parts = {
    machine: createPart({
      ...{ name: 'machine', place, folder, program: 'unshare' },
      words: ['--mount', '--propagation', 'private', 'sh', '-c', script],
    }),
    containerd: part('containerd', programs.containerd, ['--config', engineConfig]),
    kubelet: part('kubelet', programs.kubelet, [
      ...[`--config=${kubeletConfig}`, `--kubeconfig=${configOf(`system:node:${name}`, ['system:nodes'])}`],
      ...['--container-runtime=remote', `--container-runtime-endpoint=unix://${socket}`],
      ...[`--hostname-override=${name}`, `--node-ip=${place.address}`, '--housekeeping-interval=30s'],
    ]),
    proxy: part('kube-proxy', programs['kube-proxy'], [
      `--kubeconfig=${configOf(`system:kube-proxy`, ['system:node-proxier'])}`,
      ...['--proxy-mode=iptables', `--cluster-cidr=${networks.pods}`, `--hostname-override=${name}`],
      // The kernel's table of connections belongs to the machine.
      ...[
        '--conntrack-max-per-core=0',
        '--conntrack-tcp-timeout-established=0',
        '--conntrack-tcp-timeout-close-wait=0',
      ],
    ]),
  };
  const run = promisify(execFile);
  const ctr: Node['ctr'] = async (...words) => {
    const all = ['--address', socket, '--namespace', 'k8s.io', ...words];
    return (await run(programs.ctr, all, { maxBuffer: 16 << 20, timeout: 300_000 })).stdout;
  };
  return {
    name,
    place,
    parts,
    ctr,
    async start(pauseArchive) {
      makeCgroup(cgroup);
      rmSync(at('ready'), { force: true });
      parts.machine.start();
      await until('the node has its folders', async () => existsSync(at('ready')));
      parts.containerd.start();
      await until('containerd answers', () => ctr('version').then(() => true), 60_000).catch((error) => {
        throw new Error(`${error.message}\n${parts.containerd.log()}`);
      });
      await ctr('image', 'import', pauseArchive);
      parts.kubelet.start();
      parts.proxy.start();
    },
    async close() {
      await Promise.all([parts.kubelet.stop(), parts.proxy.stop()]);
      await endCgroup(cgroup);
      await parts.containerd.stop();
      await parts.machine.stop('SIGKILL');
      await endCgroup(cgroup);
    },
  };
}

function containerdConfig(socket: string, cni: string, plugins: string): string {
  return `version = 2
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/${pauseImage}"
  # Without the right to lower a score of its own, containerd could start no container.
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${plugins}"
    conf_dir = "${cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`;
}

const hierarchies = '/sys/fs/cgroup';
/** A process outside has 1024. */
const nodeShares = 32_768;

const cgroupFolders = (cgroup: string): string[] =>
  readdirSync(hierarchies)
    .map((name) => join(hierarchies, name, cgroup))
    .filter((folder) => existsSync(folder));

function makeCgroup(cgroup: string): void {
  // With one hierarchy for all controllers, its parent must hand them on; this machine may have one for each instead.
  for (const name of readdirSync(hierarchies)) {
    if (name === 'unified' || !existsSync(join(hierarchies, name, 'cgroup.procs'))) continue;
    const folder = join(hierarchies, name, cgroup);
    mkdirSync(folder, { recursive: true });
    // A new one of these takes no process before it has some of each.
    for (const file of name === 'cpuset' ? ['cpuset.cpus', 'cpuset.mems'] : [])
      writeFileSync(join(folder, file), readFileSync(join(hierarchies, name, file)));
    // Else all Pods of the node together would weigh as much as one process of the machine.
    const weight = join(folder, 'cpu.shares');
    if (existsSync(weight)) writeFileSync(weight, String(nodeShares));
  }
}

/** Ends every process below it, and removes it. */
async function endCgroup(cgroup: string): Promise<void> {
  await until(
    `the cgroup ${cgroup} is gone`,
    async () => {
      for (const folder of cgroupFolders(cgroup)) endBelow(folder);
      return cgroupFolders(cgroup).length === 0;
    },
    30_000,
  );
}

function endBelow(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) endBelow(join(folder, entry.name));
  for (const pid of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Ended already.
    }
  }
  const freezer = join(folder, 'freezer.state');
  if (existsSync(freezer)) writeFileSync(freezer, 'THAWED');
  try {
    rmdirSync(folder);
  } catch {
    // Its processes are still ending.
  }
}
