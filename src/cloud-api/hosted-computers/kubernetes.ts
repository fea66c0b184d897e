/**
 * The driver `kubernetes`: computers as Pods of a cluster, by its API. Each has a record, in which all replicas read and write how it is, a disk with
 * its files, and while it runs a Pod and the Secret of that start. What begins in the Pod is src/programs/computer-init. Must not know projects.
 */
import { hash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type Cluster, openCluster } from '../../kit/kubernetes/cluster.ts';
import type { Dial } from '../../kit/link/offer.ts';
import {
  type ComputerSpec,
  type DriverCapabilities,
  DriverFault,
  type DriverState,
  type HostedDriver,
} from './driver.ts';
import { createClusterRecords, type Found, mostTries, ownerOf } from './kubernetes-records.ts';
import {
  type ComputerRecord,
  cloudAt,
  containers,
  diskOf,
  type KubernetesSettings,
  labels,
  nameOf,
  podOf,
  readRecord,
  recordOf,
  secretOf,
  startsWithinSeconds,
} from './kubernetes-spec.ts';
import { couldNotBegin, hindranceOf, lastWordsOf, provenAtOf, settledOf } from './kubernetes-state.ts';
import { createKubernetesWatch } from './kubernetes-watch.ts';

/** Milliseconds. */
const startsWithin = startsWithinSeconds * 1000;
/** What is wrong with an image, a disk or an account is seldom mended within less, and somebody waits for the answer. */
const hindersFor = 30_000;
/** A node that is there ends a Pod within its grace of three seconds. */
const endsWithin = 20_000;
const looksEvery = 250;
/** What the cluster says of a Pod that it would make rarely changes. */
const triedFor = 15_000;
export function createKubernetesDriver({
  settings,
  installation,
  origin,
  clock,
  timers,
  log,
  open = () => openCluster(settings),
}: {
  readonly settings: KubernetesSettings;
  /** Names this Gantry among those that use the cluster: the same for all its replicas. At most 12 characters for names of the cluster. */
  readonly installation: string;
  /** The public address of the cloud. */
  readonly origin: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  readonly open?: () => Promise<Cluster>;
}): HostedDriver {
  const { namespace } = settings;
  const cloud = cloudAt(settings.cloud, origin);
  const labelSelector = `${labels.installation}=${installation},${labels.computer}`;
  const selectorOf = (computer: string) => `${labels.installation}=${installation},${labels.computer}=${computer}`;
  let tried: { readonly at: number; readonly refused: Promise<string | null> } | null = null;
  const { cluster, ask, orNull, unless, ownedBy, ownedAnew, find, write, change } = createClusterRecords({
    namespace,
    installation,
    open,
  });

  async function there(computer: string): Promise<Found> {
    const found = await settle(computer);
    if (found === null) throw new DriverFault('not_found', `There is no computer ${computer}.`);
    return found;
  }

  async function podsOf(selector: string): Promise<V1Pod[]> {
    return (await ask((core) => core.listNamespacedPod({ namespace, labelSelector: selector }))).items;
  }

  /** Of computers whose start has no Pod: since when this process finds none, by its own clock. */
  const missing = new Map<string, { readonly start: string; readonly since: number }>();

  function missingFor({ spec, start }: ComputerRecord, pod: V1Pod | undefined): number {
    if (pod !== undefined || start === null) {
      missing.delete(spec.computer);
      return 0;
    }
    const now = clock.monotonic();
    const known = missing.get(spec.computer);
    if (known?.start === start) return now - known.since;
    missing.set(spec.computer, { start, since: now });
    return 0;
  }

  const startOf = ({ metadata }: V1Pod) => metadata?.labels?.[labels.start] ?? '';

  /** The computer as it is now, after its record says what became of its Pod. Null if there is no such computer. */
  async function settle(computer: string): Promise<Found | null> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await find(computer);
      if (found === null || found.record.state === 'gone') return null;
      const { start, state } = found.record;
      if (start === null || (state !== 'starting' && state !== 'running')) return found;
      const name = nameOf(installation, computer, start);
      const pod = await orNull((core) => core.readNamespacedPod({ namespace, name }));
      const written = await settleWith(found, pod ?? undefined);
      if (written !== null) return written;
    }
    throw new DriverFault('failed', `The record of ${computer} is written by others all the time.`);
  }

  async function settleWith(found: Found, pod: V1Pod | undefined): Promise<Found | null> {
    const settled = settledOf(found.record, pod, clock.now(), missingFor(found.record, pod));
    const { state, why, since } = settled;
    if (state === found.record.state) return found;
    const written = await write(found, { state, why, since });
    // What is left of it takes room on its node, and its key is of no use without a Pod.
    const { spec, start } = found.record;
    if (written !== null && state === 'stopped') await removeStart(nameOf(installation, spec.computer, start!));
    return written;
  }

  /** `name`: of its Pod and of its Secret, each of which may be gone already. */
  async function removeStart(name: string, gracePeriodSeconds?: number): Promise<void> {
    await orNull((core) =>
      core.deleteNamespacedPod({
        namespace,
        name,
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      }),
    );
    await orNull((core) => core.deleteNamespacedSecret({ namespace, name }));
  }

  /**
   * Every Pod of the computer, also of earlier starts; resolves when they are gone, or their nodes do not answer. `by force`: those, too, because
   * nothing of the computer is wanted any more.
   */
  async function removePods(computer: string, how: 'gently' | 'by force'): Promise<void> {
    const selector = selectorOf(computer);
    let left = await podsOf(selector);
    for (const pod of left) await removeStart(pod.metadata!.name!);
    const end = clock.monotonic() + endsWithin;
    while (left.length > 0) {
      if (clock.monotonic() > end) {
        if (how === 'gently') return;
        for (const pod of left) await removeStart(pod.metadata!.name!, 0);
      }
      await delay(looksEvery);
      left = await podsOf(selector);
    }
  }

  async function create(spec: ComputerSpec): Promise<DriverState> {
    const { computer, key, limits } = spec;
    if (limits.processes !== null) {
      const fact = `The cluster holds no computer to ${limits.processes} processes: only its nodes have such a limit.`;
      throw new DriverFault('unsupported', fact);
    }
    const { memory } = settings.most;
    if (limits.memory !== null && limits.memory > memory) {
      throw new DriverFault('unsupported', `A computer can have ${memory} MiB of memory here, not ${limits.memory}.`);
    }
    const refused = await refusalOf(spec);
    if (refused !== null) throw new DriverFault('unsupported', refused);
    const body = recordOf(
      { spec, state: 'stopped', why: null, since: clock.now(), start: null, key: null },
      { installation, owner: await ownedBy() },
    );
    const before = await find(computer);
    // The last step of a delete was cut off.
    if (before?.record.state === 'gone') await remove(computer);
    if (before === null || before.record.state === 'gone') {
      await unless([409], (core) => core.createNamespacedConfigMap({ namespace, body }));
    }
    const found = await settle(computer);
    if (found === null || found.record.spec.key !== key) {
      const name = body.metadata!.name!;
      throw new DriverFault(
        'exists',
        `The namespace ${namespace} has another computer or ConfigMap with the name ${name}.`,
      );
    }
    await makeDisk(found);
    return stateOf(found.record);
  }

  /** Also for one whose disk somebody deleted: its files are gone, and it starts. */
  async function makeDisk({ record: { spec }, config }: Found): Promise<void> {
    const body = diskOf(spec, { installation, owner: ownerOf(config) }, settings);
    await unless([409], (core) => core.createNamespacedPersistentVolumeClaim({ namespace, body }));
  }

  async function start(computer: string, dial?: Dial): Promise<DriverState> {
    const key = dial === undefined ? null : hash('sha256', dial.key, 'hex').slice(0, 32);
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await there(computer);
      const { state, start: begun } = found.record;
      const isUp = state === 'running' || state === 'starting';
      if (isUp && begun !== null && (key === null || key === found.record.key)) return answers(computer, begun);
      if (dial === undefined) throw new DriverFault('failed', `${computer} was not told with what to dial its cloud.`);
      const start = randomBytes(4).toString('hex');
      const written = await write(found, { state: 'starting', why: null, since: clock.now(), start, key });
      if (written === null) continue;
      try {
        await begin(written, start, dial);
      } catch (fault) {
        await fail(computer, start, fault as Error);
        throw fault;
      }
      return answers(computer, start);
    }
    throw new DriverFault('failed', `The record of ${computer} is written by others all the time.`);
  }

  async function begin(found: Found, start: string, dial: Dial): Promise<void> {
    const { spec } = found.record;
    // A node that was away may still run an earlier start: the newest counts.
    for (const pod of await podsOf(selectorOf(spec.computer)))
      if (startOf(pod) !== start) await removeStart(pod.metadata!.name!);
    await makeDisk(found);
    const place = { installation, owner: ownerOf(found.config) };
    const token = randomBytes(32).toString('hex');
    const secret = secretOf(spec, place, { start, token, dial, cloud, refuse: [] });
    await ask((core) => core.createNamespacedSecret({ namespace, body: secret }));
    const body = podOf(spec, place, start, settings);
    const made = await ask((core) => core.createNamespacedPod({ namespace, body }));
    const refused = refusalIn(made);
    if (refused !== null) throw new DriverFault('unsupported', refused);
  }

  /** Resolves when its program could be called; throws if it ends or is late, and leaves nothing of that start. */
  async function answers(computer: string, start: string): Promise<DriverState> {
    const began = clock.monotonic();
    let hindered: number | null = null;
    const name = nameOf(installation, computer, start);
    for (;;) {
      const pod = await orNull((core) => core.readNamespacedPod({ namespace, name }));
      const found = await settle(computer);
      if (found === null) throw new DriverFault('failed', 'It was deleted while it started.');
      const { record } = found;
      if (pod !== null && couldNotBegin(pod)) {
        const image = record.spec.image ?? settings.image;
        const said = lastWordsOf(pod);
        const fault = new DriverFault('unsupported', `The image ${image} cannot start a computer. ${said}`.trim());
        await fail(computer, start, fault);
        throw fault;
      }
      if (record.start !== start || record.state === 'stopped' || record.state === 'sleeping') {
        // Its Pod may have been made after another replica gave this start up.
        await removeStart(name);
        throw new DriverFault('failed', `It ended while starting. ${record.why ?? ''}`.trim());
      }
      if (record.state === 'running') return stateOf(record);
      const hindrance = pod === null ? null : hindranceOf(pod);
      if (hindrance === null) hindered = null;
      else hindered ??= clock.monotonic();
      const waited = clock.monotonic() - (hindered ?? Infinity);
      const isLate = clock.monotonic() - began > startsWithin;
      // An image may be pulled at the second try, and an autoscaler may bring a node.
      if (isLate || (hindrance !== null && (!hindrance.passes || (hindrance.code !== 'full' && waited > hindersFor)))) {
        const fault = await lateFault(computer, name, pod, hindrance);
        await fail(computer, start, fault);
        throw fault;
      }
      await delay(looksEvery);
    }
  }

  async function lateFault(
    computer: string,
    name: string,
    pod: V1Pod | null,
    hindrance: ReturnType<typeof hindranceOf>,
  ): Promise<DriverFault> {
    const disk = nameOf(installation, computer);
    const events = await ask((core) => core.listNamespacedEvent({ namespace })).catch(() => null);
    const ofIts = (events?.items ?? []).filter(({ involvedObject }) =>
      [name, disk].includes(involvedObject.name ?? ''),
    );
    if (hindrance === null) {
      // What takes so long, such as an image that is still pulled; a warning of before has passed.
      const last = lastOf(ofIts);
      const late = `It did not start within ${startsWithinSeconds} s.`;
      return new DriverFault('timeout', last === '' ? late : `${late} The cluster last said: ${last}`);
    }
    const { code, why } = hindrance;
    // Once it has a node and its disks, what kept it from them has passed.
    const isPlaced = pod?.spec?.nodeName !== undefined;
    const isPast = ({ involvedObject, reason = '' }: CoreV1Event) =>
      isPlaced &&
      (involvedObject.name === disk || /^(?:Failed(?:Scheduling|Mount|AttachVolume)|Unhealthy)$/.test(reason));
    const warnings = ofIts.filter((event) => event.type === 'Warning' && !isPast(event));
    const told = [...new Set(warnings.map(({ message }) => message ?? ''))]
      .filter((message) => !/^(?:Error: |Back-off )/.test(message))
      .filter((message) => !why.includes(message.replace(/^Failed to pull image "[^"]*": /, '')))
      .slice(-3);
    return new DriverFault(code, [why, ...told].join(' ').trim());
  }

  /** Of a start that led to nothing: its Pod goes, and the reason stays. */
  async function fail(computer: string, start: string, fault: Error): Promise<void> {
    try {
      await change(computer, (record) =>
        record.start === start ? { state: 'stopped', why: fault.message, since: clock.now(), start: null } : null,
      );
      await removePods(computer, 'gently');
      // Its Pod may not have come to be.
      const name = nameOf(installation, computer, start);
      await orNull((core) => core.deleteNamespacedSecret({ namespace, name }));
    } catch (more) {
      log.warn('What a start of a hosted computer left could not be removed yet.', {
        computer,
        fault: (more as Error).message,
      });
    }
  }

  async function end(computer: string, state: 'stopped' | 'sleeping'): Promise<void> {
    await change(computer, (record) =>
      record.state === state ? null : { state, why: null, since: clock.now(), start: null },
    );
    await removePods(computer, 'gently');
  }

  async function remove(computer: string): Promise<void> {
    const found = await find(computer);
    if (found === null) return;
    const name = nameOf(installation, computer);
    // So that the end of its Pod is nobody else's doing.
    if (found.record.state !== 'gone') {
      await change(computer, ({ state }) =>
        state === 'stopped' ? null : { state: 'stopped', why: null, since: clock.now(), start: null },
      );
    }
    await removePods(computer, 'by force');
    await orNull((core) => core.deleteNamespacedPersistentVolumeClaim({ namespace, name }));
    const end = clock.monotonic() + endsWithin;
    // The cluster keeps a disk until the last Pod that has it is gone.
    while ((await orNull((core) => core.readNamespacedPersistentVolumeClaim({ namespace, name }))) !== null) {
      if (clock.monotonic() > end) {
        throw new DriverFault('failed', `The cluster said that the disk ${name} is deleted, but it is still there.`);
      }
      await delay(looksEvery);
    }
    // A watch hears this one with its time; the end of the record follows.
    await change(computer, () => ({ state: 'gone', why: null, since: clock.now(), start: null }));
    await orNull((core) => core.deleteNamespacedConfigMap({ namespace, name }));
  }

  async function listed(): Promise<{ readonly found: readonly Found[]; readonly pods: readonly V1Pod[] }> {
    const [configs, pods] = await Promise.all([
      ask((core) => core.listNamespacedConfigMap({ namespace, labelSelector })),
      podsOf(labelSelector),
    ]);
    const found = configs.items.flatMap((config) => {
      const record = readRecord(config);
      return record === null || record.state === 'gone' ? [] : [{ record, config }];
    });
    return { found, pods };
  }

  async function settleAll(): Promise<readonly DriverState[]> {
    const { found, pods } = await listed();
    const states: DriverState[] = [];
    const known = new Set(found.map(({ record }) => record.spec.computer));
    for (const computer of missing.keys()) if (!known.has(computer)) missing.delete(computer);
    for (const one of found) {
      const { spec, start } = one.record;
      const isIts = (pod: V1Pod) => pod.metadata?.labels?.[labels.computer] === spec.computer && startOf(pod) === start;
      const pod = pods.find(isIts);
      // A Pod that was made after the list of Pods is in none: it is looked for after its record.
      const settled = (pod === undefined ? null : await settleWith(one, pod)) ?? (await settle(spec.computer));
      if (settled !== null) states.push(stateOf(settled.record));
    }
    return states;
  }

  /** What the cluster would make of it, without making anything. Null: a computer. */
  async function refusalOf(spec: ComputerSpec): Promise<string | null> {
    const place = { installation, owner: await ownedBy() };
    const body = podOf(spec, place, 'trial', settings);
    try {
      const made = await ask((core) => core.createNamespacedPod({ namespace, body, dryRun: 'All' }));
      return refusalIn(made);
    } catch (fault) {
      // A quota limits what runs at the same time, so a computer that it leaves no room for is refused at its start, not here.
      if (fault instanceof DriverFault && fault.code === 'full') return null;
      if (fault instanceof DriverFault) return fault.message;
      throw fault;
    }
  }

  async function refusal(): Promise<string | null> {
    if (tried === null || clock.monotonic() - tried.at > triedFor) {
      const limits = { memory: null, processes: null };
      const more = { image: null, limits, toolset: 'desktop', egress: 'public', lifetime: null } as const;
      const one = { at: clock.monotonic(), refused: refusalOf({ computer: 'trial', key: 'trial', ...more }) };
      tried = one;
      one.refused.catch(() => {
        if (tried === one) tried = null;
      });
    }
    return tried.refused;
  }

  async function away(): Promise<string | null> {
    try {
      await ownedAnew();
      return null;
    } catch (fault) {
      return (fault as Error).message;
    }
  }

  async function capabilities(): Promise<DriverCapabilities> {
    const refused = await refusal().catch((fault: Error) => fault.message);
    return {
      refused,
      // Each start proves it from inside, and nothing of the computer runs where it cannot.
      egress: 'enforced',
      wall: settings.wall,
      sleep: 'files',
      limits: { memory: true, processes: false },
      images: true,
      warm: null,
    };
  }

  async function hosts(): ReturnType<HostedDriver['hosts']> {
    const { refused } = await capabilities();
    const limits = { memory: settings.most.memory, processes: null };
    const known = await listed().catch(() => null);
    const one = (name: string | null, pods: readonly V1Pod[], computers: number | null) => {
      const proven = pods.flatMap((pod) => provenAtOf(pod) ?? []);
      return {
        name,
        refused,
        limits,
        provenAt: proven.length === 0 ? null : Math.max(...proven),
        computers,
        most: null,
      };
    };
    if (known === null) return [one(null, [], null)];
    const placed = known.pods.filter(({ spec }) => spec?.nodeName !== undefined);
    const nodes = [...new Set(placed.map(({ spec }) => spec!.nodeName!))].sort();
    const resting = known.found.filter(
      ({ record }) => record.state === 'stopped' || record.state === 'sleeping',
    ).length;
    const onNodes = nodes.map((node) => {
      const its = placed.filter(({ spec }) => spec?.nodeName === node);
      return one(node, its, its.length);
    });
    // Those without a Pod are on no node.
    return resting > 0 || nodes.length === 0 ? [one(null, placed, resting), ...onNodes] : onNodes;
  }

  return {
    name: 'kubernetes',
    away,
    capabilities,
    hosts,
    create,
    start,
    async sleep(computer) {
      const { record } = await there(computer);
      if (record.state === 'stopped') throw new DriverFault('not_running', `${computer} is stopped.`);
      await end(computer, 'sleeping');
    },
    async wake(computer, dial) {
      const { record } = await there(computer);
      if (record.state === 'stopped') throw new DriverFault('not_running', `${computer} is stopped.`);
      return start(computer, dial);
    },
    offer: null,
    async stop(computer) {
      await there(computer);
      await end(computer, 'stopped');
    },
    delete: remove,
    async inspect(computer) {
      const found = await settle(computer);
      return found === null ? null : stateOf(found.record);
    },
    list: settleAll,
    watch: createKubernetesWatch({ cluster, namespace, installation, settle, settleAll, clock, timers }).watch,
    close() {},
  };
}

function stateOf({ spec, state, why, since }: ComputerRecord): DriverState {
  return { computer: spec.computer, state: state === 'gone' ? 'stopped' : state, why, since };
}

/** The newest event; a Pod's before a disk's of the same second. */
function lastOf(events: readonly CoreV1Event[]): string {
  const rank = ({ lastTimestamp, involvedObject }: CoreV1Event): number =>
    new Date(lastTimestamp ?? 0).getTime() + (involvedObject.kind === 'Pod' ? 1 : 0);
  return events.toSorted((a, b) => rank(a) - rank(b)).at(-1)?.message ?? '';
}

/** What the cluster made of a Pod, which leaves out what it does not know, and into which its own rules write. Null: it is a computer. */
function refusalIn({ spec }: V1Pod): string | null {
  const [network] = spec?.initContainers ?? [];
  const restricts =
    network?.name === containers.network && network.securityContext?.capabilities?.add?.includes('NET_ADMIN') === true;
  if (!restricts) {
    return 'The cluster took the container away that restricts the network of a computer, or its right NET_ADMIN: allow both in the namespace of computers.';
  }
  const program = spec?.containers.find(({ name }) => name === containers.computer);
  if (program?.securityContext?.procMount !== 'Unmasked') {
    return 'The cluster leaves out procMount: Unmasked, without which commands and browsers cannot be kept apart: switch on its feature gate ProcMountType.';
  }
  if (program.securityContext.capabilities?.add?.includes('NET_ADMIN') === true) {
    return 'The cluster gives computers the right NET_ADMIN, with which they could open their network: take it away.';
  }
  return null;
}
