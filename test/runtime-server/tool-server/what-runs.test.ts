/** A command in the sandbox changes nothing that says what may run, and git goes on working. */
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { createShellSandbox, type ShellSandbox } from '../../../src/runtime-server/tool-server/shell-sandbox.ts';
import { setUpstreams } from '../../../src/runtime-server/tool-server/upstream.ts';
import { createFinder } from '../../../src/runtime-server/tool-server/what-runs-finder.ts';

let names = 0;
const deps = {
  env: { PATH: process.env.PATH, HOME: process.env.HOME },
  wanted: true,
  clock: systemClock,
  freshName: () => `n${names++}`,
};
const closed = await createShellSandbox({ ...deps, hidden: [] })
  .place({ command: ['true'], cwd: '/', root: '/usr/share/misc', checkout: '/usr/share/misc', env: {} })
  .then(async ({ confined, settle }) => {
    await settle();
    return confined;
  });

let base: string;
let workspace: string;
let sandbox: ShellSandbox;

beforeEach(() => {
  base = mkdtempSync('/var/tmp/gantry-what-runs-');
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  workspace = join(base, 'work');
  mkdirSync(workspace);
  git(workspace, 'init', '-q', '-b', 'main');
  git(workspace, 'config', 'user.name', 'a');
  git(workspace, 'config', 'user.email', 'a@b.example');
  sandbox = createShellSandbox({ ...deps, hidden: [join(base, 'home')] });
});

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), text);
}

interface RunOptions {
  readonly root?: string;
  readonly mayWrite?: (path: string) => boolean;
  readonly meanwhile?: () => void;
}

async function run(line: string, { root = workspace, mayWrite, meanwhile }: RunOptions = {}) {
  const { confined, roots, settle, ...place } = await sandbox.place({
    command: ['/bin/sh', '-c', line],
    cwd: root,
    root,
    checkout: workspace,
    env: {},
    ...(mayWrite === undefined ? {} : { mayWrite }),
  });
  expect(confined).toBe(true);
  const running = runProcess({ ...place, deadlineMs: 30_000 });
  meanwhile?.();
  const ran = await running;
  const notes = await settle();
  const isOurs = (path: string) => roots.some((one) => path.startsWith(one));
  notes.push(...(await setUpstreams({ cwd: root, line, printed: `${ran.stdout}\n${ran.stderr}`, isOurs })));
  return { ...ran, notes };
}

/** Every path below the workspace but what git keeps for itself, without what was set aside. */
function paths(folder = workspace): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/(?:^|\/)\.git\/(?:objects|refs|logs)(?:\/|$)/.test(path) && !path.includes('.set-aside-'))
    .sort();
}

const everything = [
  '.gantry/policy.yaml',
  '.git/hooks/pre-commit',
  '.git/config',
  '.git/info/attributes',
  '.claude/settings.json',
  '.codex/config.toml',
  '.gemini/settings.json',
  '.qwen/settings.json',
  '.opencode/opencode.json',
  '.mcp.json',
  'AGENTS.md',
  'CLAUDE.md',
  '.vscode/tasks.json',
  '.husky/pre-commit',
  '.envrc',
  '.npmrc',
];

test.skipIf(!closed)('what says what may run is read-only, at the top and below, and stays as it was', async () => {
  const all = [...everything, ...everything.filter((path) => !path.startsWith('.git/')).map((path) => `a/b/${path}`)];
  for (const path of all) put(path, path === '.git/config' ? readFileSync(join(workspace, path), 'utf8') : 'mine');
  git(workspace, 'init', '-q', 'a/nested');
  git(workspace, 'init', '-q', '.git/modules/deep/er');
  const guarded = [
    ...all,
    ...['a/nested/.git', '.git/modules/deep/er/.git'].flatMap((one) => [`${one}/config`, `${one}/hooks/evil`]),
  ];
  const before = guarded.map((path) => [
    path,
    existsSync(join(workspace, path)) && readFileSync(join(workspace, path)),
  ]);
  const tries = guarded.map((path) => `echo evil >> '${path}'; rm -rf '${path}'; mv '${path}' x; chmod 777 '${path}'`);
  const listed = paths();
  const { notes } = await run(`${tries.join('\n')}\nrm -rf x; echo done > free.txt`);
  const after = guarded.map((path) => [path, existsSync(join(workspace, path)) && readFileSync(join(workspace, path))]);
  expect(after).toEqual(before);
  expect(notes).toEqual([]);
  expect(paths()).toEqual([...listed, 'free.txt'].sort());
});

test.skipIf(!closed)(
  'what is not there does not come into being: it is set aside and told, and nothing else is left',
  async () => {
    const missing = [
      ...everything.filter((path) => !path.startsWith('.git/')),
      ...[
        'a/.npmrc',
        'a/b/c/.claude/settings.json',
        'nested/.git/hooks/pre-commit',
        '.git/config.worktree',
        '.git/commondir',
      ],
    ];
    const listed = paths();
    const { notes } = await run(missing.map((path) => `mkdir -p '${dirname(path)}'; echo evil > '${path}'`).join('\n'));
    for (const path of missing) expect([path, existsSync(join(workspace, path))]).toEqual([path, false]);
    const told = notes.map((note) => note.split(' ')[0]).sort();
    const tops = missing.map((path) =>
      path.replace(/(\.gantry|\.claude|\.codex|\.gemini|\.qwen|\.opencode|\.vscode|\.husky|nested\/\.git)\/.*/, '$1'),
    );
    expect(told).toEqual(tops.sort());
    expect(notes[0]).toContain('appeared while the command ran');
    expect(paths()).toEqual([...listed, 'a', 'a/b', 'a/b/c', 'nested'].sort());
    // What it wrote is not lost to its person.
    expect(readdirSync(join(workspace, 'a')).filter((name) => name.startsWith('.npmrc.set-aside-'))).toHaveLength(1);
  },
);

test.skipIf(!closed)('nothing is left in the folder by a command that does nothing', async () => {
  put('src/a.ts', '');
  const listed = paths();
  expect((await run('true')).notes).toEqual([]);
  expect(paths()).toEqual(listed);
});

test.skipIf(!closed)('a folder above it that is moved away is made again, with what was in it', async () => {
  put('packages/a/.claude/settings.json', 'mine');
  put('packages/a/src.ts', 'code');
  const { notes, stderr } = await run(
    'mv .git x; mv .gantry y; mv packages gone; mkdir -p packages/a/.claude; echo evil > packages/a/.claude/settings.json',
  );
  expect(stderr).toContain("cannot move '.git'");
  expect(readFileSync(join(workspace, 'packages/a/.claude/settings.json'), 'utf8')).toBe('mine');
  expect(notes[0]).toMatch(/^packages\/a\/\.claude says what may run.*put it back.*set-aside/);
  expect(readFileSync(join(workspace, 'packages/a/src.ts'), 'utf8')).toBe('code');
  expect(existsSync(join(workspace, 'gone'))).toBe(false);
});

test.skipIf(!closed)(
  'what is moved where nobody looks, or leaves a file or link in its place, is put back too',
  async () => {
    for (const folder of ['one', 'two', 'three']) put(`${folder}/.npmrc`, folder);
    mkdirSync(join(workspace, 'elsewhere'));
    const { notes } = await run(
      'mkdir node_modules; mv one node_modules/one; mv two x; echo file > two; mv three y; ln -s elsewhere three; echo evil > three/.npmrc',
    );
    for (const folder of ['one', 'two', 'three']) {
      expect(readFileSync(join(workspace, folder, '.npmrc'), 'utf8')).toBe(folder);
      expect(lstatSync(join(workspace, folder)).isDirectory()).toBe(true);
    }
    expect(existsSync(join(workspace, 'elsewhere/.npmrc'))).toBe(false);
    expect(notes).toHaveLength(4);
  },
);

test.skipIf(!closed)('a link stands for what it leads to', async () => {
  put('docs/agent.md', 'mine');
  put('hooks-of-ours/pre-commit', 'mine');
  symlinkSync('docs/agent.md', join(workspace, 'AGENTS.md'));
  symlinkSync('hooks-of-ours', join(workspace, '.husky'));
  symlinkSync('nowhere', join(workspace, '.envrc'));
  const { notes } = await run(
    'echo evil >> docs/agent.md; echo evil > hooks-of-ours/pre-push; rm AGENTS.md; echo evil > AGENTS.md; ln -sfn /etc .husky; echo evil > nowhere',
  );
  expect(readFileSync(join(workspace, 'AGENTS.md'), 'utf8')).toBe('mine');
  expect(readdirSync(join(workspace, '.husky'))).toEqual(['pre-commit']);
  expect(existsSync(join(workspace, '.envrc'))).toBe(false);
  expect(notes).toHaveLength(3);
});

test.skipIf(!closed)(
  'where git’s settings keep hooks, and what they include, is held like git’s own folder',
  async () => {
    put('.githooks/pre-commit', 'mine');
    put('shared.gitconfig', '[core]\n');
    git(workspace, 'config', 'core.hooksPath', '.githooks');
    git(workspace, 'config', 'include.path', '../shared.gitconfig');
    const line = 'echo evil > .githooks/pre-push; echo "[core] fsmonitor = evil" >> shared.gitconfig';
    expect((await run(line)).notes).toEqual([]);
    expect(readdirSync(join(workspace, '.githooks'))).toEqual(['pre-commit']);
    expect(readFileSync(join(workspace, 'shared.gitconfig'), 'utf8')).toBe('[core]\n');
  },
);

test.skipIf(!closed)('instructions for bots are written where a rule names them, and nowhere else', async () => {
  put('AGENTS.md', 'mine');
  const mayWrite = (path: string) => path === join(workspace, 'AGENTS.md') || path === join(workspace, 'CLAUDE.md');
  const line = 'echo more >> AGENTS.md; echo new > CLAUDE.md; mkdir a; echo new > a/AGENTS.md; echo new > .npmrc';
  const { notes } = await run(line, { mayWrite });
  expect(readFileSync(join(workspace, 'AGENTS.md'), 'utf8')).toBe('minemore\n');
  expect(existsSync(join(workspace, 'CLAUDE.md'))).toBe(true);
  expect(notes.map((note) => note.split(' ')[0]).sort()).toEqual(['.npmrc', 'a/AGENTS.md']);
});

test.skipIf(!closed)('commit, branch, fetch, rebase and push -u work, and the upstream is set', async () => {
  git(base, 'init', '-q', '--bare', 'remote.git');
  git(workspace, 'remote', 'add', 'origin', join(base, 'remote.git'));
  git(workspace, 'commit', '-q', '--allow-empty', '-m', 'first');
  git(workspace, 'push', '-q', 'origin', 'main');
  git(workspace, 'branch', 'theirs');
  git(workspace, 'push', '-q', 'origin', 'theirs');
  git(workspace, 'branch', '-D', 'theirs');
  // The remote lies outside of the folder: a push needs it writable, as one over the network is.
  renameSync(join(base, 'remote.git'), join(workspace, 'remote.git'));
  git(workspace, 'remote', 'set-url', 'origin', join(workspace, 'remote.git'));
  const lines = [
    'git checkout -q -b feature && echo a > a.txt && git add a.txt && git commit -qm second',
    'git fetch -q && git rebase -q origin/main && git push -q -u origin feature',
    'git checkout -q theirs && git checkout -q feature && git branch spare && git branch -d spare',
    'git stash list && git status --short -uno && git gc -q',
  ];
  for (const line of lines) {
    const ran = await run(line);
    expect([line, ran.exitCode, ran.stderr.includes('fatal')]).toEqual([line, 0, false]);
    expect(ran.notes.filter((note) => !note.startsWith('Gantry set the upstream of'))).toEqual([]);
  }
  expect(git(workspace, 'rev-parse', '--abbrev-ref', 'feature@{upstream}')).toBe('origin/feature');
  expect(git(workspace, 'rev-parse', 'feature')).toBe(git(join(workspace, 'remote.git'), 'rev-parse', 'feature'));
  const { exitCode } = await run(
    "git push -u elsewhere feature; echo \"branch 'feature' set up to track 'elsewhere/feature'.\"",
  );
  expect(exitCode).toBe(0);
  expect(git(workspace, 'config', 'branch.feature.remote')).toBe('origin');
});

test.skipIf(!closed)('setting an upstream takes no mount from a command that runs meanwhile', async () => {
  git(base, 'init', '-q', '--bare', 'work/remote.git');
  git(workspace, 'remote', 'add', 'origin', join(workspace, 'remote.git'));
  git(workspace, 'commit', '-q', '--allow-empty', '-m', 'first');
  const waits =
    'while [ ! -e go ]; do sleep 0.05; done; echo "[core] fsmonitor = evil" >> .git/config; git config core.fsmonitor evil';
  const slow = run(waits);
  const { notes } = await run('git push -q -u origin main');
  expect(notes).toEqual(['Gantry set the upstream of main to origin/main, because the command could not.']);
  writeFileSync(join(workspace, 'go'), '');
  await slow;
  expect(readFileSync(join(workspace, '.git/config'), 'utf8')).not.toContain('evil');
});

test.skipIf(!closed)('in a worktree neither its own folder of git nor the common one says anything new', async () => {
  git(workspace, 'commit', '-q', '--allow-empty', '-m', 'first');
  const tree = join(base, 'home', 'worktrees', 'crew', 'dev');
  mkdirSync(dirname(tree), { recursive: true });
  git(workspace, 'worktree', 'add', '-q', tree);
  const own = join(workspace, '.git/worktrees/dev');
  const watched = [join(tree, '.git'), join(own, 'commondir'), join(own, 'gitdir'), join(workspace, '.git/config')];
  const before = watched.map((path) => readFileSync(path, 'utf8'));
  const targets = [
    ...watched,
    join(own, 'config.worktree'),
    join(workspace, '.git/config.worktree'),
    join(workspace, '.git/hooks/pre-commit'),
  ];
  const { notes } = await run(targets.map((path) => `echo evil > ${path}; rm -f ${path}`).join('\n'), { root: tree });
  expect(watched.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
  expect(notes).toEqual([]);
  const made = await run(`echo evil > ${own}/config.worktree; mv ${own} ${own}2`, { root: tree });
  expect(made.notes.length).toBeGreaterThan(0);
  expect(existsSync(join(own, 'config.worktree'))).toBe(false);
  expect(git(tree, 'status', '--short')).toBe('');
  const commit = 'git commit -q --allow-empty -m in-tree && git log -1 --format=%s';
  expect((await run(commit, { root: tree })).stdout).toBe('in-tree\n');
});

test.skipIf(!closed)('a worktree that is added while a command runs is left as it is', async () => {
  git(workspace, 'commit', '-q', '--allow-empty', '-m', 'first');
  const meanwhile = () => git(workspace, 'worktree', 'add', '-q', join(base, 'another'));
  expect((await run('sleep 1', { meanwhile })).notes).toEqual([]);
  expect(git(join(base, 'another'), 'status', '--short')).toBe('');
});

test.skipIf(!closed)(
  'a pipe or a link in the place of a worktree’s files of git is set aside, and nobody reads from it',
  async () => {
    git(workspace, 'commit', '-q', '--allow-empty', '-m', 'first');
    git(workspace, 'worktree', 'add', '-q', join(base, 'another'));
    const own = '.git/worktrees/made';
    const places = ['commondir', 'gitdir'].flatMap((name) => [`${own}/${name}`, `${own}2/${name}`]);
    const pipe = join(workspace, own, 'commondir');
    // Whoever reads from the pipe is answered: a read would not wait for ever here, but take it for git's own file.
    const answers = spawn('sh', ['-c', `while [ ! -p ${pipe} ]; do sleep 0.05; done; echo ../.. > ${pipe}`]);
    onTestFinished(() => void answers.kill());
    const { notes } = await run(
      `mkdir ${own} ${own}2; mkfifo ${own}/commondir ${own}/gitdir; echo ../.. > usual; ln -s "$PWD/usual" ${own}2/commondir; ln -s /dev/zero ${own}2/gitdir`,
    );
    expect(notes.map((note) => note.split(' ')[0]).sort()).toEqual(places.sort());
    for (const path of places)
      expect([path, lstatSync(join(workspace, path), { throwIfNoEntry: false })]).toEqual([path, undefined]);
  },
);

test('the look is bounded, says so, and keeps an eye on what it found before', async () => {
  put('packages/deep/.npmrc', 'mine');
  const finder = createFinder({ now: systemClock.now, limit: 20 });
  expect((await finder.look([workspace], [])).found.map(({ path }) => path)).toContain(
    join(workspace, 'packages/deep/.npmrc'),
  );
  for (let at = 0; at < 40; at += 1) mkdirSync(join(workspace, `0${at}`));
  const again = await finder.look([workspace], []);
  expect(again.cut).toBe(true);
  expect(again.found.map(({ path }) => path)).toContain(join(workspace, 'packages/deep/.npmrc'));
  put('node_modules/a/.npmrc', 'not read by anybody');
  expect(again.found.some(({ path }) => path.includes('node_modules'))).toBe(false);
});
