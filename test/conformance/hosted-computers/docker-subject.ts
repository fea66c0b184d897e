/** The driver `docker` on its engine: a Docker of its own, in a world of its own, with the image that `npm run test:docker` built. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDockerDriver } from '../../../src/cloud-api/hosted-computers/docker.ts';
import type { OfferingDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { readComputersEngine } from '../../../src/host/computers-engine.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { computerUser } from '../../../src/programs/computer-init/protocol.ts';
import { createWorld } from '../../support/computers/world.ts';
import { startDaemon } from '../../support/docker/daemon.ts';
import type { Attempts, Came, DriverSubject } from './subject.ts';

const probe = fileURLToPath(new URL('../../support/computers/probe.ts', import.meta.url));

/** The engine's data, with the image `gantry-computer`. */
const data = process.env.GANTRY_ENGINE_DATA;
export const noEngine = (): string | null =>
  data === undefined ? 'npm run test:docker builds its image and runs it' : null;

export interface DockerSubject extends DriverSubject {
  /** Of the command `docker` at this engine. */
  docker(...words: readonly string[]): string;
  /** `env`: as the cloud has it, besides the subject's own. */
  connect(env?: Readonly<Record<string, string>>): OfferingDriver;
  readonly socket: string;
  readonly folder: string;
}

/** With a browser it takes minutes to build. */
const images = { shell: 'gantry-computer', desktop: 'gantry-computer:desktop' } as const;

/** `env`: what the cloud's environment says of its computers. */
export async function openDocker(
  toolset: DriverSubject['toolset'],
  env: Readonly<Record<string, string>> = {},
): Promise<DockerSubject> {
  const around = await createWorld();
  const daemon = await startDaemon({
    data: data!,
    // Not `ip netns exec`: it mounts another /sys, in which the engine finds no cgroups.
    network: around.on('machine'),
    config: {
      // Computers outlive their engine.
      'live-restore': true,
      dns: ['9.9.9.9'],
      ipv6: true,
      'fixed-cidr-v6': 'fd00:dead:beef::/64',
      ip6tables: true,
      experimental: true,
    },
  });
  const { socket } = daemon;
  const folder = join(daemon.folder, 'computers');
  const docker = (...words: readonly string[]) =>
    execFileSync('docker', ['-H', `unix://${socket}`, ...words], {
      encoding: 'utf8',
      env: { ...process.env, DOCKER_BUILDKIT: '0' },
    }).trim();
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
    connect: (more = {}) =>
      createDockerDriver({
        settings: readComputersEngine({
          GANTRY_COMPUTERS_ENGINE: socket,
          GANTRY_COMPUTERS_IMAGE: images[toolset],
          ...env,
          ...more,
        })!,
        folder,
        cloudHost: null,
        clock: systemClock,
        timers: systemTimers,
        log: { warn() {} },
      }),
    kill: daemon.kill,
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
      await daemon.close();
      around.close();
      for (const name of named) execFileSync('ip', ['netns', 'delete', name]);
    },
  };
}
