/**
 * What a cluster keeps of each computer: its record, in a ConfigMap that all replicas read and write. Also how the cluster is asked, and which answers
 * mean that it is away. Must not know Pods.
 */
import type { CoreV1Api, V1ConfigMap, V1OwnerReference } from '@kubernetes/client-node';
import { type Cluster, clusterWords, lacksRight, saidBy, statusOf } from '../../kit/kubernetes/cluster.ts';
import { quotaIn } from '../../kit/kubernetes/quantities.ts';
import { DriverFault } from './driver.ts';
import { type ComputerRecord, installationOf, labels, nameOf, readRecord, recordOf } from './kubernetes-spec.ts';

/** Another replica writes the same record now and then. */
export const mostTries = 8;

/** A quota that is used up has room again once another computer ends; one that is smaller than the computer never has. */
const codeOf = { none: 'failed', 'used up': 'full', 'too small': 'unsupported' } as const;

export interface Found {
  readonly record: ComputerRecord;
  readonly config: V1ConfigMap;
}

export function createClusterRecords({
  namespace,
  installation,
  open,
}: {
  readonly namespace: string;
  readonly installation: string;
  readonly open: () => Promise<Cluster>;
}) {
  let opened: Promise<Cluster> | null = null;
  let owner: V1OwnerReference | null = null;

  function cluster(): Promise<Cluster> {
    if (opened === null) {
      opened = open();
      opened.catch(() => {
        opened = null;
      });
    }
    return opened;
  }

  /** An API server that answers with an error has refused this computer; one that does not answer, or lets this Gantry do nothing, is away. */
  async function ask<Result>(work: (core: CoreV1Api) => Promise<Result>): Promise<Result> {
    const { core } = await cluster();
    try {
      return await work(core);
    } catch (fault) {
      if (fault instanceof DriverFault) throw fault;
      const status = statusOf(fault);
      const words = clusterWords(fault);
      const isAway = status === null || status === 401 || status === 429 || status >= 500 || lacksRight(fault);
      if (isAway) throw new Error(words, { cause: fault });
      throw new DriverFault(codeOf[quotaIn(saidBy(fault))], words);
    }
  }

  const orNull = <Result>(work: (core: CoreV1Api) => Promise<Result>) => unless([404], work);
  const unless = <Result>(statuses: readonly number[], work: (core: CoreV1Api) => Promise<Result>) =>
    ask(async (core): Promise<Result | null> => {
      try {
        return await work(core);
      } catch (fault) {
        if (statuses.includes(statusOf(fault) ?? 0)) return null;
        throw fault;
      }
    });

  /** What owns everything here. Made by the first replica that needs it. */
  async function ownedBy(): Promise<V1OwnerReference> {
    if (owner !== null) return owner;
    const body = installationOf(installation);
    const name = body.metadata!.name!;
    const read = () => orNull((core) => core.readNamespacedConfigMap({ namespace, name }));
    const made =
      (await read()) ??
      (await unless([409], (core) => core.createNamespacedConfigMap({ namespace, body }))) ??
      (await read());
    if (made === null) throw new DriverFault('failed', `The ConfigMap ${name} was deleted while it was needed.`);
    owner = ownerOf(made);
    return owner;
  }

  async function find(computer: string): Promise<Found | null> {
    const name = nameOf(installation, computer);
    const config = await orNull((core) => core.readNamespacedConfigMap({ namespace, name }));
    const record = config === null ? null : readRecord(config);
    const isOurs = config?.metadata?.labels?.[labels.installation] === installation;
    return record !== null && isOurs && record.spec.computer === computer ? { record, config: config! } : null;
  }

  /** As {@link ownedBy}, where somebody may have deleted it, and everything with it. */
  async function ownedAnew(): Promise<V1OwnerReference> {
    const name = installationOf(installation).metadata!.name!;
    const found = await orNull((core) => core.readNamespacedConfigMap({ namespace, name }));
    owner = found === null ? null : ownerOf(found);
    return ownedBy();
  }

  /** Null if somebody else wrote it in between. */
  async function write({ record, config }: Found, change: Partial<ComputerRecord>): Promise<Found | null> {
    const next = { ...record, ...change };
    const place = { installation, owner: await ownedBy() };
    const body = recordOf(next, place, config.metadata?.resourceVersion);
    const name = body.metadata!.name!;
    const written = await unless([404, 409], (core) => core.replaceNamespacedConfigMap({ namespace, name, body }));
    return written === null ? null : { record: next, config: written };
  }

  /** Tries until nobody else wrote it in between. Null if it is gone. */
  async function change(
    computer: string,
    to: (record: ComputerRecord) => Partial<ComputerRecord> | null,
  ): Promise<ComputerRecord | null> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await find(computer);
      if (found === null) return null;
      const next = to(found.record);
      if (next === null) return found.record;
      const written = await write(found, next);
      if (written !== null) return written.record;
    }
    throw new DriverFault('failed', `The record of ${computer} is written by others all the time.`);
  }

  return { cluster, ask, orNull, unless, ownedBy, ownedAnew, find, write, change };
}

export function ownerOf({ metadata }: V1ConfigMap): V1OwnerReference {
  return { apiVersion: 'v1', kind: 'ConfigMap', name: metadata!.name!, uid: metadata!.uid! };
}
