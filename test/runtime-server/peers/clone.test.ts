/** Which repositories another computer may have cloned here, and how. Uses real git on a local repository. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { WorkReport } from '../../../src/contracts/common/work-progress.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { type RunOptions, runProcess } from '../../../src/kit/process/run-process.ts';
import { createClones, urlProblem } from '../../../src/runtime-server/peers/clone.ts';

let folder: string;
let origin: string;
let ran: RunOptions[];
const url = 'https://git.example/team/app.git';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-clone-'));
  origin = join(folder, 'origin');
  ran = [];
  mkdirSync(origin);
  git('init', '-q', '-b', 'main');
  writeFileSync(join(origin, 'README.md'), 'one\n');
  commit('one');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const person = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const gitIn = (cwd: string, ...args: string[]) => {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  return execFileSync('git', ['-C', cwd, ...who, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...person },
  }).trim();
};
const git = (...args: string[]) => gitIn(origin, ...args);
const commit = (message: string) => {
  git('add', '-A');
  git('commit', '-q', '-m', message);
  return git('rev-parse', 'HEAD');
};
const head = () => git('rev-parse', 'HEAD');

/** As the product runs git, except that the address leads to a folder of the disk. */
const onDisk = (options: RunOptions) => {
  ran.push(options);
  const env = {
    ...options.env,
    GIT_ALLOW_PROTOCOL: 'file',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.file://${origin}.insteadOf`,
    GIT_CONFIG_VALUE_0: url,
  };
  return runProcess({ ...options, env });
};
let marks = 0;
const clones = (more: { largest?: number; run?: typeof onDisk; env?: Record<string, string> } = {}) =>
  createClones({
    run: more.run ?? onDisk,
    timers: systemTimers,
    mark: () => `fresh${++marks}`,
    env: { PATH: process.env.PATH, HOME: folder, ...more.env },
    ...(more.largest === undefined ? {} : { largest: more.largest }),
  });
const codeOf = async (task: Promise<unknown>) => {
  const error = await task.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof AppError ? [error.code, error.status] : error;
};

test.each([
  'ext::sh -c touch% /tmp/x',
  'fd::17',
  'file:///etc',
  '/etc/passwd',
  './here',
  '-oProxyCommand=touch x',
  '--upload-pack=touch x',
  'http://git.example/x',
  'git://git.example/x',
  'git@git.example:team/app.git',
  'ftp://git.example/x',
  'https://ada:secret@git.example/x',
  'https://token@git.example/x',
  'ssh://ada:secret@git.example/x',
  'ssh://-oProxyCommand=touch/x',
  'ssh://-l@git.example/x',
  'ssh://git.example/-x',
  'https://git.example/x?y',
  'https://git.example/x#y',
  'https://git.example/%0ax',
  'https://git.example/',
  'https:git.example/x',
  'https://git.example/x y',
  'https://git.example/x\ny',
  'https://gіt.example/x',
  '',
])('the repository %s is refused', (address) => {
  expect(urlProblem(address)).toEqual(expect.any(String));
  expect(() => clones().check({ url: address, commit: 'a'.repeat(40) })).toThrow(AppError);
});

test.each([
  'https://git.example/team/app.git',
  'ssh://git@git.example:2222/team/app',
  'https://[::1]:8443/x',
  'ssh://host/~ada/x',
])('the repository %s is taken', (address) => {
  expect(urlProblem(address)).toBe(null);
});

test.each(['HEAD', 'main', '--orphan=zz', 'a'.repeat(39), 'a'.repeat(41), 'A'.repeat(40), `${'a'.repeat(40)}\n`])(
  'the commit %s is refused: only a whole hash names one for ever',
  (name) => {
    expect(() => clones().check({ url, commit: name })).toThrow(AppError);
  },
);

test('a clone stands at the commit, with the ledger kept out of git, and nothing of the repository was run or linked', async () => {
  const first = head();
  mkdirSync(join(origin, '.githooks'));
  writeFileSync(join(origin, '.githooks', 'post-checkout'), '#!/bin/sh\ntouch ran\n', { mode: 0o755 });
  symlinkSync('/etc/passwd', join(origin, 'link'));
  const second = commit('two');
  writeFileSync(join(origin, 'README.md'), 'three\n');
  commit('three');
  const root = join(folder, 'peers', 'ada', 'dev');
  await clones().prepare(root, { url, commit: second }, false);
  expect(gitIn(root, 'rev-parse', 'HEAD')).toBe(second);
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('one\n');
  expect(lstatSync(join(root, 'link')).isSymbolicLink()).toBe(false);
  expect(existsSync(join(root, 'ran'))).toBe(false);
  mkdirSync(join(root, '.gantry', 'ledger'), { recursive: true });
  writeFileSync(join(root, '.gantry', 'ledger', 'proof'), 'x');
  expect(gitIn(root, 'status', '--porcelain')).toBe('');
  expect(gitIn(root, 'config', 'remote.origin.url')).toBe(url);
  expect(readdirSync(join(folder, 'peers', 'ada'))).toEqual(['dev']);

  await clones().prepare(root, { url, commit: first }, false);
  expect(gitIn(root, 'rev-parse', 'HEAD')).toBe(first);
  writeFileSync(join(origin, 'README.md'), 'four\n');
  const fourth = commit('four');
  await clones().prepare(root, { url, commit: fourth }, false);
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('four\n');
});

test('a clone and a fetch tell how many objects came, whoever asks; nobody asks, and git need not count', async () => {
  for (let n = 0; n < 30; n += 1) writeFileSync(join(origin, `${n}.txt`), `${n}\n`);
  const second = commit('two');
  const root = join(folder, 'w', 'dev');
  const told: WorkReport[] = [];
  await clones().prepare(root, { url, commit: second }, false, (report) => told.push(report));
  const received = told.filter(({ what }) => what === 'Receiving objects');
  expect(told[0]).toEqual({ what: 'Asking for the repository', done: 0, total: null, unit: null });
  expect(received.at(-1)).toEqual({ what: 'Receiving objects', done: 35, total: 35, unit: 'objects' });
  expect(told.at(-1)).toEqual({ what: 'Checking out its files', done: 0, total: null, unit: null });

  writeFileSync(join(origin, 'README.md'), 'three\n');
  const third = commit('three');
  ran = [];
  await clones().prepare(root, { url, commit: third }, false);
  expect(ran.find(({ command }) => command.includes('fetch'))?.command).toContain('--quiet');
});

test('what git counted is no part of its complaint', async () => {
  const run = async (options: RunOptions) => {
    if (!options.command.includes('clone')) return onDisk(options);
    const words = 'Receiving objects:  12%% (3/25)\\rReceiving objects:  16%% (4/25)';
    const script = `printf 'Cloning into x...\\nfatal: the line was cut\\n${words}\\r' >&2; exit 128`;
    return runProcess({ ...options, command: ['sh', '-c', script] });
  };
  const told: WorkReport[] = [];
  const cut = clones({ run }).prepare(join(folder, 'w', 'dev'), { url, commit: head() }, false, (one) =>
    told.push(one),
  );
  await expect(cut).rejects.toMatchObject({ fact: `The clone of ${url} failed: fatal: the line was cut` });
  expect(told.at(-1)).toMatchObject({ what: 'Receiving objects', done: 4, total: 25 });
});

test('git gets no setting, secret or prompt of anybody, and only the two protocols', async () => {
  const hidden = { SECRET: 'x', GIT_SSH: '/bin/false', GIT_EXEC_PATH: '/nowhere', GIT_DIR: '/nowhere' };
  await clones({ env: hidden }).prepare(join(folder, 'w', 'dev'), { url, commit: head() }, false);
  expect(ran.length).toBeGreaterThan(2);
  for (const { command, env } of ran) {
    expect(Object.keys(env ?? {}).filter((name) => name in hidden)).toEqual([]);
    expect(env).toMatchObject({
      GIT_ALLOW_PROTOCOL: 'https:ssh',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
    });
    for (const setting of [
      'protocol.allow=never',
      'core.hooksPath=/dev/null',
      'core.symlinks=false',
      'http.followRedirects=false',
    ]) {
      expect(command).toContain(setting);
    }
  }
  const clone: readonly string[] = ran.find(({ command }) => command.includes('clone'))?.command ?? [];
  expect(clone).toContain('--no-recurse-submodules');
  expect(clone.indexOf('--')).toBe(clone.indexOf(url) - 1);
});

test('as the product runs it, git itself refuses an address that leads to the disk', async () => {
  const run = (options: RunOptions) =>
    runProcess({
      ...options,
      env: {
        ...options.env,
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: `url.file://${origin}.insteadOf`,
        GIT_CONFIG_VALUE_0: url,
      },
    });
  const root = join(folder, 'w', 'dev');
  expect(await codeOf(clones({ run }).prepare(root, { url, commit: head() }, false))).toEqual(['transport', 502]);
  expect(existsSync(root)).toBe(false);
});

test('a commit that the repository does not have leaves nothing behind', async () => {
  const root = join(folder, 'w', 'dev');
  expect(await codeOf(clones().prepare(root, { url, commit: 'a'.repeat(40) }, false))).toEqual(['transport', 502]);
  expect(readdirSync(join(folder, 'w'))).toEqual([]);
});

test('what was made there is never thrown away: changes, commits, another repository, files of none', async () => {
  const root = join(folder, 'w', 'dev');
  const first = head();
  await clones().prepare(root, { url, commit: first }, false);
  writeFileSync(join(origin, 'README.md'), 'two\n');
  const second = commit('two');
  const move = (live = false) => codeOf(clones().prepare(root, { url, commit: second }, live));

  expect(await move(true)).toEqual(['refused', 409]);
  expect(await codeOf(clones().prepare(root, { url, commit: first }, true))).toBe(null);
  writeFileSync(join(root, 'new.md'), 'work');
  expect(await move()).toEqual(['refused', 409]);
  gitIn(root, 'add', '-A');
  gitIn(root, 'commit', '-q', '-m', 'work');
  expect(await move()).toEqual(['refused', 409]);
  gitIn(root, 'checkout', '-q', '--detach', first);
  expect(await move()).toBe(null);
  const other = { url: 'https://git.example/team/other.git', commit: second };
  expect(await codeOf(clones().prepare(root, other, false))).toEqual(['refused', 409]);

  const plain = join(folder, 'w', 'plain');
  mkdirSync(join(plain, '.gantry', 'teams'), { recursive: true });
  writeFileSync(join(plain, 'notes.md'), 'work');
  expect(await codeOf(clones().prepare(plain, { url, commit: first }, false))).toEqual(['refused', 409]);
  rmSync(join(plain, 'notes.md'));
  expect(await codeOf(clones().prepare(plain, { url, commit: first }, false))).toBe(null);
  expect(gitIn(plain, 'rev-parse', 'HEAD')).toBe(first);
});

test('a clone that grows over its limit is ended and removed', async () => {
  const root = join(folder, 'w', 'dev');
  const fresh = join(folder, 'w');
  // Git as slow as a large repository makes it, with what it has fetched so far on the disk.
  const run = async (options: RunOptions) => {
    if (!options.command.includes('clone')) return onDisk(options);
    const target = options.command.at(-1) ?? '';
    const script = 'mkdir -p "$0" && head -c 4096 /dev/zero > "$0/pack" && sleep 60';
    return runProcess({ ...options, command: ['sh', '-c', script, target] });
  };
  expect(await codeOf(clones({ run, largest: 1024 }).prepare(root, { url, commit: head() }, false))).toEqual([
    'transport',
    502,
  ]);
  expect(readdirSync(fresh)).toEqual([]);
});
