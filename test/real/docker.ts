/**
 * A job apart, with real containers (`npm run test:docker`, Linux as root, with Debian's docker.io, docker-compose and debootstrap). A word plays one
 * part of it. `tasks`: tasks with an image, on a Docker without a network (docker/tasks.ts). `deploy`: the images and the compose file, on a Docker
 * in a network namespace that it makes: walks docs/deploy.md there (docker/play.ts), then holds the driver docker of hosted computers to its suite with
 * the image that was built. `computers`: twenty hosted computers of such a cloud, while its parts are killed (docker/twenty.ts). Each starts a Docker of
 * its own, with its own folders, socket and pid file, and never speaks to one that was already here. Prints a line a scene; ends with 1 when one
 * fails, with 77 where it cannot be tried.
 * `GANTRY_DOCKER_FOLDER` names a folder that is kept, with the images, so that a next run builds less.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../docs/blocks.ts';
import { certify } from '../support/certify.ts';
import { noDaemon } from '../support/docker/daemon.ts';
import { unmountBelow } from '../support/mounts.ts';
import { createNetwork, noNetwork } from '../support/namespaces.ts';
import { baseArchive } from './docker/base.ts';
import { listenOutside } from './docker/way-out.ts';

const needed = ['dockerd', 'docker', 'docker-compose', 'debootstrap', 'nsenter', 'iptables', 'openssl', 'git'];

/** Why nothing can be tried; null: it can. */
function missing(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root';
  const lacks = needed.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  return lacks.length > 0 ? `there is no ${lacks.join(', no ')}` : noNetwork();
}

/** What the play is told. */
export interface Play {
  /** What is played once the cloud is up. */
  readonly part: 'deploy' | 'computers';
  /** For Docker and for itself. */
  readonly folder: string;
  /** The archive of the base. */
  readonly base: string;
  /** The socket of the way out. */
  readonly outside: string;
  readonly hosts: { readonly cloud: string; readonly provider: string };
  /** For both names; its key is beside it. */
  readonly certificate: string;
  /** Whom this machine trusts. */
  readonly trusted: string;
}

async function main(part: Play['part']): Promise<number> {
  const kept = process.env.GANTRY_DOCKER_FOLDER;
  // A short name: Docker puts sockets into it.
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'gdk-'));
  mkdirSync(folder, { recursive: true });
  const base = baseArchive();
  const network = createNetwork();
  const outside = join(folder, 'out.sock');
  rmSync(outside, { force: true });
  const hosts = { cloud: 'gantry.test', provider: 'id.test' };
  const certificate = certify(join(folder, 'tls.pem'), Object.values(hosts));
  const trusted = process.env.NODE_EXTRA_CA_CERTS ?? '/etc/ssl/certs/ca-certificates.crt';
  const told: Play = { part, folder, base, outside, hosts, certificate, trusted };
  const proxy = await listenOutside(outside);
  try {
    const { namespace } = network.place('docker');
    // Not `ip netns exec`: it mounts another /sys, in which Docker finds no cgroups.
    const inside = ['nsenter', `--net=/var/run/netns/${namespace}`, process.execPath];
    const play = spawn(inside[0]!, [...inside.slice(1), join(import.meta.dirname, 'docker/play.ts')], {
      stdio: 'inherit',
      // Node reads whom to trust only as it begins.
      env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate, GANTRY_PLAY: JSON.stringify(told) },
    });
    // Ended early, it still takes its Docker and its network away.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => play.kill(signal));
    const code = await new Promise<number>((resolve) => play.on('exit', (ended) => resolve(ended ?? 1)));
    return code === 0 && part === 'deploy' ? await holdDriver(join(folder, 'data')) : code;
  } finally {
    proxy.close();
    proxy.closeAllConnections();
    await network.close();
    unmountBelow(folder);
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The suite of hosted drivers, on an engine of its own with the images that were built. */
function holdDriver(data: string): Promise<number> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const file = 'test/conformance/hosted-computers/docker.test.ts';
  const suite = spawn(process.execPath, [vitest, 'run', '--project', 'suites', file], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, GANTRY_ENGINE_DATA: data },
  });
  return new Promise((resolve) => suite.on('exit', (code) => resolve(code ?? 1)));
}

/** In containers of a Docker without a network. */
function tasks(): number {
  const file = join(import.meta.dirname, 'docker/tasks.ts');
  return spawnSync(process.execPath, [file], { stdio: 'inherit' }).status ?? 1;
}

const skipped = 77;
const parts = {
  tasks: { missing: noDaemon, play: tasks },
  deploy: { missing, play: () => main('deploy') },
  computers: { missing, play: () => main('computers') },
};
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}: ${Object.keys(parts).join(', ')}.`);
  process.exit(64);
}
const codes: number[] = [];
for (const [name, { missing, play }] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const why = missing();
  if (why !== null) console.error(`SKIPPED, nothing was tried of ${name}: ${why}.`);
  codes.push(why === null ? await play() : skipped);
}
process.exit(codes.find((code) => code !== 0 && code !== skipped) ?? codes.find((code) => code !== 0) ?? 0);
