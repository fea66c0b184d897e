// Runs apart: it installs the dependencies once more.
/** `scripts/bootstrap.mjs` and `scripts/gantry.mjs` in a clone of their own, with an npm and a vite that only note their calls. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const scripts = new URL('../../scripts', import.meta.url).pathname;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** npm: clears node_modules as `npm ci` does, puts a vite there, and notes its arguments and environment. */
const fakeNpm = `
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
appendFileSync('npm-calls', JSON.stringify({ argv: process.argv.slice(2), env: process.env }) + '\\n');
await new Promise((done) => setTimeout(done, Number(process.env.FAKE_NPM_TAKES ?? 0)));
if (process.env.FAKE_NPM_FAILS) process.exit(1);
rmSync('node_modules', { recursive: true, force: true });
mkdirSync('node_modules/vite/bin', { recursive: true });
writeFileSync('node_modules/vite/bin/vite.js', "require('node:fs').appendFileSync('vite-calls', process.argv.slice(2).join(' ') + '\\\\n'); process.exit(process.env.VITE_FAILS ? 1 : 0)");
`;

function clone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-clone-'));
  folders.push(folder);
  cpSync(scripts, join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name":"gantry","type":"module"}');
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({
      packages: {
        '': {},
        'node_modules/vite': { version: '1.0.0' },
        'node_modules/mac': { version: '1.0.0', optional: true },
      },
    }),
  );
  mkdirSync(join(folder, 'src', 'cli'), { recursive: true });
  writeFileSync(join(folder, 'src', 'cli', 'main.ts'), 'console.log("source", ...process.argv.slice(2));');
  writeFileSync(join(folder, 'vite.config.ts'), '');
  writeFileSync(join(folder, 'npm-cli.mjs'), fakeNpm);
  return folder;
}

/** A Node of another version, as far as the scripts can tell. */
const pretend = (versions: Record<string, string>): string[] => [
  '--import',
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,...${JSON.stringify(versions)}}})`,
];

function bootstrap(folder: string, goal: string, env: Record<string, string> = {}, node: readonly string[] = []) {
  const child = spawn(process.execPath, [...node, join(folder, 'scripts', 'bootstrap.mjs'), goal], {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, npm_execpath: join(folder, 'npm-cli.mjs'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, out, err })),
  );
  return { child, ended, err: () => err };
}

const lines = (folder: string, name: string): string[] => {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
};

test('start installs and builds once; after that it does nothing and says nothing', async () => {
  const folder = clone();
  const first = await bootstrap(folder, 'start').ended;
  expect(first).toMatchObject({ code: 0, out: '' });
  expect(first.err).toMatch(/^Getting Gantry ready: installing .* … [\d.]+ s, building … [\d.]+ s\n$/);
  expect(await bootstrap(folder, 'start').ended).toEqual({ code: 0, out: '', err: '' });
  expect(lines(folder, 'npm-calls')).toHaveLength(1);
  expect(lines(folder, 'vite-calls')).toEqual(['build --app --logLevel warn']);
});

test('test installs and does not build', async () => {
  const folder = clone();
  expect((await bootstrap(folder, 'test').ended).code).toBe(0);
  expect(lines(folder, 'npm-calls')).toHaveLength(1);
  expect(lines(folder, 'vite-calls')).toEqual([]);
});

test.each(['package.json', 'package-lock.json'])('a changed %s is installed again', async (name) => {
  const folder = clone();
  await bootstrap(folder, 'test').ended;
  writeFileSync(join(folder, name), `${readFileSync(join(folder, name), 'utf8')} `);
  await bootstrap(folder, 'test').ended;
  expect(lines(folder, 'npm-calls')).toHaveLength(2);
});

test('a changed source, and a removed one, are built again', async () => {
  const folder = clone();
  const extra = join(folder, 'src', 'cli', 'extra.ts');
  writeFileSync(extra, '');
  await bootstrap(folder, 'start').ended;
  const later = new Date(Date.now() + 5_000);
  utimesSync(extra, later, later);
  await bootstrap(folder, 'start').ended;
  expect(lines(folder, 'vite-calls')).toHaveLength(2);
  rmSync(extra);
  await bootstrap(folder, 'start').ended;
  expect(lines(folder, 'vite-calls')).toHaveLength(3);
});

test('two at once install once, and the second says that it waits', async () => {
  const folder = clone();
  const both = [1, 2].map(() => bootstrap(folder, 'start', { FAKE_NPM_TAKES: '600' }).ended);
  const results = await Promise.all(both);
  expect(results.map((one) => one.code)).toEqual([0, 0]);
  expect(lines(folder, 'npm-calls')).toHaveLength(1);
  expect(lines(folder, 'vite-calls')).toHaveLength(1);
  expect(results.map((one) => one.err).join('')).toContain('waiting for it');
});

test('a lock whose holder was killed stops nobody, once the npm that it left has ended', async () => {
  const folder = clone();
  const lockFile = join(folder, 'out', '.bootstrap-lock');
  const killed = bootstrap(folder, 'start', { FAKE_NPM_TAKES: '60000' });
  await expect.poll(() => lines(folder, 'npm-calls').length).toBe(1);
  killed.child.kill('SIGKILL');
  await new Promise((resolve) => killed.child.on('exit', resolve));
  const npm = Number(readFileSync(lockFile, 'utf8').split(' ')[2]);
  const second = bootstrap(folder, 'test');
  await expect.poll(() => second.err()).toContain('waiting for it');
  expect(lines(folder, 'npm-calls')).toHaveLength(1);
  process.kill(npm, 'SIGKILL');
  expect((await second.ended).code).toBe(0);
  expect(lines(folder, 'npm-calls')).toHaveLength(2);
  expect(existsSync(lockFile)).toBe(false);
});

test('SIGTERM ends npm, too, and leaves no lock', async () => {
  const folder = clone();
  const ended = bootstrap(folder, 'start', { FAKE_NPM_TAKES: '60000' });
  await expect.poll(() => lines(folder, 'npm-calls').length).toBe(1);
  ended.child.kill('SIGTERM');
  expect((await ended.ended).code).toBe(70);
  expect(existsSync(join(folder, 'out', '.bootstrap-lock'))).toBe(false);
});

test('npm gets where to fetch from and nothing else of the npm that runs us', async () => {
  const folder = clone();
  await bootstrap(folder, 'test', {
    npm_config_cache: '/c',
    npm_config_registry: 'https://r.example/',
    npm_config_cafile: '/ca',
    npm_config_omit: 'dev',
    npm_config_ignore_scripts: 'true',
    npm_config_global: 'true',
    npm_lifecycle_event: 'prestart',
    NODE_ENV: 'production',
  }).ended;
  const [{ argv, env }] = lines(folder, 'npm-calls').map((line) => JSON.parse(line)) as [
    { argv: string[]; env: Record<string, string> },
  ];
  expect(argv.slice(0, 3)).toEqual(['ci', '--include=dev', '--include=optional']);
  expect(argv).toContain('--loglevel=error');
  expect(
    Object.keys(env)
      .filter((name) => name.startsWith('npm_'))
      .sort(),
  ).toEqual(['npm_config_cache', 'npm_config_cafile', 'npm_config_registry']);
});

test('an install or a build that fails is said in a sentence, and tried again the next time', async () => {
  const folder = clone();
  const failed = await bootstrap(folder, 'start', { FAKE_NPM_FAILS: '1' }).ended;
  expect(failed.code).toBe(70);
  expect(failed.err).toContain('could not be installed: npm ci ended with 1');
  const unbuilt = await bootstrap(folder, 'start', { VITE_FAILS: '1' }).ended;
  expect(unbuilt.code).toBe(70);
  expect(unbuilt.err).toContain('The build failed');
  expect((await bootstrap(folder, 'start').ended).code).toBe(0);
  expect(lines(folder, 'npm-calls')).toHaveLength(2);
  expect(lines(folder, 'vite-calls')).toHaveLength(2);
});

test('what npm itself has installed whole is believed; what is missing or of another version is not', async () => {
  const folder = clone();
  const hidden = (packages: object): void => {
    mkdirSync(join(folder, 'node_modules'), { recursive: true });
    writeFileSync(join(folder, 'node_modules', '.package-lock.json'), JSON.stringify({ packages }));
  };
  hidden({ 'node_modules/vite': { version: '1.0.0' } });
  expect(await bootstrap(folder, 'test').ended).toEqual({ code: 0, out: '', err: '' });
  rmSync(join(folder, 'node_modules'), { recursive: true });
  hidden({ 'node_modules/vite': { version: '0.9.0' } });
  await bootstrap(folder, 'test').ended;
  expect(lines(folder, 'npm-calls')).toHaveLength(1);
});

test.each(['18.20.8', '20.18.3'])('Node %s is told in one sentence what to install', async (version) => {
  const folder = clone();
  const { code, err, out } = await bootstrap(folder, 'start', {}, pretend({ node: version })).ended;
  expect(code).toBe(70);
  expect(err).toMatch(
    new RegExp(`^Gantry needs Node 20.19 or newer; this is Node ${version}\\. Install Node 24 .*\n$`),
  );
  expect(out).toBe('');
  expect(lines(folder, 'npm-calls')).toEqual([]);
});

test('where no Node 24 comes with the dependencies an old one is told what to install, before anything is built', async () => {
  const folder = clone();
  const { code, err } = await bootstrap(folder, 'start', {}, pretend({ node: '20.20.2', napi: '9' })).ended;
  expect(code).toBe(70);
  expect(err).toContain('Gantry needs Node 24 here and this is Node 20.20.2');
  expect(lines(folder, 'vite-calls')).toEqual([]);
});

function gantry(folder: string, argv: readonly string[], node: readonly string[] = []) {
  return spawnSync(process.execPath, [...node, join(folder, 'scripts', 'gantry.mjs'), ...argv], {
    encoding: 'utf8',
    cwd: tmpdir(),
  });
}

test('gantry runs what was built, and the sources where that is older or missing', () => {
  const folder = clone();
  mkdirSync(join(folder, 'node_modules'));
  expect(gantry(folder, ['a', '--b']).stdout).toBe('source a --b\n');
  mkdirSync(join(folder, 'out', 'server'), { recursive: true });
  writeFileSync(join(folder, 'out', 'server', 'cli.js'), 'console.log("built", ...process.argv.slice(2));');
  writeFileSync(join(folder, 'out', '.built'), '');
  const later = new Date(Date.now() + 5_000);
  utimesSync(join(folder, 'out', '.built'), later, later);
  expect(gantry(folder, ['a']).stdout).toBe('built a\n');
  const latest = new Date(Date.now() + 10_000);
  utimesSync(join(folder, 'src', 'cli', 'main.ts'), latest, latest);
  expect(gantry(folder, ['a']).stdout).toBe('source a\n');
});

test('gantry in a clone that was never installed says so with exit code 70', () => {
  const folder = clone();
  const plain = gantry(folder, ['agents', 'ls']);
  expect(plain).toMatchObject({ status: 70, stdout: '' });
  expect(plain.stderr).toContain('npm start');
  const json = gantry(folder, ['agents', 'ls', '--json']);
  expect(json.status).toBe(70);
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'internal' } });
});

test('under an old Node gantry runs on the one that came with the dependencies, or says which to install', () => {
  const folder = clone();
  mkdirSync(join(folder, 'node_modules'));
  const old = pretend({ napi: '9', node: '20.20.2' });
  const without = gantry(folder, ['a'], old);
  expect(without.status).toBe(70);
  expect(without.stderr).toContain('Gantry needs Node 24 here');
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const bundled = join(folder, 'node_modules', `node-${system}-${process.arch}`);
  mkdirSync(join(bundled, 'bin'), { recursive: true });
  writeFileSync(join(bundled, 'package.json'), '{}');
  writeFileSync(join(bundled, 'bin', 'node'), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
  const found = gantry(folder, ['a', '--b'], old);
  expect(found).toMatchObject({ status: 0, stdout: 'source a --b\n' });
  writeFileSync(join(folder, 'src', 'cli', 'main.ts'), 'process.exitCode = 3;');
  expect(gantry(folder, [], old).status).toBe(3);
});
