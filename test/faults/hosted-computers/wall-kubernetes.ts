/**
 * What a computer in a Pod can get at: the cluster's API, kubelets and nodes, its cloud and what else is there, a neighbour's Pod, addresses that are not
 * public, the account of its Pod, and what the driver gives the containers beside it. Tried by a program of a computer of each toolset, and by a command.
 * The same is tried in a Pod of the same image on the same node that nothing holds.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { computerUser, files, inside, linkFiles, podFiles } from '../../../src/programs/computer-init/protocol.ts';
import { makeNamespace, openKubernetes } from '../../conformance/hosted-computers/kubernetes-subject.ts';
import { forbidden, reachable, to, triesAtSocket } from '../../conformance/hosted-computers/probes.ts';
import type { DriverSubject } from '../../conformance/hosted-computers/subject.ts';
import type { LinkedComputer } from '../../support/computers/dialled.ts';
import { output, reachedByCommand } from './by-command.ts';

export interface Tried {
  readonly tries: number;
  /** Of each kind of try, how many succeeded of how many. */
  readonly row: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

type Place = Awaited<ReturnType<typeof makeNamespace>>;
/** In the namespace of the figure. */
type Kubectl = (...words: readonly string[]) => Promise<string>;
type Addresses = Readonly<Record<string, ReturnType<typeof to>>>;

const [desktop, shell, other] = ['cmp_000000000001', 'cmp_000000000002', 'cmp_000000000003'] as const;
const freePod = 'free';
const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** Listens until its standard input ends. */
const listens =
  "require('node:net').createServer().listen(8080, () => console.log('listens')); process.stdin.resume().on('end', () => process.exit());";
const connects = `const tried = ({ host, port }) => new Promise((resolve) => {
  const socket = require('node:net').connect({ host, port });
  const end = (what) => { socket.destroy(); resolve(what); };
  setTimeout(end, 3000, 'silence').unref();
  socket.once('connect', () => end('open')).once('error', ({ code }) => end(code));
});
Promise.all(JSON.parse(process.argv[1]).map(tried)).then((came) => console.log(JSON.stringify(came)));`;
const reads = `const can = (path) => { try { require('node:fs').accessSync(path, 4); return true; } catch { return false; } };
console.log(JSON.stringify(JSON.parse(process.argv[1]).map(can)));`;

/** The cluster has no IPv6. */
const beyond: Addresses = Object.fromEntries(
  Object.entries({ ...reachable, ...forbidden }).filter(([, { host }]) => !host.includes(':')),
);
const asUser = [
  ...['setpriv', `--reuid=${computerUser.uid}`, `--regid=${computerUser.gid}`, '--clear-groups', '--no-new-privs'],
];

/** Read by a program of the computer, as its own user, and by a command. */
interface Secret {
  readonly what: string;
  readonly path: string;
  /** Whether it is there for those who may have it. */
  readonly there: () => Promise<boolean> | boolean;
  /** The computer's own program has it, so only a command is held. */
  readonly ofProgram?: boolean;
}

export async function tryCluster(): Promise<Tried> {
  const place = await makeNamespace();
  const { namespace, kubeconfig } = place;
  const kubectl: Kubectl = async (...words) => {
    const all = ['--kubeconfig', kubeconfig, '-n', namespace, ...words];
    return (await promisify(execFile)('kubectl', all, { maxBuffer: 16 << 20 })).stdout.trim();
  };
  const closing: (() => Promise<unknown> | unknown)[] = [place.remove];
  try {
    const subject = await openKubernetes();
    const driver = subject.connect('0f1a2b3c4d');
    closing.push(subject.close, driver.close);
    for (const [computer, toolset] of Object.entries({ [desktop]: 'desktop', [shell]: 'shell', [other]: 'shell' })) {
      const spec = { computer, key: computer, image: null, toolset: toolset as 'desktop' | 'shell' };
      await driver.create({ ...spec, limits: { memory: null, processes: null }, egress: 'public', lifetime: null });
      await driver.start(computer);
    }
    const link = await subject.link(shell);
    closing.push(link.close);
    closing.push(await listenIn(place, (await podOf(kubectl, other)).name));
    const tally = createTally();
    await tryAddresses(kubectl, place, link, tally);
    await trySecrets(kubectl, place, link, tally);
    trySockets(subject, tally);
    return tally.found();
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function podOf(kubectl: Kubectl, computer: string) {
  const [found] = JSON.parse(await kubectl('get', 'pods', '-l', `gantry.dev/computer=${computer}`, '-o', 'json'))
    .items as {
    metadata: { name: string };
    spec: { nodeName: string; containers: { image: string }[] };
    status: { podIP: string };
  }[];
  const { metadata, spec, status } = found!;
  return { name: metadata.name, node: spec.nodeName, image: spec.containers[0]!.image, address: status.podIP };
}

/** A Pod as the cluster makes any, which also listens; answers its address. */
async function startFree(kubectl: Kubectl, beside: { readonly node: string; readonly image: string }): Promise<string> {
  const { node, image } = beside;
  const container = {
    name: freePod,
    image,
    imagePullPolicy: 'IfNotPresent',
    stdin: true,
    command: ['node', '-e', listens],
  };
  const spec = { nodeName: node, terminationGracePeriodSeconds: 0, containers: [container] };
  await kubectl('run', freePod, `--image=${image}`, `--overrides=${JSON.stringify({ apiVersion: 'v1', spec })}`);
  await kubectl('wait', '--for=condition=Ready', `pod/${freePod}`, '--timeout=120s');
  return kubectl('get', 'pod', freePod, '-o', 'jsonpath={.status.podIP}');
}

/**
 * This process, at the end of the nodes' default route, has the addresses beyond and listens there, as it does where a cloud has its other ports and its
 * database. Only in a network namespace that a test made.
 */
async function openAround(cloud: string) {
  if (spawnSync('ip', ['netns', 'identify', String(process.pid)], { encoding: 'utf8' }).stdout.trim() === '') {
    throw new Error(
      'This gives its network further addresses: run it in the network namespace of the cluster, as npm run test:cluster does.',
    );
  }
  const around: Addresses = { 'another port of the cloud': to(cloud, 3011), 'the database': to(cloud, 5432) };
  const hosts = [...new Set(Object.values(beyond).map(({ host }) => host))];
  for (const host of hosts) spawnSync('ip', ['address', 'add', `${host}/32`, 'dev', 'lo']);
  const listening = await Promise.all(
    [...Object.values(beyond), ...Object.values(around)].map(
      ({ host, port }) =>
        new Promise<Server | null>((resolve, reject) => {
          const server = createServer((socket) => socket.on('error', () => {}));
          // The job has its own database there.
          server.once('error', (fault: NodeJS.ErrnoException) =>
            fault.code === 'EADDRINUSE' ? resolve(null) : reject(fault),
          );
          server.listen(port, host, () => resolve(server));
        }),
    ),
  );
  return {
    around,
    close() {
      for (const server of listening) server?.close();
      for (const host of hosts) spawnSync('ip', ['address', 'del', `${host}/32`, 'dev', 'lo']);
    },
  };
}

/** In a computer, as its own user; answers how that ends. */
async function listenIn({ kubeconfig, namespace }: Place, pod: string): Promise<() => void> {
  const words = ['exec', '-i', pod, '-c', 'computer', '--', ...asUser, 'node', '-e', listens];
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, '-n', namespace, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', () => reject(new Error('Nothing could listen in a computer.')));
  });
  return () => child.stdin.end();
}

type Tally = ReturnType<typeof createTally>;

function createTally() {
  const problems: string[] = [];
  const row: Record<string, string> = {};
  let tries = 0;
  return {
    note(what: string, count: number, succeeded: readonly string[]) {
      tries += count;
      row[what] = `${succeeded.length} of ${count}`;
      problems.push(...succeeded.map((one) => `${what}: ${one}`));
    },
    bad: (names: readonly string[]) => void problems.push(...names.map((name) => `bad try: ${name}`)),
    found: (): Tried => ({ tries, row, problems }),
  };
}

/** Runs a program of Node somewhere with that argument; answers what it printed as JSON. */
type Run = <Answer>(program: string, all: readonly unknown[]) => Promise<Answer>;

const freely =
  (kubectl: Kubectl): Run =>
  async (program, all) =>
    JSON.parse(await kubectl('exec', freePod, '--', 'node', '-e', program, JSON.stringify(all)));

const within =
  (kubectl: Kubectl, computer: string): Run =>
  async (program, all) => {
    const { name } = await podOf(kubectl, computer);
    const words = ['exec', name, '-c', 'computer', '--', ...asUser, 'node', '-e', program, JSON.stringify(all)];
    return JSON.parse(await kubectl(...words));
  };

async function open(attempts: Addresses, run: Run): Promise<string[]> {
  const came = await run<string[]>(connects, Object.values(attempts));
  return Object.keys(attempts).filter((_, index) => came[index] === 'open');
}

const missed = (attempts: Addresses, reached: readonly string[]) =>
  Object.keys(attempts).filter((name) => !reached.includes(name));

async function tryAddresses(kubectl: Kubectl, { dialled }: Place, link: LinkedComputer, tally: Tally): Promise<void> {
  const free = await startFree(kubectl, await podOf(kubectl, shell));
  const neighbour = { 'a neighbour': to((await podOf(kubectl, other)).address) };
  const cloud = (await kubectl('exec', freePod, '--', 'getent', 'ahostsv4', dialled.hostname)).split(' ')[0]!;
  const { around, close } = await openAround(cloud);
  try {
    const groups: Readonly<Record<string, Addresses>> = {
      'an address that is not public': pick(beyond, (name) => name in forbidden),
      'the cluster': await addressesOfCluster(kubectl),
      'the cloud': {
        'what computers dial': to(cloud, Number(dialled.port)),
        ...around,
        ...(await addressesOfInstalled(kubectl)),
      },
      'a Pod that is no computer': { 'a Pod that is no computer': to(free) },
    };
    const all = Object.assign({}, ...Object.values(groups)) as Addresses;
    tally.bad(missed(all, await open(all, freely(kubectl))));
    // Its own wall lets nobody in: that somebody listens there, it finds by its own address.
    tally.bad(missed(neighbour, await open(neighbour, within(kubectl, other))));
    const allowed = pick(beyond, (name) => !(name in forbidden));
    for (const computer of [desktop, shell]) tally.bad(missed(allowed, await open(allowed, within(kubectl, computer))));
    tally.bad(missed(allowed, await reachedByCommand(link, allowed)));
    for (const [what, attempts] of Object.entries({ ...groups, 'another computer': neighbour })) {
      const reached = [
        ...(await open(attempts, within(kubectl, desktop))).map((name) => `${name}, from ${desktop}`),
        ...(await open(attempts, within(kubectl, shell))).map((name) => `${name}, from ${shell}`),
        ...(await reachedByCommand(link, attempts)).map((name) => `${name}, by a command`),
      ];
      tally.note(what, 3 * Object.keys(attempts).length, reached);
    }
  } finally {
    close();
  }
}

async function trySecrets(kubectl: Kubectl, { kubeconfig }: Place, link: LinkedComputer, tally: Tally): Promise<void> {
  const [own, neighbour] = [await podOf(kubectl, shell), await podOf(kubectl, other)];
  const secrets = await secretsOf(kubectl, own.name, neighbour.name, kubeconfig);
  for (const { what, there } of secrets) if (!(await there())) tally.bad([`secret ${what}`]);
  const held = secrets.filter(({ ofProgram }) => ofProgram !== true);
  const seen: string[] = [];
  for (const computer of [desktop, shell]) {
    const can = await within(kubectl, computer)<boolean[]>(reads, [...held.map(({ path }) => path), inside.home]);
    if (can.pop() !== true) tally.bad([`a folder that ${computer} may read`]);
    seen.push(...held.filter((_, index) => can[index]).map(({ what }) => `${what}, from ${computer}`));
  }
  const looks = [...secrets.map(({ path }) => path), inside.home].map(
    (path, index) => `for f in '${path}' /proc/[0-9]*/root'${path}'; do [ -e "$f" ] && echo ${index}; done`,
  );
  const said = new Set((await output(link, `${looks.join('\n')}\ntrue`)).split('\n'));
  if (!said.has(String(secrets.length))) tally.bad(['a folder that the command may see']);
  seen.push(...secrets.filter((_, index) => said.has(String(index))).map(({ what }) => `${what}, by a command`));
  tally.note('secrets of the cluster and of the driver', 2 * held.length + secrets.length, seen);
}

function trySockets(subject: Pick<DriverSubject, 'inside'>, tally: Tally): void {
  const tried = [desktop, shell].flatMap((computer) => {
    const { user, ...came } = triesAtSocket(subject, computer);
    if (!user) tally.bad([`the socket of ${computer}, as root`]);
    return Object.entries(came).map(([what, how]) => ({ what: `${computer} ${what}: ${how}`, how }));
  });
  const reached = tried.filter(({ how }) => how === 'open' || how === 'done').map(({ what }) => what);
  tally.note('what a computer is offered connections on', tried.length, reached);
}

const pick = (all: Addresses, isIt: (name: string) => boolean): Addresses =>
  Object.fromEntries(Object.entries(all).filter(([name]) => isIt(name)));

/** Its API by the node's address and by the Service's, and each node's kubelet, also by the address that the node has among its Pods. */
async function addressesOfCluster(kubectl: Kubectl): Promise<Addresses> {
  const server = new URL(await kubectl('config', 'view', '-o', 'jsonpath={.clusters[0].cluster.server}'));
  const service = await kubectl('get', 'service', 'kubernetes', '-n', 'default', '-o', 'jsonpath={.spec.clusterIP}');
  const nodes = await kubectl(
    'get',
    'nodes',
    '-o',
    'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[0].address}{"\\n"}{end}',
  );
  const kubelets = nodes.split('\n').map((line) => {
    const [name, address] = line.split(' ');
    return [`the kubelet of ${name}`, to(address!, 10_250)] as const;
  });
  const [, hex = ''] =
    /^eth0\s+00000000\s+(\w{8})/m.exec(await kubectl('exec', freePod, '--', 'cat', '/proc/net/route')) ?? [];
  const gateway = hex
    .match(/../g)!
    .map((byte) => Number.parseInt(byte, 16))
    .toReversed()
    .join('.');
  return {
    'the API server': to(server.hostname, Number(server.port) || 443),
    'the API server by its Service': to(service, 443),
    ...Object.fromEntries(kubelets),
    'its node among its Pods': to(gateway, 10_250),
  };
}

/** Where a cloud is installed in the cluster: each port of its Services and of its Pods. */
async function addressesOfInstalled(kubectl: Kubectl): Promise<Addresses> {
  const words = ['get', 'services,pods', '-n', 'gantry', '-l', 'app.kubernetes.io/component=cloud', '-o', 'json'];
  const { items } = JSON.parse(await kubectl(...words)) as { items: readonly Installed[] };
  const isUp = ({ kind, status }: Installed) =>
    kind === 'Service' || status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  const all = items.filter(isUp).flatMap(({ kind, metadata, spec, status }) => {
    const ports =
      kind === 'Service'
        ? (spec.ports ?? []).map(({ port }) => to(spec.clusterIP!, port!))
        : (spec.containers ?? []).flatMap((one) => one.ports ?? []).map((one) => to(status.podIP!, one.containerPort!));
    return ports.map((one) => [`${kind} ${metadata.name}, port ${one.port}`, one] as const);
  });
  return Object.fromEntries(all);
}

interface Installed {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly port?: number }[];
    readonly containers?: readonly { readonly ports?: readonly { readonly containerPort?: number }[] }[];
  };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

async function secretsOf(kubectl: Kubectl, own: string, neighbour: string, kubeconfig: string): Promise<Secret[]> {
  const isThere = (...words: readonly string[]) =>
    kubectl('exec', ...words).then(
      () => true,
      () => false,
    );
  const inLink = (path: string) => () => isThere(own, '-c', 'link', '--', 'test', '-e', path);
  const asRoot = (path: string) => () => isThere(own, '-c', 'computer', '--', 'test', '-r', path);
  const asProgram = (path: string) => () => isThere(own, '-c', 'computer', '--', ...asUser, 'test', '-r', path);
  const onNode = (path: string) => () => existsSync(path);
  const disks = await Promise.all(
    [own, neighbour].map(async (pod) => {
      const claim = await kubectl(
        'get',
        'pod',
        pod,
        '-o',
        'jsonpath={.spec.volumes[?(@.name=="disk")].persistentVolumeClaim.claimName}',
      );
      const volume = await kubectl('get', 'pvc', claim, '-o', 'jsonpath={.spec.volumeName}');
      return kubectl('get', 'pv', volume, '-o', 'jsonpath={.spec.local.path}');
    }),
  );
  const socket = join(inside.channel, files.socket);
  const device = join(inside.data, 'device.db');
  return [
    { what: 'the account of its Pod', path: token, there: () => isThere(freePod, '--', 'test', '-r', token) },
    { what: 'with what its link dials', path: podFiles.link, there: inLink(podFiles.link) },
    { what: 'that its link is there', path: linkFiles.ready, there: inLink(linkFiles.ready) },
    { what: 'with what it starts', path: podFiles.boot, there: asRoot(podFiles.boot) },
    { what: 'the socket on which it is offered connections', path: socket, there: inLink(socket) },
    { what: 'its own records', path: device, there: asProgram(device), ofProgram: true },
    { what: 'the administrator of the cluster', path: kubeconfig, there: onNode(kubeconfig) },
    ...disks.map((path, index) => {
      const file = join(path, 'data', 'device.db');
      return { what: `the disk of ${[shell, other][index]} on its node`, path: file, there: onNode(file) };
    }),
  ];
}
