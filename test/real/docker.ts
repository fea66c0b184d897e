/**
 * A job apart, the images and the compose file (`npm run test:docker`, Linux as root, with Debian's docker.io, docker-compose and debootstrap):
 * starts a Docker of its own in a network namespace that it makes, with its own folders, socket and pid file, and walks docs/deploy.md there
 * (docker/play.ts). Never speaks to a Docker that was already here. Prints a line a scene; ends with 1 when one fails, with 77 where it cannot
 * be tried. `GANTRY_DOCKER_FOLDER` names a folder that is kept, with the images, so that a next run builds less.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

async function main(): Promise<number> {
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
  const told: Play = { folder, base, outside, hosts, certificate, trusted };
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
    return await new Promise((resolve) => play.on('exit', (code) => resolve(code ?? 1)));
  } finally {
    proxy.close();
    proxy.closeAllConnections();
    await network.close();
    unmountBelow(folder);
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function certify(file: string, names: readonly string[]): string {
  const alternatives = names.map((name) => `DNS:${name}`).join();
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const about = ['-subj', '/CN=gantry play', '-addext', `subjectAltName=${alternatives}`];
  execFileSync('openssl', [...words, ...about, '-keyout', `${file}.key`, '-out', file], { stdio: 'ignore' });
  // Containers read it as another user.
  chmodSync(file, 0o644);
  return file;
}

/** What a Docker that was ended leaves mounted. */
function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  for (const mount of mounts.toReversed()) {
    const place = mount.split(' ')[1] ?? '';
    if (place.startsWith(`${folder}/`)) spawnSync('umount', ['--lazy', place]);
  }
}

const why = missing();
if (why !== null) {
  console.error(`SKIPPED, nothing was tried: ${why}.`);
  process.exitCode = 77;
} else process.exit(await main());
