/**
 * Builds the images that a cluster runs, on a Docker in a network namespace of its own, and writes them as archives:
 * `node test/support/cluster/images.ts --folder DIR [cloud worker computer]`. The base is that of `npm run test:docker`; what is committed in this
 * checkout is built. Knows nothing of Kubernetes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../docs/blocks.ts';
import { baseArchive } from '../../real/docker/base.ts';
import { listenOutside, openDoor } from '../../real/docker/way-out.ts';
import { startDaemon } from '../docker/daemon.ts';
import { unmountBelow } from '../mounts.ts';
import { createNetwork } from '../namespaces.ts';

export const builtImages = ['cloud', 'worker', 'computer'] as const;
export type BuiltImage = (typeof builtImages)[number];

/** What the half inside of the namespace is told. */
interface Build {
  readonly folder: string;
  readonly base: string;
  readonly outside: string;
  readonly names: readonly BuiltImage[];
}

const doorPort = 3128;
/** Docker's own bridge, on which builds run. */
const door = `http://172.17.0.1:${doorPort}`;

export const archiveOf = (folder: string, name: BuiltImage): string => join(folder, `gantry-${name}.tar`);

/** Archives of `gantry-<name>:latest`, each in the folder. Docker's data stays there too, so that a next build does less. */
export async function buildImages(folder: string, names: readonly BuiltImage[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const outside = join(folder, 'out.sock');
  rmSync(outside, { force: true });
  const told: Build = { folder, base: baseArchive(), outside, names };
  const proxy = await listenOutside(outside);
  const network = createNetwork();
  try {
    const { namespace } = network.place('docker');
    // Not `ip netns exec`: it mounts another /sys, in which Docker finds no cgroups.
    const words = [`--net=/var/run/netns/${namespace}`, process.execPath, import.meta.filename];
    const inside = spawn('nsenter', words, {
      stdio: 'inherit',
      env: { ...process.env, GANTRY_IMAGES: JSON.stringify(told) },
    });
    const code = await new Promise((ended) => inside.on('exit', ended));
    if (code !== 0) throw new Error(`the images were not built: the build ended with ${code}`);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
    await network.close();
    unmountBelow(folder);
  }
}

async function buildInside({ folder, base, outside, names }: Build): Promise<void> {
  const daemon = await startDaemon({ folder, network: [] });
  const way = await openDoor(outside, doorPort);
  const run = (program: string, ...words: readonly string[]) =>
    execFileSync(program, words, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, DOCKER_HOST: `unix://${daemon.socket}`, DOCKER_BUILDKIT: '0' },
    });
  // Builds go through the door of this program, which must not wait for them.
  const build = (...words: readonly string[]) =>
    new Promise<void>((resolve, reject) => {
      const env = { ...process.env, DOCKER_HOST: `unix://${daemon.socket}`, DOCKER_BUILDKIT: '0' };
      const child = spawn('docker', ['build', '--quiet', ...words], { stdio: ['ignore', 'inherit', 'inherit'], env });
      child.on('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`docker build ${words} ended with ${code}`)),
      );
    });
  try {
    const has = await daemon.docker('image', 'inspect', 'gantry-base:bare').then(Boolean, () => false);
    const path = 'ENV PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin';
    if (!has) run('docker', 'import', '--change', path, base, 'gantry-base:bare');
    const trusting = join(folder, 'trusting');
    mkdirSync(trusting, { recursive: true });
    const trusted = process.env.NODE_EXTRA_CA_CERTS ?? '/etc/ssl/certs/ca-certificates.crt';
    run('cp', trusted, join(trusting, 'machine.pem'));
    const lines = ['FROM gantry-base:bare', 'COPY machine.pem /etc/ssl/machine.pem'];
    // There may be a proxy between the build and where packages are, whose certificate only this machine knows.
    lines.push('ENV NODE_EXTRA_CA_CERTS=/etc/ssl/machine.pem');
    writeFileSync(join(trusting, 'Dockerfile'), `${lines.join('\n')}\n`);
    await build('-t', 'gantry-base:play', trusting);
    const checkout = join(folder, 'checkout');
    rmSync(checkout, { recursive: true, force: true });
    run('git', 'clone', '-q', root, checkout);
    const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy'].flatMap((name) => ['--build-arg', `${name}=${door}`]);
    for (const name of names) {
      const tag = `gantry-${name}:latest`;
      const file = join(checkout, `deploy/images/${name}.Dockerfile`);
      await build('-t', tag, '-f', file, '--build-arg', 'BASE=gantry-base:play', ...proxies, checkout);
      const archive = archiveOf(folder, name);
      await daemon.docker('save', '-o', archive, tag);
      console.log(`${tag}: ${archive}, ${Math.round(statSync(archive).size / 1e6)} MB`);
    }
  } finally {
    way.close();
    await daemon.close();
  }
}

if (process.env.GANTRY_IMAGES !== undefined) {
  await buildInside(JSON.parse(process.env.GANTRY_IMAGES) as Build);
  process.exit(0);
}
if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { folder: { type: 'string' } }, allowPositionals: true });
  if (values.folder === undefined) throw new Error('Say where: --folder DIR');
  const names = builtImages.filter((name) => positionals.length === 0 || positionals.includes(name));
  await buildImages(resolve(values.folder), names);
}
