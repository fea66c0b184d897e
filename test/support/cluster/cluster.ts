/**
 * A Kubernetes cluster of a test's own (root, Linux): a control plane and nodes, each in a network namespace, joined by a switch with nothing beyond it.
 * Touches no cluster that a kubeconfig of this machine names. `close` ends all of it and puts back what kubelets set in the kernel.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { until } from '../../real/scenes.ts';
import { importImage, startDaemon } from '../docker/daemon.ts';
import { createNetwork, type Place } from '../namespaces.ts';
import { type Api, createApi, writeKubeconfig } from './api.ts';
import { apiPort, type ControlPlane, createControlPlane } from './control-plane.ts';
import { keepKernel } from './kernel.ts';
import { createNode, type Node, pauseImage } from './node.ts';
import { createPart } from './parts.ts';
import type { Programs } from './programs.ts';
import { createSurroundings } from './surroundings.ts';

export interface Networks {
  /** Of all nodes together. */
  readonly pods: string;
  readonly services: string;
  readonly firstService: string;
}
const networks: Networks = { pods: '10.78.0.0/16', services: '10.79.0.0/16', firstService: '10.79.0.1' };

export interface Cluster {
  readonly folder: string;
  /** For programs of this machine: by a port of its loopback. */
  readonly kubeconfig: string;
  /** For programs in a place of the cluster's network. */
  readonly kubeconfigInside: string;
  readonly api: Api;
  readonly control: ControlPlane;
  readonly controlPlace: Place;
  readonly nodes: readonly Node[];
  /** Of the cluster's network, and no node: reaches Pods and Services, and Pods reach it. */
  readonly outside: Place;
  /** Why there is one node; null: there are two. */
  readonly lacking: string | null;
  /** An archive of Docker or OCI, for every node. */
  importArchive(archive: string): Promise<void>;
  close(): Promise<void>;
}

/** `folder`: a short name, since sockets are in it. `names`: of places outside, in the Pods' DNS, beside `outside.test`. */
export async function startCluster(options: {
  readonly programs: Programs;
  readonly folder: string;
  readonly names?: readonly string[];
}): Promise<Cluster> {
  const { programs, folder } = options;
  mkdirSync(folder, { recursive: true });
  const keeping = keepKernel();
  const network = createNetwork();
  const closing: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).toReversed()) await end();
    await network.close();
    keeping();
  };
  try {
    return await begin();
  } catch (error) {
    await close().catch((also) => console.error(also));
    throw error;
  }

  async function begin(): Promise<Cluster> {
    for (const old of ['etcd', 'nodes', 'around', 'pki']) rmSync(join(folder, old), { recursive: true, force: true });
    const pause = await pauseArchive(folder);
    const [controlPlace, first, second, outside] = ['control', 'node1', 'node2', 'outside'].map(network.place) as [
      Place,
      Place,
      Place,
      Place,
    ];
    const podsOf = new Map([first, second].map((place, index) => [place, `10.78.${index + 1}.0/24`]));
    route([controlPlace, first, second], outside, podsOf);
    const control = createControlPlane({ programs, place: controlPlace, folder, networks });
    const { authority, server, parts } = control;
    closing.push(async () => {
      for (const part of [parts.scheduler, parts.controllers, parts.api, parts.etcd]) await part.stop();
    });
    const admin = authority.certify('admin', { subject: 'admin', groups: ['system:masters'] });
    const door = await openDoor(controlPlace, folder);
    closing.push(door.close);
    const here = `https://127.0.0.1:${door.port}`;
    const api = createApi(new URL(here), authority, admin);
    await control.start(() => api);
    const names = Object.fromEntries(['outside.test', ...(options.names ?? [])].map((name) => [name, outside.address]));
    const around = createSurroundings({
      dnsmasq: programs.dnsmasq,
      place: controlPlace,
      folder: join(folder, 'around'),
      names,
    });
    closing.push(around.close);
    await around.start(api);
    const nodes: Node[] = [];
    let lacking: string | null = null;
    for (const [place, pods] of podsOf) {
      const nodeFolder = join(folder, 'nodes', place.name);
      const node = createNode({
        programs,
        place,
        folder: nodeFolder,
        control,
        networks,
        pods,
        resolver: controlPlace.address,
      });
      closing.push(node.close);
      try {
        await node.start(pause);
        await until(`${node.name} is ready`, () => isReady(api, node.name), 120_000);
        nodes.push(node);
      } catch (error) {
        const said = `${(error as Error).message}\n${node.parts.kubelet.log()}`;
        if (nodes.length === 0) throw new Error(said);
        lacking = said;
        await node.close();
      }
    }
    return {
      folder,
      kubeconfig: writeKubeconfig(join(folder, 'admin.kubeconfig'), here, authority, admin),
      kubeconfigInside: writeKubeconfig(join(folder, 'inside.kubeconfig'), server, authority, admin),
      ...{ api, control, controlPlace, nodes, outside, lacking, close },
      async importArchive(archive) {
        await Promise.all(nodes.map((node) => node.ctr('image', 'import', archive)));
      },
    };
  }
}

async function isReady(api: Api, name: string): Promise<boolean> {
  const { status } = await api<{ status: { conditions: { type: string; status: string }[] } }>(
    'GET',
    `/api/v1/nodes/${name}`,
  );
  return status.conditions.some((one) => one.type === 'Ready' && one.status === 'True');
}

/** Pods' networks by their nodes, and Services by the first one for who is no node. */
function route(others: readonly Place[], outside: Place, podsOf: ReadonlyMap<Place, string>): void {
  const inside = (place: Place, text: string) => {
    const { status, stderr } = spawnSync('nsenter', [`--net=/var/run/netns/${place.namespace}`, 'sh', '-ec', text], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${text}: ${stderr.trim()}`);
  };
  const [services] = podsOf.keys();
  for (const place of [...others, outside]) {
    for (const [node, pods] of podsOf) if (node !== place) inside(place, `ip route add ${pods} via ${node.address}`);
    if (podsOf.has(place)) inside(place, 'echo 1 > /proc/sys/net/ipv4/ip_forward');
    else inside(place, `ip route add ${networks.services} via ${services!.address}`);
  }
  // Everything else is beyond the place outside, which passes nothing on.
  for (const node of podsOf.keys()) inside(node, `ip route add default via ${outside.address}`);
}

/** A port of this machine's loopback that leads to the API server. */
async function openDoor(place: Place, folder: string): Promise<{ readonly port: number; close(): Promise<void> }> {
  const socket = join(folder, 'api.sock');
  rmSync(socket, { force: true });
  const words = [join(import.meta.dirname, 'door.ts'), socket, place.address, String(apiPort)];
  const inner = createPart({ name: 'door', place, folder, program: process.execPath, words });
  inner.start();
  await until('the way to the API server is open', async () => existsSync(socket));
  const server: Server = createServer((near) => {
    const far = connect(socket);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      await inner.stop();
    },
  };
}

/** The container that holds a Pod's namespaces: it waits. */
async function pauseArchive(folder: string): Promise<string> {
  const archive = join(folder, 'pause.tar');
  if (existsSync(archive)) return archive;
  const daemon = await startDaemon();
  try {
    await importImage(daemon, pauseImage, ['sleep'], ['CMD ["/bin/sleep", "infinity"]']);
    await daemon.docker('save', '-o', archive, pauseImage);
  } finally {
    await daemon.close();
  }
  return archive;
}
