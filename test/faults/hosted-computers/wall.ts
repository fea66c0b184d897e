/**
 * What a computer can get at besides itself: forbidden addresses, a cloud on its machine, another computer, secrets of the machine and of the driver.
 * Addresses are tried in the network of a computer with a screen and of one without, and again by a command in the latter; secrets by a command.
 * Each try is also made where nothing holds it and has to succeed there, else it is a bad try. Counted: tries that succeed, and bad tries. What stands
 * around the computers of a cluster is tried in wall-kubernetes.ts.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { files, inside } from '../../../src/programs/computer-init/protocol.ts';
import { type DockerSubject, noEngine, openDocker } from '../../conformance/hosted-computers/docker-subject.ts';
import { noCluster } from '../../conformance/hosted-computers/kubernetes-subject.ts';
import { openNamespace } from '../../conformance/hosted-computers/namespace-subject.ts';
import { forbidden, ofTheMachine, reachable, to, triesAtSocket } from '../../conformance/hosted-computers/probes.ts';
import type { Attempts, DriverSubject } from '../../conformance/hosted-computers/subject.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { linkComputer } from '../../support/computers/dialled.ts';
import { notMeasured } from '../../support/computers/drivers.ts';
import { noComputers } from '../../support/computers/helper.ts';
import { noDaemon } from '../../support/docker/daemon.ts';
import { output, reachedByCommand } from './by-command.ts';
import { type Tried, tryCluster } from './wall-kubernetes.ts';

export const figures: readonly Figure[] = [{ name: 'hosted-computers.wall', run: wall }];

/** A file that only the machine or the driver may read. */
interface Secret {
  readonly onMachine: string;
  /** Where a command in the computer `shell` would find it. */
  readonly inside: string;
}

interface Opened {
  readonly subject: DriverSubject;
  /** Asked once the computers run. */
  secrets(): readonly Secret[];
}

const unit = 'tries that get out of a computer, and bad tries';
const at = 'each driver on its engine, in a world of its own';
const [desktop, shell, other] = ['cmp_000000000001', 'cmp_000000000002', 'cmp_000000000003'] as const;
const drivers: Readonly<Record<string, { missing(): string | null; tried(): Promise<Tried> }>> = {
  namespace: {
    missing: noComputers,
    async tried() {
      const subject = await openNamespace();
      return tryAll({ subject, secrets: () => secretsOf(subject.folder) });
    },
  },
  docker: {
    missing: () => noDaemon() ?? noEngine(),
    async tried() {
      const subject = await openDocker('desktop');
      return tryAll({ subject, secrets: () => secretsOfContainers(subject) });
    },
  },
  kubernetes: { missing: noCluster, tried: tryCluster },
};

function secretsOfContainers({ folder, socket, docker }: DockerSubject): Secret[] {
  const same = (path: string): Secret => ({ onMachine: path, inside: path });
  const volumeOf = (computer: string) => {
    const id = docker('ps', '-aq', '--filter', `label=gantry.computer=${computer}`);
    const at = `{{range .Mounts}}{{if eq .Destination "${inside.data}"}}{{.Source}}{{end}}{{end}}`;
    return docker('inspect', '--format', at, id);
  };
  const ofOthers = [shell, other].flatMap((computer) => [
    ...[files.boot, files.socket].map((name) => same(join(folder, computer, name))),
    same(join(volumeOf(computer), 'device.db')),
  ]);
  const own = volumeOf(shell);
  return [
    // Not /etc/shadow: an image has its own.
    ...[import.meta.filename, socket, join(folder, 'installation')].map(same),
    ...ofOthers,
    // Its own program has these at such paths.
    { onMachine: join(folder, shell, files.boot), inside: join(inside.channel, files.boot) },
    { onMachine: join(folder, shell, files.socket), inside: join(inside.channel, files.socket) },
    { onMachine: join(own, 'device.db'), inside: join(inside.data, 'device.db') },
  ];
}

function secretsOf(folder: string): Secret[] {
  const same = (path: string): Secret => ({ onMachine: path, inside: path });
  const of = (computer: string, file: string) => join(folder, 'computers', computer, file);
  return [
    ...['/etc/shadow', join(import.meta.dirname, 'wall.ts'), join(folder, 'host.sock'), join(folder, 'machine.json')],
    ...[shell, other].flatMap((computer) =>
      ['run.json', 'computer.json', 'data/device.db', 'data/secret', 'run/engine.sock'].map((file) =>
        of(computer, file),
      ),
    ),
  ]
    .map(same)
    .concat(
      // Its own program has these at such paths.
      { onMachine: of(shell, 'data/secret'), inside: '/var/lib/gantry/secret' },
      { onMachine: of(shell, 'data/device.db'), inside: '/var/lib/gantry/device.db' },
      { onMachine: of(shell, 'run/engine.sock'), inside: '/run/gantry/engine.sock' },
    );
}

async function wall({ log }: FigureOptions): Promise<Measured> {
  const problems: string[] = [];
  const table: Record<string, Readonly<Record<string, string>>> = {};
  const skipped: string[] = [];
  let n = 0;
  for (const [name, { missing, tried }] of Object.entries(drivers)) {
    const why = notMeasured(name, missing);
    if (why !== null) {
      skipped.push(`${name}: ${why}`);
      continue;
    }
    const found = await tried();
    n += found.tries;
    table[name] = found.row;
    problems.push(...found.problems.map((problem) => `${name}: ${problem}`));
    log(`${name}: ${JSON.stringify(found.row)}`);
  }
  if (n === 0) return { value: null, unit, n, at, why: skipped.join('; ') };
  return {
    value: problems.length,
    problems,
    unit,
    n,
    at,
    detail: { ...table, ...(skipped.length > 0 && { skipped }) },
  };
}

async function tryAll({ subject, secrets }: Opened): Promise<Tried> {
  const driver = subject.connect();
  const problems: string[] = [];
  const row: Record<string, string> = {};
  let tries = 0;
  const note = (what: string, all: readonly string[], reached: readonly string[]) => {
    tries += all.length;
    row[what] = `${reached.length} of ${all.length}`;
    problems.push(...reached.map((one) => `${what}: ${one}`));
  };
  const bad = (names: readonly string[]) => problems.push(...names.map((name) => `bad try: ${name}`));
  try {
    for (const [computer, toolset] of Object.entries({ [desktop]: 'desktop', [shell]: 'shell', [other]: 'shell' })) {
      const spec = { computer, key: computer, image: null, toolset: toolset as 'desktop' | 'shell' };
      const limits = { memory: null, processes: null };
      await driver.create({ ...spec, limits, egress: 'public', lifetime: null });
      await driver.start(computer);
    }
    const link = await linkComputer(shell, (dial) => driver.offer(shell, dial));
    const neighbour: Attempts = { 'another computer': to(await subject.addressOf(other)) };
    const open = (came: Readonly<Record<string, string>>) => Object.keys(came).filter((name) => came[name] === 'open');
    const missed = (attempts: Attempts, reached: readonly string[]) =>
      Object.keys(attempts).filter((name) => !reached.includes(name));

    const free = { ...reachable, ...forbidden, ...ofTheMachine };
    bad(missed(free, open(subject.probeFreely(free))));
    // Itself, which it reaches: somebody listens there.
    bad(missed(neighbour, open(subject.probe(other, neighbour))));
    bad(missed(reachable, open(subject.probe(desktop, reachable))));
    bad(missed(reachable, await reachedByCommand(link, reachable)));
    for (const [what, attempts] of Object.entries({
      'a forbidden address': forbidden,
      'the cloud': ofTheMachine,
      'another computer': neighbour,
    })) {
      const reached = [
        ...[desktop, shell].flatMap((computer) => open(subject.probe(computer, attempts))),
        ...(await reachedByCommand(link, attempts)),
      ];
      const all = Object.keys(attempts);
      note(what, [...all, ...all, ...all], reached);
    }
    const tried = [desktop, shell].flatMap((computer) => {
      const { user, ...came } = triesAtSocket(subject, computer);
      if (!user) bad([`the socket of ${computer}, as root`]);
      return Object.entries(came).map(([what, how]) => ({ what: `${computer} ${what}: ${how}`, how }));
    });
    note(
      'what a computer dials on',
      tried.map(({ what }) => what),
      tried.filter(({ how }) => how === 'open' || how === 'done').map(({ what }) => what),
    );
    const files = secrets();
    const onMachine = files.map((file) => file.onMachine);
    const script = (paths: readonly string[]) =>
      paths.map(
        (path, index) => `for f in '${path}' /proc/[0-9]*/root'${path}'; do [ -e "$f" ] && echo ${index}; done`,
      );
    const numbers = (text: string) => new Set(text.split('\n').filter(Boolean).map(Number));
    const there = numbers(spawnSync('sh', ['-c', script(onMachine).join('\n')], { encoding: 'utf8' }).stdout);
    bad(onMachine.filter((_, index) => !there.has(index)));
    const inside = files.map((file) => file.inside);
    const seen = numbers(await output(link, `${script(inside).join('\n')}\ntrue`));
    note(
      'secrets of the machine',
      inside,
      inside.filter((_, index) => seen.has(index)),
    );
    // Each loop above ran: its own home is found by the same one.
    if (!numbers(await output(link, script(['/home/user'])[0]!)).has(0)) bad(['a file that the command may see']);
    await link.close();
  } finally {
    driver.close();
    await subject.close();
  }
  return { problems, row, tries };
}
