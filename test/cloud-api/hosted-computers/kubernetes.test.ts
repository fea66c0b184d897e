/** The driver `kubernetes` against an API server that speaks what a real one said (test/support/computers/cluster-wire.ts), and against clusters that fail. */
import { expect, onTestFinished, test } from 'vitest';
import type { ComputerSpec, DriverChange } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { createKubernetesDriver } from '../../../src/cloud-api/hosted-computers/kubernetes.ts';
import { readComputersCluster } from '../../../src/host/computers-engine.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { openClusterWire, type Refusal } from '../../support/computers/cluster-wire.ts';

const namespace = 'computers';
const one = 'cmp_000000000042';
const two = 'cmp_000000000043';
const spec: ComputerSpec = {
  computer: one,
  key: `${one}.1`,
  image: null,
  limits: { memory: 512, processes: null },
  toolset: 'shell',
  egress: 'public',
  lifetime: 600_000,
};
const dial = { computer: one, key: 'k'.repeat(64), at: 0 };

/** `hurried`: two minutes are over within two seconds. */
async function open({
  hurried = false,
  env = {},
}: {
  readonly hurried?: boolean;
  readonly env?: Readonly<Record<string, string>>;
} = {}) {
  const cluster = await openClusterWire(namespace);
  onTestFinished(() => cluster.close());
  /** `skew`: milliseconds by which the clock of that replica is wrong. */
  const connect = (installation = 'a1b2c3d4e5', { skew = 0, hurries = hurried } = {}) => {
    const settings = readComputersCluster({
      GANTRY_COMPUTERS_ENGINE: 'kubernetes',
      GANTRY_COMPUTERS_NAMESPACE: namespace,
      GANTRY_COMPUTERS_CLOUD: 'http://gantry-cloud.gantry.svc:3010',
      KUBECONFIG: cluster.kubeconfig,
      ...env,
    })!;
    const driver = createKubernetesDriver({
      settings,
      installation,
      origin: 'https://gantry.example',
      clock: { now: () => systemClock.now() + skew, monotonic: () => performance.now() * (hurries ? 60 : 1) },
      timers: systemTimers,
      log: { warn() {} },
    });
    return driver;
  };
  return { cluster, driver: connect(), connect };
}

const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (fault: { code?: string; message: string }) => `${fault.code}: ${fault.message}`,
  );

function watching(driver: Awaited<ReturnType<typeof open>>['driver'], since: string | null = null) {
  const changes: DriverChange[] = [];
  const missed: string[] = [];
  onTestFinished(
    driver.watch(since, { changed: (change) => changes.push(change), missed: () => missed.push('missed') }),
  );
  return {
    changes,
    missed,
    states: (computer = one) => changes.filter((change) => change.computer === computer).map(({ state }) => state),
  };
}
/** Streams are open, so that what follows is heard. */
const heard = (cluster: Awaited<ReturnType<typeof open>>['cluster'], count = 2) =>
  expect
    .poll(() => cluster.asked.filter(({ query }) => query.get('watch') === 'true').length)
    .toBeGreaterThanOrEqual(count);

const owned = ['pods', 'secrets', 'persistentvolumeclaims'] as const;

test('a computer lives: made, started, asleep on its disk only, woken, stopped and deleted, and a watch hears each state once', async () => {
  const { cluster, driver } = await open();
  const { changes, missed, states } = watching(driver);
  await heard(cluster);
  const left = () => owned.map((kind) => cluster.names(kind).length);
  expect(await driver.create(spec)).toMatchObject({ computer: one, state: 'stopped', why: null });
  expect(left()).toEqual([0, 0, 1]);
  const first = await driver.start(one, dial);
  expect(first).toMatchObject({ computer: one, state: 'running', why: null });
  expect([await driver.start(one, dial), await driver.create(spec), left()]).toEqual([first, first, [1, 1, 1]]);
  await driver.sleep(one);
  await driver.sleep(one);
  expect([(await driver.inspect(one))?.state, left()]).toEqual(['sleeping', [0, 0, 1]]);
  expect(await driver.wake(one, dial)).toMatchObject({ state: 'running' });
  await driver.stop(one);
  expect([await driver.inspect(one), left()]).toMatchObject([{ state: 'stopped', why: null }, [0, 0, 1]]);
  for (const step of ['sleep', 'wake'] as const)
    expect(await faultOf(driver[step](one))).toBe(`not_running: ${one} is stopped.`);
  await driver.delete(one);
  await driver.delete(one);
  expect([await driver.inspect(one), await driver.list(), left()]).toEqual([null, [], [0, 0, 0]]);
  await expect
    .poll(() => states())
    .toEqual(['starting', 'running', 'sleeping', 'starting', 'running', 'stopped', 'gone']);
  expect(missed).toEqual([]);
  const later = watching(driver, changes[2]!.cursor);
  await expect.poll(() => later.changes).toEqual(changes.slice(3));
  // Only the installation is left, which owns all of its computers.
  expect(cluster.names('configmaps')).toEqual(['gantry-a1b2c3d4e5']);
});

test('the key of a start is mounted only where it is dialled with, and nothing of the computer has a right over its network', async () => {
  const { cluster, driver } = await open();
  await driver.create({ ...spec, image: 'acme/computer:2' });
  await driver.start(one, dial);
  const [pod] = [...cluster.objects].flatMap(([key, object]) => (key.startsWith('pods/') ? [object] : []));
  const { initContainers, containers, volumes, ...of } = pod!.spec as {
    initContainers: Record<string, never>[];
    containers: Record<string, never>[];
    volumes: { name: string; secret?: { items: { key: string; mode: number }[] } }[];
  };
  const mounts = ({ volumeMounts }: { volumeMounts?: { name: string }[] }) => volumeMounts!.map(({ name }) => name);
  const [network, computer, link] = [initContainers[0]!, containers[0]!, containers[1]!];
  // What somebody asked for restricts nothing and holds no key.
  expect([network.image, computer.image, link.image]).toEqual([
    'gantry-computer',
    'acme/computer:2',
    'gantry-computer',
  ]);
  expect([mounts(network), mounts(computer)].flat()).not.toContain('link');
  expect(mounts(link)).toEqual(['channel', 'link', 'ready']);
  expect(volumes.find(({ name }) => name === 'boot')?.secret?.items).toEqual([
    { key: 'boot', path: 'boot.json', mode: 0o400 },
  ]);
  const rights = (container: Record<string, unknown>) =>
    (container.securityContext as { capabilities: { drop: string[]; add?: string[] } }).capabilities;
  expect(rights(network).add).toContain('NET_ADMIN');
  expect([rights(computer).add, rights(link).add]).toEqual([['CHOWN', 'SETGID', 'SETUID'], undefined]);
  expect(of).toMatchObject({
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostname: 'computer',
  });
  const secret = [...cluster.objects].find(([key]) => key.startsWith('secrets/'))![1].stringData as {
    boot: string;
    link: string;
  };
  expect(secret.boot).not.toContain(dial.key);
  expect(JSON.parse(secret.link)).toMatchObject({
    cloud: { host: 'gantry-cloud.gantry.svc', port: 3010, tls: false },
    dial: { computer: one, key: dial.key, name: 'https://gantry.example' },
  });
});

test('a cluster that leaves out what holds a computer makes none, and says what it lacks', async () => {
  const { cluster, driver } = await open();
  const refusalWith = async (
    change: (pod: {
      initContainers?: { securityContext: { capabilities: { add: string[] } } }[];
      containers: { securityContext: Record<string, unknown> }[];
    }) => void,
  ) => {
    cluster.settings.admit = (pod) => {
      change(pod.spec as never);
      return pod;
    };
    return faultOf(driver.create(spec));
  };
  expect(await refusalWith((pod) => delete pod.initContainers)).toMatch(
    /^unsupported: The cluster took the container away that restricts the network/,
  );
  expect(await refusalWith((pod) => (pod.initContainers![0]!.securityContext.capabilities.add = []))).toMatch(
    /right NET_ADMIN/,
  );
  expect(await refusalWith((pod) => delete pod.containers[0]!.securityContext.procMount)).toMatch(
    /feature gate ProcMountType\.$/,
  );
  expect((await driver.capabilities()).refused).toMatch(/ProcMountType/);
  expect([...owned, 'configmaps' as const].map((kind) => cluster.names(kind))).toEqual([
    [],
    [],
    [],
    ['gantry-a1b2c3d4e5'],
  ]);
});

test('a computer whose network cannot be restricted, whose image never comes or that no node takes does not start, and leaves nothing', async () => {
  const { cluster, driver } = await open({ hurried: true });
  await driver.create(spec);
  const fault = async (life: string) => {
    cluster.settings.life = life;
    const said = await faultOf(driver.start(one, dial));
    expect([cluster.names('pods'), cluster.names('secrets')]).toEqual([[], []]);
    expect(await driver.inspect(one)).toMatchObject({ state: 'stopped' });
    return said;
  };
  expect(await fault('is open')).toMatch(
    /^failed: It ended while starting\. It ended: The computer's network could not be restricted to public addresses/,
  );
  expect(await fault('is not pulled')).toMatch(
    /^unsupported: The image \S+ cannot be pulled \((?:ErrImagePull|ImagePullBackOff)\): /,
  );
  expect(await fault('is not placed')).toMatch(/^full: No node takes it: 0\/2 nodes are available/);
  expect(await fault('has no disk')).toMatch(/^failed: No node takes it: .* unbound immediate PersistentVolumeClaims/);
});

test('a quota that is used up, a right that was taken away and an API server that is away are told apart', async () => {
  const { cluster, driver } = await open();
  await driver.create(spec);
  const told: Record<string, Refusal> = {
    quota: {
      code: 403,
      reason: 'Forbidden',
      message: 'pods "x" is forbidden: exceeded quota: computers, requested: pods=1, used: pods=2, limited: pods=2',
    },
    right: {
      code: 403,
      reason: 'Forbidden',
      message:
        'pods is forbidden: User "system:serviceaccount:gantry:cloud" cannot create resource "pods" in API group "" in the namespace "computers"',
    },
  };
  const refuse = (what: string) => {
    cluster.settings.refuse = ({ method, path, query }) =>
      method === 'POST' && path === 'pods' && (what === 'right' || !query.has('dryRun')) ? told[what]! : null;
  };
  refuse('quota');
  expect(await faultOf(driver.start(one, dial))).toMatch(/^full: The cluster answered: .*exceeded quota: computers/);
  expect([cluster.names('pods'), cluster.names('secrets')]).toEqual([[], []]);
  refuse('right');
  // Not the computer's fault: it stays as it is.
  expect(await faultOf(driver.start(one, dial))).toMatch(
    /^undefined: The cluster refuses this Gantry a right that it needs: .*cannot create resource "pods"/,
  );
  expect((await driver.capabilities()).refused).toMatch(/cannot create resource "pods"/);
  cluster.settings.refuse = () => null;
  expect(await driver.away()).toBe(null);
  cluster.leave();
  const words = /^The API server of the cluster cannot be reached: /;
  expect(await driver.away()).toMatch(words);
  await expect(driver.list()).rejects.toThrow(words);
  await cluster.back();
  expect(await driver.start(one, dial)).toMatchObject({ state: 'running' });
});

test('what becomes of a Pod is told with its reason, wherever it is seen first, and its rest is removed', async () => {
  const { cluster, driver, connect } = await open();
  const { states, changes } = watching(driver);
  // Another replica sees the same, and nothing is told twice.
  watching(connect());
  await heard(cluster, 4);
  await driver.create(spec);
  const endsAs = async (how: () => void) => {
    await driver.start(one, dial);
    const before = changes.length;
    how();
    await expect.poll(() => changes.slice(before).map(({ state }) => state)).toEqual(['stopped']);
    await expect.poll(() => cluster.names('pods')).toEqual([]);
    expect(await driver.inspect(one)).toMatchObject({ state: 'stopped', why: changes.at(-1)!.why });
    return changes.at(-1)!.why;
  };
  expect(await endsAs(() => cluster.become(one, 'crashes'))).toBe('It ended unexpectedly (code 143).');
  expect(await endsAs(() => cluster.become(one, 'lives out'))).toBe('Its lifetime of 600 s is over.');
  expect(await endsAs(() => cluster.drop(`pods/${cluster.names('pods')[0]}`))).toBe('It ended: its Pod was deleted.');
  // The key of a start is of no use without its Pod.
  await expect.poll(() => cluster.names('secrets')).toEqual([]);
  expect(states()).toEqual([
    'starting',
    'running',
    'stopped',
    'starting',
    'running',
    'stopped',
    'starting',
    'running',
    'stopped',
  ]);
});

test('a Pod of an earlier start that comes back with its node does not count, and goes with the next start', async () => {
  const { cluster, driver } = await open();
  await driver.create(spec);
  await driver.start(one, dial);
  const [old] = cluster.names('pods');
  const pod = structuredClone(cluster.objects.get(`pods/${old}`)!);
  await driver.stop(one);
  cluster.put(`pods/${old}`, pod);
  expect(await driver.inspect(one)).toMatchObject({ state: 'stopped', why: null });
  await driver.start(one, dial);
  await expect.poll(() => cluster.names('pods').includes(old!)).toBe(false);
  expect(await driver.list()).toMatchObject([{ computer: one, state: 'running' }]);
});

test('a computer whose node does not answer has ended, starts elsewhere, and leaves nothing when it is deleted', async () => {
  const { cluster, driver } = await open({ hurried: true });
  const { states, changes } = watching(driver);
  await heard(cluster);
  await driver.create(spec);
  await driver.start(one, dial);
  const [lost] = cluster.names('pods');
  cluster.settings.nodesAnswer = false;
  cluster.evict(lost!);
  await expect.poll(() => states()).toEqual(['starting', 'running', 'stopped']);
  expect(changes.at(-1)?.why).toMatch(
    /^It ended: somebody deleted its Pod, or its node \S+ did not answer any more\.$/,
  );
  expect(await driver.start(one, dial)).toMatchObject({ state: 'running' });
  expect(cluster.names('pods')).toHaveLength(2);
  await driver.delete(one);
  expect(owned.map((kind) => cluster.names(kind))).toEqual([[], [], []]);
});

test('a watch that was cut continues without a gap, and says so where the API server forgot what came between', async () => {
  const { cluster, driver } = await open();
  const { states, missed } = watching(driver);
  await heard(cluster);
  await driver.create(spec);
  cluster.cut();
  await driver.start(one, dial);
  await expect.poll(() => states()).toEqual(['starting', 'running']);
  expect(missed).toEqual([]);
  cluster.forget();
  cluster.cut();
  await expect.poll(() => missed).toEqual(['missed']);
  await driver.stop(one);
  await expect.poll(() => states()).toEqual(['starting', 'running', 'stopped']);
  const lost = watching(driver, 'of nobody');
  await expect.poll(() => lost.missed).toEqual(['missed']);
  expect(lost.changes).toEqual([]);
});

test('a quota that is smaller than a computer refuses it where it is made, and one that is used up where it starts', async () => {
  const { cluster, driver, connect } = await open();
  const says = (message: string) => {
    cluster.settings.refuse = ({ method, path }) =>
      method === 'POST' && path === 'pods' ? { code: 403, reason: 'Forbidden', message } : null;
  };
  const quota = 'pods "x" is forbidden: exceeded quota: q, requested: limits.memory=640Mi,pods=1, ';
  says(`${quota}used: limits.memory=640Mi,pods=3, limited: limits.memory=1G,pods=10`);
  expect([await faultOf(driver.create(spec)), (await driver.capabilities()).refused]).toEqual([null, null]);
  expect(await faultOf(driver.start(one, dial))).toMatch(/^full: /);
  says(`${quota}used: limits.memory=0,pods=0, limited: limits.memory=600Mi,pods=10`);
  expect(await faultOf(driver.create({ ...spec, computer: two, key: two }))).toMatch(
    /^unsupported: .*limited: limits\.memory=600Mi/,
  );
  expect((await connect().capabilities()).refused).toMatch(/limited: limits\.memory=600Mi/);
});

test('a start that still waits says what the cluster said last: an image that is pulled, or a disk that nobody makes', async () => {
  const { cluster, driver } = await open({ hurried: true });
  await driver.create(spec);
  const disk = cluster.names('persistentvolumeclaims')[0]!;
  const event = (at: number, kind: string, name: string, message: string, more: object = { type: 'Normal' }) =>
    cluster.put(`events/${at}`, {
      ...{ kind: 'Event', metadata: { name: String(at) }, message, ...more },
      ...{ involvedObject: { kind, name }, lastTimestamp: new Date(at).toISOString() },
    });
  event(2_000, 'PersistentVolumeClaim', disk, 'waiting for a volume to be created');
  event(1_000, 'PersistentVolumeClaim', 'of another', 'nothing of this one');
  // A disk that is made once a Pod is there: the scheduler waits for it, and says nothing.
  cluster.settings.statuses = 0;
  expect(await faultOf(driver.start(one, dial))).toBe(
    'timeout: It did not start within 120 s. The cluster last said: waiting for a volume to be created',
  );
  cluster.settings.statuses = 2;
  const starting = faultOf(driver.start(one, dial));
  await expect.poll(() => cluster.names('pods')).toHaveLength(1);
  const [pod = ''] = cluster.names('pods');
  event(2_500, 'Pod', pod, '0/2 nodes are available', { type: 'Warning', reason: 'FailedScheduling' });
  event(3_000, 'Pod', pod, 'Pulling image "a/b:1"');
  expect(await starting).toBe('timeout: It did not start within 120 s. The cluster last said: Pulling image "a/b:1"');
  // Of an image that cannot be pulled, only what belongs to it.
  Object.assign(cluster.settings, { life: 'is not pulled', statuses: Number.POSITIVE_INFINITY });
  const failing = faultOf(driver.start(one, dial));
  await expect.poll(() => cluster.names('pods')).toHaveLength(1);
  const [next = ''] = cluster.names('pods');
  event(4_000, 'Pod', next, 'volumes were not ready', { type: 'Warning', reason: 'FailedMount' });
  event(4_500, 'Pod', next, 'Startup probe failed: ', { type: 'Warning', reason: 'Unhealthy' });
  event(5_000, 'Pod', next, 'the registry answered 500', { type: 'Warning', reason: 'Failed' });
  expect(await failing).toMatch(/^unsupported: The image \S+ cannot be pulled .* the registry answered 500$/s);
  expect((await driver.inspect(one))?.why).not.toMatch(/volumes were not ready|probe/);
  expect([cluster.names('pods'), cluster.names('secrets')]).toEqual([[], []]);
});

test('replicas whose clocks are an hour apart do not give up each other’s starts, and tell the end of a Pod by their own time', async () => {
  const { cluster, driver, connect } = await open();
  const others = [connect(undefined, { skew: 3_600_000 }), connect(undefined, { skew: -3_600_000 })];
  await driver.create(spec);
  const key = `configmaps/${cluster.names('configmaps').find((name) => name.includes('-cmp-'))}`;
  const kept = structuredClone(cluster.objects.get(key)!);
  const record = JSON.parse((kept.data as { record: string }).record) as object;
  // Between the record of a start and its Pod.
  const begun = { ...record, state: 'starting', since: Date.now(), start: '0a0b0c0d' };
  cluster.put(key, { ...kept, data: { record: JSON.stringify(begun) } });
  for (const other of [...others, ...others]) {
    expect([await other.inspect(one), await other.list()]).toMatchObject([
      { state: 'starting' },
      [{ state: 'starting' }],
    ]);
  }
  // One that never gets a Pod is given up after a start's time by the own clock.
  const hurried = connect(undefined, { skew: -3_600_000, hurries: true });
  await expect.poll(async () => (await hurried.inspect(one))?.state).toBe('stopped');
  const before = Date.now();
  await driver.start(one, dial);
  // The recorded Pod ended at a time that its node's clock had then.
  cluster.become(one, 'crashes');
  await expect.poll(async () => (await driver.inspect(one))?.state).toBe('stopped');
  const { since } = (await driver.inspect(one))!;
  expect(since >= before && since <= Date.now()).toBe(true);
});

test('two installations in one namespace do not see each other’s computers, and a stranger’s name is neither used nor removed', async () => {
  const { cluster, driver, connect } = await open();
  const other = connect('f6a7b8c9d0');
  await driver.create(spec);
  expect([await other.list(), await other.inspect(one)]).toEqual([[], null]);
  await other.delete(one);
  await other.create({ ...spec, key: 'of the other' });
  expect(await faultOf(driver.create({ ...spec, key: 'another' }))).toMatch(/^exists: /);
  await other.delete(one);
  expect(await driver.list()).toMatchObject([{ computer: one }]);
  const name = cluster
    .names('configmaps')
    .find((known) => known.includes('a1b2c3d4e5-cmp'))!
    .replace('000000000042', '000000000043');
  const strange = name.replace(/-[0-9a-f]{6}$/, '');
  expect(name.length).toBeLessThanOrEqual(63);
  // Deleting the installation deletes all that it owns.
  cluster.drop('configmaps/gantry-a1b2c3d4e5');
  expect([await driver.list(), cluster.names('persistentvolumeclaims')]).toEqual([[], []]);
  expect(strange).not.toBe(name);
  expect(two).not.toBe(one);
});

test('names are short, however long an id is, and ids that differ only by their capitals are two computers', async () => {
  const { cluster, driver } = await open();
  const ids = [`cmp_${'A'.repeat(40)}`, `cmp_${'a'.repeat(40)}`];
  for (const computer of ids) {
    await driver.create({ ...spec, computer, key: computer });
    await driver.start(computer, { ...dial, computer });
  }
  const names = owned.flatMap((kind) => cluster.names(kind));
  expect([
    new Set(cluster.names('pods')).size,
    names.filter((name) => name.length > 63 || !/^[a-z0-9-]+$/.test(name)),
  ]).toEqual([2, []]);
  expect((await driver.list()).map(({ computer }) => computer).sort()).toEqual(ids.sort());
});

test('where computers are is told by nodes, with when the last of them was proven', async () => {
  const { cluster, driver } = await open();
  await driver.create(spec);
  await driver.start(one, dial);
  await driver.create({ ...spec, computer: two, key: two });
  const limits = { memory: 2048, processes: null };
  const node = String(cluster.objects.get(`pods/${cluster.names('pods')[0]}`)?.spec?.nodeName);
  expect(await driver.hosts()).toEqual([
    { name: null, refused: null, limits, provenAt: expect.any(Number), computers: 1, most: null },
    { name: node, refused: null, limits, provenAt: expect.any(Number), computers: 1, most: null },
  ]);
  expect(await driver.capabilities()).toMatchObject({
    egress: 'enforced',
    sleep: 'files',
    images: true,
    limits: { processes: false },
  });
  expect(await faultOf(driver.create({ ...spec, limits: { memory: 4096, processes: null } }))).toBe(
    'unsupported: A computer can have 2048 MiB of memory here, not 4096.',
  );
  expect(await faultOf(driver.create({ ...spec, limits: { memory: null, processes: 100 } }))).toMatch(
    /^unsupported: .*100 processes/,
  );
});

test('a computer may use so many cores as its cloud says, and as many as there are where it says nothing', async () => {
  const cpuWith = async (env: Readonly<Record<string, string>>) => {
    const { cluster, driver } = await open({ env });
    await driver.create(spec);
    await driver.start(one, dial);
    const [pod] = [...cluster.objects].flatMap(([key, object]) => (key.startsWith('pods/') ? [object] : []));
    const { containers } = pod!.spec as { containers: { resources: { limits: Record<string, string> } }[] };
    return containers.map(({ resources }) => resources.limits.cpu);
  };
  expect(await cpuWith({ GANTRY_COMPUTERS_PROCESSOR: '1.5' })).toEqual(['1500m', undefined]);
  expect(await cpuWith({})).toEqual([undefined, undefined]);
});

test('a cluster is chosen by its word, and what cannot hold there stops the start', () => {
  expect(readComputersCluster({ GANTRY_COMPUTERS_ENGINE: '/run/d.sock' })).toBe(null);
  const env = { GANTRY_COMPUTERS_ENGINE: 'kubernetes', KUBECONFIG: '/a' };
  expect(readComputersCluster({ ...env, GANTRY_COMPUTERS_RUNTIME: 'gvisor' })).toMatchObject({
    runtime: 'gvisor',
    wall: 'gvisor',
    disk: 2048,
  });
  expect(readComputersCluster({ ...env, GANTRY_COMPUTERS_WALL: 'vm' })).toMatchObject({ wall: 'vm' });
  for (const [name, value] of Object.entries({
    GANTRY_COMPUTERS_WARM_SHELL: '1',
    GANTRY_COMPUTERS_MAX_IMAGE: '1',
    GANTRY_COMPUTERS_CLOUD: 'a:b',
    GANTRY_COMPUTERS_DISK: '1g',
    GANTRY_COMPUTERS_PROCESSOR: 'half',
    GANTRY_COMPUTERS_WALL: 'brick',
    GANTRY_COMPUTERS_NAMESPACE: 'n'.repeat(64),
    GANTRY_COMPUTERS_STORAGE_CLASS: 'fast disks',
    GANTRY_COMPUTERS_RUNTIME: 'gVisor',
  })) {
    expect(() => readComputersCluster({ ...env, [name]: value })).toThrow(
      expect.objectContaining({ code: 'usage', fact: expect.stringContaining(name) }),
    );
  }
  expect(() => readComputersCluster({ ...env, KUBECONFIG: '' })).toThrow('runs in no cluster');
});
