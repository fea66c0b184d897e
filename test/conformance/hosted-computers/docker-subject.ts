/** The driver `docker` on its engine: a Docker of its own, in a world of its own, with the image that `npm run test:docker` built. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDockerDriver } from '../../../src/cloud-api/hosted-computers/docker.ts';
import { readComputersEngine } from '../../../src/host/computers-engine.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { computerUser } from '../../../src/programs/computer-init/protocol.ts';
import { until } from '../../real/scenes.ts';
import { createWorld } from '../../support/computers/world.ts';
import { unmountBelow } from '../../support/mounts.ts';
import type { Attempts, Came, DriverSubject } from './subject.ts';

const probe = fileURLToPath(new URL('../../support/computers/probe.ts', import.meta.url));

/** The engine's data, with the image `gantry-computer`. */
const data = process.env.GANTRY_ENGINE_DATA;
export const noEngine = (): string | null =>
  data === undefined ? 'npm run test:docker builds its image and runs it' : null;

export interface DockerSubject extends DriverSubject {
  /** Of the command `docker` at this engine. */
  docker(...words: readonly string[]): string;
  readonly socket: string;
  readonly folder: string;
}

export async function openDocker(toolset: DriverSubject['toolset']): Promise<DockerSubject> {
  // A short name: the engine puts sockets into it.
  const place = mkdtempSync('/tmp/gde-');
  const folder = join(place, 'computers');
  const socket = join(place, 'd.sock');
  const around = await createWorld();
  writeFileSync(
    join(place, 'daemon.json'),
    JSON.stringify({
      // Computers outlive their engine.
      'live-restore': true,
      dns: ['9.9.9.9'],
      ipv6: true,
      'fixed-cidr-v6': 'fd00:dead:beef::/64',
      ip6tables: true,
      experimental: true,
    }),
  );
  const docker = (...words: readonly string[]) =>
    execFileSync('docker', ['-H', `unix://${socket}`, ...words], {
      encoding: 'utf8',
      env: { ...process.env, DOCKER_BUILDKIT: '0' },
    }).trim();
  let daemon = await startEngine();

  async function startEngine(): Promise<ChildProcess> {
    const log = openSync(join(place, 'dockerd.log'), 'a');
    rmSync(join(place, 'd.pid'), { force: true });
    // Not `ip netns exec`: it mounts another /sys, in which the engine finds no cgroups.
    const [program, ...words] = around.on('machine');
    const asked = ['--data-root', data!, '--exec-root', join(place, 'exec'), '--pidfile', join(place, 'd.pid')];
    const rest = [
      '-H',
      `unix://${socket}`,
      '--storage-driver',
      'overlay2',
      '--config-file',
      join(place, 'daemon.json'),
    ];
    const child = spawn(program!, [...words, 'dockerd', ...asked, ...rest], { stdio: ['ignore', log, log] });
    await until('the engine answers', async () => {
      if (child.exitCode !== null) throw new Error(readFileSync(join(place, 'dockerd.log'), 'utf8').slice(-2000));
      return spawnSync('docker', ['-H', `unix://${socket}`, 'version']).status === 0;
    });
    return child;
  }

  const gone = (child: ChildProcess, signal: NodeJS.Signals) =>
    new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill(signal);
    });
  const named: string[] = [];
  const idOf = (computer: string) =>
    docker('ps', '-aq', '--no-trunc', '--filter', `label=gantry.computer=${computer}`).split('\n')[0]!;
  const pidOf = (computer: string) => docker('inspect', '--format', '{{.State.Pid}}', idOf(computer));
  function groupFile(computer: string, ...names: string[]): string {
    const words = names.flatMap((name, index) => [
      ...(index === 0 ? [] : ['-o']),
      '-path',
      `*${idOf(computer)}*/${name}`,
    ]);
    const [found = ''] = spawnSync('find', ['/sys/fs/cgroup', ...words], { encoding: 'utf8' }).stdout.split('\n');
    return readFileSync(found, 'utf8').trim();
  }
  function tried(before: readonly string[], attempts: Attempts): Came {
    const words = [...before.slice(1), process.execPath, probe, JSON.stringify(Object.values(attempts))];
    const { stdout, stderr } = spawnSync(before[0]!, words, { encoding: 'utf8' });
    if (stdout === '') throw new Error(stderr);
    const results = JSON.parse(stdout) as string[];
    return Object.fromEntries(Object.keys(attempts).map((name, index) => [name, results[index] as string]));
  }
  const removeAll = () => {
    const left = docker('ps', '-aq').split('\n').filter(Boolean);
    if (left.length > 0) docker('rm', '-f', '-v', ...left);
  };
  removeAll();

  return {
    toolset,
    docker,
    socket,
    folder,
    promises: {
      egress: 'enforced',
      wall: 'namespace',
      sleep: 'memory',
      limits: { memory: true, processes: true },
      images: true,
      warm: null,
    },
    connect: () =>
      createDockerDriver({
        settings: readComputersEngine({ GANTRY_COMPUTERS_ENGINE: socket })!,
        folder,
        cloudHost: null,
        clock: systemClock,
        timers: systemTimers,
      }),
    async kill() {
      await gone(daemon, 'SIGKILL');
      daemon = await startEngine();
    },
    crash: (computer) => void process.kill(Number(pidOf(computer)), 'SIGKILL'),
    limitsOf: (computer) => ({
      memory: Number(groupFile(computer, 'memory.max', 'memory.limit_in_bytes')) / 1024 / 1024,
      processes: Number(groupFile(computer, 'pids.max')),
    }),
    probe(computer, attempts) {
      const uid = String(computerUser.uid);
      const user = ['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '--no-new-privs'];
      return tried(['nsenter', `--net=/proc/${pidOf(computer)}/ns/net`, '--', ...user], attempts);
    },
    inside: (computer, command) => docker('exec', '--user', String(computerUser.uid), idOf(computer), ...command),
    probeFreely: (attempts) => tried(around.on('machine'), attempts),
    async addressOf(computer) {
      const name = `${around.machine}-${computer.slice(-3)}`;
      execFileSync('ip', ['netns', 'attach', name, pidOf(computer)]);
      named.push(name);
      await around.listen(name);
      return docker('inspect', '--format', '{{.NetworkSettings.IPAddress}}', idOf(computer));
    },
    remains: () => [
      ...docker('ps', '-a', '--format', '{{.Names}}').split('\n').filter(Boolean),
      ...docker('volume', 'ls', '-q').split('\n').filter(Boolean),
      ...readdirSync(folder).filter((name) => name !== 'installation'),
    ],
    async close() {
      removeAll();
      await gone(daemon, 'SIGTERM');
      around.close();
      for (const name of named) execFileSync('ip', ['netns', 'delete', name]);
      unmountBelow(place);
      rmSync(place, { recursive: true, force: true });
    },
  };
}
