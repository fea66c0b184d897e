/**
 * A job apart, with a real Kubernetes (`npm run test:cluster`, Linux as root, with Debian's etcd-server, containerd, runc, containernetworking-plugins,
 * kubernetes-client, dnsmasq-base, postgresql, docker.io and debootstrap). Starts a cluster of two nodes in network namespaces, and touches no other, builds
 * the images, installs the bases as docs/deploy.md says, and plays scenes beside the cluster's nodes (cluster/play.ts). A word plays one part after the
 * install: `install` rights, backup, restore, scaling; `helm` the Helm chart, with golang-1.19-go, golang-github-masterminds-sprig-dev,
 * golang-github-xeipuuv-gojsonschema-dev and golang-k8s-sigs-yaml-dev; `jobs` tasks as Jobs; `driver` the suite of hosted drivers; `figures`
 * what is measured of them; `computers` hosted computers; `faults` what is killed, with hosted computers where `computers` is
 * played too; `refusals` what the cluster refuses. Removal and what is left are always played. Prints a line a scene; ends with 1 when one fails, with 77 where it cannot be tried.
 * `GANTRY_CLUSTER_FOLDER` names a folder that is kept, with the programs and the images, so that a next run builds less.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../docs/blocks.ts';
import { certify } from '../support/certify.ts';
import { type Cluster, startCluster } from '../support/cluster/cluster.ts';
import { archiveOf, buildImages, builtImages } from '../support/cluster/images.ts';
import { buildPrograms, findPrograms, noCluster } from '../support/cluster/programs.ts';
import { noDaemon } from '../support/docker/daemon.ts';
import { noNetwork } from '../support/namespaces.ts';
import { seconds } from './scenes.ts';

const parts = ['install', 'helm', 'jobs', 'driver', 'figures', 'computers', 'faults', 'refusals'] as const;
export type PartName = (typeof parts)[number];

/** What the play is told. */
export interface Play {
  readonly parts: readonly PartName[];
  /** Whether the cloud is installed with hosted computers. */
  readonly computers: boolean;
  readonly folder: string;
  readonly kubeconfig: string;
  /** Where the play runs: no node. */
  readonly address: string;
  readonly nodes: readonly string[];
  /** Why there is one node; null: there are two. */
  readonly lacking: string | null;
  /** `second`: of an installation beside the first. */
  readonly hosts: { readonly cloud: string; readonly second: string; readonly provider: string };
  /** For all names; its key is beside it. */
  readonly certificate: string;
}

/** What only this side can do: the play is in a network namespace, and has no hand on the cluster's programs. */
export type Act =
  | { readonly does: 'stop' | 'start'; readonly part: string }
  /** kill -9 of what runs in a Pod, but for the container that holds its namespaces. */
  | { readonly does: 'kill Pod'; readonly uid: string }
  /** Another name for an image, on every node. */
  | { readonly does: 'tag'; readonly from: string; readonly to: string };

async function main(wanted: readonly PartName[]): Promise<number> {
  const kept = process.env.GANTRY_CLUSTER_FOLDER;
  // A short name: sockets are in it.
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'gcl-'));
  const images = join(folder, 'images');
  const hosts = { cloud: 'gantry.test', second: 'two.test', provider: 'id.test' };
  let cluster: Cluster | null = null;
  // What a run that was killed has left in a folder that is kept.
  rmSync(join(folder, 'cluster'), { recursive: true, force: true });
  try {
    buildPrograms(folder);
    await build(images);
    const began = performance.now();
    cluster = await startCluster({
      programs: findPrograms(folder),
      folder: join(folder, 'cluster'),
      names: Object.values(hosts),
    });
    console.log(`     the cluster started within ${seconds(began)}`);
    const imported = performance.now();
    const needed = builtImages.filter(
      (name) =>
        name !== 'computer' || wanted.some((part) => ['computers', 'driver', 'figures', 'refusals'].includes(part)),
    );
    for (const name of needed) await cluster.importArchive(archiveOf(images, name));
    console.log(`     ${needed.join(', ')}: the images were imported within ${seconds(imported)}`);
    const told: Play = {
      parts: wanted,
      computers: wanted.includes('computers'),
      folder: join(folder, 'cluster'),
      kubeconfig: cluster.kubeconfigInside,
      address: cluster.outside.address,
      nodes: cluster.nodes.map(({ name }) => name),
      lacking: cluster.lacking,
      hosts,
      certificate: certify(join(folder, 'cluster/tls.pem'), Object.values(hosts)),
    };
    return await play(cluster, told);
  } finally {
    await cluster?.close();
    rmSync(join(folder, 'cluster'), { recursive: true, force: true });
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** What is committed here, once for each commit. */
async function build(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const commit = spawnSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout.trim();
  const stamp = join(folder, 'commit');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === commit) return;
  rmSync(stamp, { force: true });
  await buildImages(folder, builtImages);
  writeFileSync(stamp, commit);
}

async function play(cluster: Cluster, told: Play): Promise<number> {
  const words = [`--net=/var/run/netns/${cluster.outside.namespace}`, process.execPath];
  const child = spawn('nsenter', [...words, join(import.meta.dirname, 'cluster/play.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Node reads whom to trust only as it begins.
    env: { ...process.env, NODE_EXTRA_CA_CERTS: told.certificate, GANTRY_PLAY: JSON.stringify(told) },
  });
  child.on('message', (asked) => {
    const { id, act } = asked as { id: number; act: Act };
    done(cluster, act).then(
      () => child.send({ id, error: null }),
      (error) => child.send({ id, error: String(error) }),
    );
  });
  // Ended early, the cluster is still taken away.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

async function done(cluster: Cluster, act: Act): Promise<void> {
  if (act.does === 'tag') {
    for (const { ctr } of cluster.nodes) await ctr('image', 'tag', '--force', act.from, act.to);
  } else if (act.does === 'kill Pod') {
    for (const pid of processesOf(cluster, act.uid)) process.kill(pid, 'SIGKILL');
  } else {
    const [name, of] = act.part.split('/') as [string, string | undefined];
    const node = cluster.nodes.find((one) => one.name === name);
    const part = of === undefined ? cluster.control.parts[name as 'api'] : node?.parts[of as 'kubelet'];
    if (part === undefined) throw new Error(`there is no ${act.part}`);
    if (act.does === 'stop') await part.stop('SIGKILL');
    else part.start();
  }
}

function processesOf({ nodes }: Cluster, uid: string): number[] {
  return nodes.flatMap(({ place }) => {
    const top = join('/sys/fs/cgroup/pids', place.namespace);
    const folders = readdirSync(top, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes(uid));
    const pids = folders.flatMap((name) => {
      const file = join(top, name, 'cgroup.procs');
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : [];
    });
    return pids.filter((pid) => !readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/bin/sleep\0infinity'));
  });
}

/** Why nothing can be tried; null: it can. */
function missing(): string | null {
  const needed = ['debootstrap', 'git', 'initdb', 'pg_dump', 'pg_restore'];
  const lacks = needed.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  const folder = process.env.GANTRY_CLUSTER_FOLDER ?? '';
  return (
    noCluster(folder) ?? noDaemon() ?? noNetwork() ?? (lacks.length > 0 ? `there is no ${lacks.join(', no ')}` : null)
  );
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(parts as readonly string[]).includes(name));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}: ${parts.join(', ')}.`);
  process.exit(64);
}
const why = missing();
if (why !== null) {
  console.error(`SKIPPED, nothing was tried: ${why}.`);
  process.exit(77);
}
process.exit(await main(parts.filter((name) => wanted.length === 0 || wanted.includes(name))));
