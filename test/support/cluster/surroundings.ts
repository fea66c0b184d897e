/**
 * What a cluster has around it elsewhere: disks for claims, and names for Services. A loop answers PersistentVolumeClaims of one class with folders that
 * every node sees, also as clones of another claim, and writes the hosts file of a dnsmasq. Stands for the cluster's own storage and DNS.
 */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Place } from '../namespaces.ts';
import type { Api } from './api.ts';
import { createPart, type Part } from './parts.ts';

export const storageClass = 'test';
const provisioner = 'gantry.dev/test';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';
const each = 500;

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
}
interface Claim extends Named {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
    readonly dataSource?: { readonly kind: string; readonly name: string };
  };
}
interface Volume extends Named {
  readonly spec: { readonly storageClassName?: string; readonly claimRef?: { readonly uid: string } };
  readonly status: { readonly phase: string };
}
interface Service extends Named {
  readonly spec: { readonly clusterIP?: string };
}
interface Endpoints extends Named {
  readonly subsets?: readonly { readonly addresses?: readonly { readonly ip: string; readonly hostname?: string }[] }[];
}
interface List<Item> {
  readonly items: readonly Item[];
}

export interface Surroundings {
  readonly dns: Part;
  start(api: Api): Promise<void>;
  close(): Promise<void>;
}

export function createSurroundings(options: {
  readonly dnsmasq: string;
  readonly place: Place;
  readonly folder: string;
  /** Names outside of the cluster that Pods know, with their addresses. */
  readonly names: Readonly<Record<string, string>>;
}): Surroundings {
  const { place, folder, names } = options;
  mkdirSync(folder, { recursive: true });
  const volumes = join(folder, 'volumes');
  const hosts = join(folder, 'hosts');
  const outer = Object.entries(names).map(([name, address]) => `${address} ${name}`);
  let written = '';
  let going = true;
  let loop: Promise<void> = Promise.resolve();
  const dns = createPart({
    ...{ name: 'dnsmasq', place, folder, program: options.dnsmasq },
    words: [
      ...['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--user=root', '--pid-file'],
      ...[`--listen-address=${place.address}`, '--bind-interfaces', `--addn-hosts=${hosts}`, '--local-ttl=1'],
      ...['--local=/cluster.local/', '--log-facility=-'],
    ],
  });

  async function answerClaims(api: Api): Promise<void> {
    const { items: claims } = await api<List<Claim>>('GET', '/api/v1/persistentvolumeclaims');
    const { items: made } = await api<List<Volume>>('GET', '/api/v1/persistentvolumes');
    for (const claim of claims) {
      const { metadata, spec } = claim;
      if (spec.storageClassName !== storageClass || spec.volumeName !== undefined) continue;
      if (metadata.deletionTimestamp !== undefined) continue;
      const name = `pvc-${metadata.uid}`;
      if (made.some((volume) => volume.metadata.name === name)) continue;
      const path = join(volumes, name);
      const from = spec.dataSource && claims.find((one) => isSource(one, claim));
      if (spec.dataSource !== undefined && from?.spec.volumeName === undefined) continue;
      if (from !== undefined)
        cpSync(join(volumes, from.spec.volumeName!), path, { recursive: true, preserveTimestamps: true });
      else mkdirSync(path, { recursive: true });
      await api('POST', '/api/v1/persistentvolumes', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name, annotations: { [provisionedBy]: provisioner } },
        spec: {
          storageClassName: storageClass,
          capacity: { storage: spec.resources.requests.storage },
          accessModes: spec.accessModes,
          persistentVolumeReclaimPolicy: 'Delete',
          claimRef: {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            namespace: metadata.namespace,
            name: metadata.name,
            uid: metadata.uid,
          },
          // Not hostPath: only of these a kubelet gives the files to the Pod's group.
          local: { path },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] },
              ],
            },
          },
        },
      });
    }
    for (const { metadata, status } of made) {
      if (metadata.annotations?.[provisionedBy] !== provisioner || !['Released', 'Failed'].includes(status.phase))
        continue;
      await api('DELETE', `/api/v1/persistentvolumes/${metadata.name}`);
      rmSync(join(volumes, metadata.name), { recursive: true, force: true });
    }
  }

  async function writeNames(api: Api): Promise<void> {
    const { items: services } = await api<List<Service>>('GET', '/api/v1/services');
    const { items: endpoints } = await api<List<Endpoints>>('GET', '/api/v1/endpoints');
    const lines = services.flatMap((service) => {
      const { name, namespace } = service.metadata;
      const full = `${name}.${namespace}.svc.cluster.local`;
      const { clusterIP } = service.spec;
      if (clusterIP !== undefined && clusterIP !== 'None') return [`${clusterIP} ${full}`];
      const own = endpoints.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
      const addresses = own?.subsets?.flatMap((subset) => subset.addresses ?? []) ?? [];
      return addresses.map(({ ip, hostname }) => `${ip} ${full}${hostname ? ` ${hostname}.${full}` : ''}`);
    });
    const text = `${[...outer, ...lines].toSorted().join('\n')}\n`;
    if (text === written) return;
    writeFileSync(hosts, text);
    written = text;
    if (dns.running) process.kill(dns.pid, 'SIGHUP');
  }

  return {
    dns,
    async start(api) {
      mkdirSync(volumes, { recursive: true });
      await api('POST', '/apis/storage.k8s.io/v1/storageclasses', {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: storageClass, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
        provisioner,
        volumeBindingMode: 'Immediate',
      });
      await writeNames(api);
      dns.start();
      loop = (async () => {
        while (going) {
          // An API server that is away is asked again.
          await answerClaims(api).catch(() => {});
          await writeNames(api).catch(() => {});
          await delay(each);
        }
      })();
    },
    async close() {
      going = false;
      await loop;
      await dns.stop();
      if (existsSync(volumes)) rmSync(volumes, { recursive: true, force: true });
    },
  };
}

const isSource = (one: Claim, of: Claim) =>
  one.metadata.namespace === of.metadata.namespace && one.metadata.name === of.spec.dataSource?.name;
