/**
 * A job apart, the packed app (`npm run test:packed`, Linux): electron-builder packs it with a stand-in for Electron's folder; then the main
 * program that is in its archive runs with `electron` as a substitute, and everything that it starts runs from the packed files on the
 * packed Node. Prints a line a scene; ends with 1 when one fails, with 77 where it cannot be tried.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');
const { extractAll } = createRequire(import.meta.url)('@electron/asar') as {
  extractAll(from: string, to: string): void;
};

async function play(folder: string): Promise<void> {
  const packed = pack(folder);
  const resources = join(folder, 'app', 'resources');
  // Only Electron reads inside of the archive: here it is a folder of the same name.
  mkdirSync(resources, { recursive: true });
  extractAll(join(packed, 'app.asar'), join(resources, 'app.asar'));
  for (const name of ['app.asar.unpacked', 'node'])
    cpSync(join(packed, name), join(resources, name), { recursive: true });
  const inside = readdirSync(join(resources, 'app.asar.unpacked', 'node_modules')).sort();
  check(
    'the app has the three packages that are not bundled',
    inside.join() === 'better-sqlite3,node-pty,playwright-core',
  );

  const home = join(folder, 'home');
  // As from a menu: nothing of this terminal.
  const env = { HOME: folder, PATH: '/usr/bin:/bin', GANTRY_HOME: home, ...anyPort, GANTRY_STUB_RESOURCES: resources };
  const node = join(resources, 'node', 'node');
  const words = ['--import', join(root, 'test/support/electron-stub.ts'), join(resources, 'app.asar/out/main/main.js')];
  const app = spawn(node, words, { env, cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await sees(app, (line) => line.session === 200);
    check('the main program in the archive starts the servers and is let in', true);
    // Not waited for in one piece: the app is a child of this program, which must see its end.
    const gantry = async (...given: string[]): Promise<string> => {
      const command = [join(resources, 'app.asar.unpacked/scripts/gantry.mjs'), ...given];
      return (await promisify(execFile)(node, command, { env, cwd: folder })).stdout;
    };
    await gantry('teams', 'up', 'demo', '--json');
    const { address } = JSON.parse(readFileSync(join(home, 'run', 'holder.json'), 'utf8')) as { address: string };
    const page = await fetch(`${address}/`);
    check('the packed pages are served', page.status === 200 && (await page.text()).includes('<div id="root">'));
    const host = readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && commandOf(pid).includes('pane-host') && commandOf(pid).includes(home),
    );
    check(
      'the pane host runs the packed program on the packed Node',
      host.length === 1 &&
        commandOf(host[0] ?? '').startsWith(node) &&
        commandOf(host[0] ?? '').includes('app.asar.unpacked'),
    );
    const agents = JSON.parse(await gantry('agents', 'ls', '--json')) as { agents: { pane: object | null }[] };
    check('three bots live in it', agents.agents.filter(({ pane }) => pane !== null).length === 3);
    await gantry('stop', '--all', '--json');
    await new Promise((resolve) => (app.exitCode === null ? app.once('exit', resolve) : resolve(null)));
    check('the command line ends the bots and the app, in order', app.exitCode === 0);
  } finally {
    app.kill('SIGKILL');
  }
}

const anyPort = { GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0', GANTRY_PEER_PORT: '0' };

/** The folder of resources that electron-builder made. */
function pack(folder: string): string {
  const electron = join(folder, 'electron');
  mkdirSync(join(electron, 'resources'), { recursive: true });
  mkdirSync(join(electron, 'locales'));
  writeFileSync(join(electron, 'electron'), '#!/bin/sh\n', { mode: 0o755 });
  for (const name of ['version', 'LICENSE', 'LICENSES.chromium.html', 'locales/en-US.pak'])
    writeFileSync(join(electron, name), '');
  const config = join(folder, 'stand-in.yml');
  // The fuses are bytes of the real program.
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'electron-builder.yml'),
      electronFuses: null,
      electronDist: electron,
      directories: { output: join(folder, 'dist'), buildResources: 'build' },
    }),
  );
  execFileSync(process.execPath, [join(root, 'scripts/dist.mjs'), '--dir', '--linux', '--config', config], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [made = ''] = readdirSync(join(folder, 'dist')).filter((name) => name.endsWith('unpacked'));
  return join(folder, 'dist', made, 'resources');
}

function sees(app: ChildProcess, wanted: (line: Record<string, unknown>) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    createInterface({ input: app.stdout! }).on('line', (line) => {
      if (wanted(JSON.parse(line))) resolve();
    });
    app.once('exit', (code) => reject(new Error(`The app ended with ${code}.`)));
    setTimeout(() => reject(new Error('The app showed nothing within a minute.')), 60_000).unref();
  });
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function check(scene: string, holds: boolean): void {
  console.log(`${holds ? 'ok    ' : 'FAILED'} ${scene}`);
  if (!holds) process.exitCode = 1;
}

if (process.platform !== 'linux' || !existsSync(join(root, 'node_modules', 'electron-builder'))) {
  console.error('SKIPPED, nothing was tried: it needs Linux and the development packages.');
  process.exitCode = 77;
} else {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-packed-'));
  try {
    await play(folder);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
