/** What a command of a tool can reach: its own folder and its repository, and nothing of Gantry's. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { createShellSandbox, type ShellSandbox } from '../../../src/runtime-server/tool-server/shell-sandbox.ts';

const env = { PATH: process.env.PATH, HOME: process.env.HOME };
let names = 0;
const rest = { env, clock: systemClock, freshName: () => `n${names++}` };
const closed = await createShellSandbox({ ...rest, hidden: [], wanted: true })
  .place({ command: ['true'], cwd: '/', root: '/usr/share/misc', checkout: '/usr/share/misc', env: {} })
  .then(async ({ confined, settle }) => {
    await settle();
    return confined;
  });

let base: string;
let workspace: string;
let home: string;
let sandbox: ShellSandbox;

afterAll(() => rmSync(base, { recursive: true, force: true }));
beforeAll(() => {
  // Not in /tmp: commands have one of their own.
  base = mkdtempSync('/var/tmp/gantry-sandbox-');
  [workspace, home] = [join(base, 'repository', 'work'), join(base, 'gantry')];
  mkdirSync(workspace, { recursive: true });
  mkdirSync(join(home, 'worktrees', 'bot'), { recursive: true });
  writeFileSync(join(home, 'owner-token'), 'secret');
  writeFileSync(join(base, 'beside.txt'), 'readable');
  execFileSync('git', ['init', '-q', join(base, 'repository')]);
  sandbox = createShellSandbox({ ...rest, hidden: [home], wanted: true });
});

async function run(line: string, root = workspace, more: Record<string, string> = {}) {
  const {
    confined,
    roots: _roots,
    settle,
    ...place
  } = await sandbox.place({
    command: ['/bin/sh', '-c', line],
    cwd: root,
    root,
    checkout: workspace,
    env: more,
  });
  expect(confined).toBe(true);
  const ran = await runProcess({ ...place, deadlineMs: 20_000 });
  await settle();
  return ran;
}

test.skipIf(!closed)('a command works in its folder under the same path, and what it writes there stays', async () => {
  const { stdout, exitCode } = await run('pwd; echo made > file.txt; cat file.txt; node --version | cut -c1');
  expect([exitCode, stdout]).toEqual([0, `${workspace}\nmade\nv\n`]);
  expect(readFileSync(join(workspace, 'file.txt'), 'utf8')).toBe('made\n');
});

test.skipIf(!closed)('beside its folder it reads, and changes nothing', async () => {
  const { stdout } = await run(
    `cat ${base}/beside.txt; echo x > ${base}/beside.txt || echo refused; rm -rf ${base}/repository/other`,
  );
  expect(stdout).toBe('readablerefused\n');
  expect((await run(`touch ${base}/new.txt`)).exitCode).not.toBe(0);
  expect(readFileSync(join(base, 'beside.txt'), 'utf8')).toBe('readable');
  expect(existsSync(join(base, 'new.txt'))).toBe(false);
});

test.skipIf(!closed)('Gantry’s own folder is empty to it, but for the worktree that it works in', async () => {
  expect((await run(`cat ${home}/owner-token; ls -A ${home}`)).stdout).toBe('');
  const tree = join(home, 'worktrees', 'bot');
  const { stdout } = await run(`pwd; echo x > mine.txt; ls -A ${home} ; cat ${home}/owner-token`, tree);
  expect(stdout).toBe(`${tree}\nworktrees\n`);
  expect(readdirSync(tree)).toEqual(['mine.txt']);
});

test.skipIf(!closed)(
  'it sees no process but its own, and one that leaves its session does not outlive it',
  async () => {
    const word = `9${Date.now()}`;
    const { stdout } = await run(`ls /proc | grep -c '^[0-9]'; setsid -f sleep ${word}; echo done`);
    expect(Number(stdout.split('\n')[0])).toBeLessThan(10);
    const left = readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word);
        } catch {
          return false;
        }
      });
    expect(left).toEqual([]);
  },
);

test.skipIf(!closed)('git commits in the workspace, also where the repository begins above it', async () => {
  const { stdout, stderr } = await run(
    'git add -A && git -c user.name=a -c user.email=a@b.example commit -qm one && git log --format=%s',
  );
  expect([stdout, stderr]).toEqual(['one\n', '']);
});

test.skipIf(!closed)('a `.git` that a bot wrote opens no folder for it', async () => {
  const tree = join(home, 'worktrees', 'bot');
  writeFileSync(join(tree, '.git'), `gitdir: ${base}\n`);
  expect((await run(`touch ${base}/opened.txt`, tree)).exitCode).not.toBe(0);
  expect(existsSync(join(base, 'opened.txt'))).toBe(false);
});

test.skipIf(!closed)('git commits in a worktree, whose objects lie in the workspace’s repository', async () => {
  const tree = join(home, 'worktrees', 'other');
  const git = (...args: string[]) => execFileSync('git', ['-C', join(base, 'repository'), ...args]);
  git('-c', 'user.name=a', '-c', 'user.email=a@b.example', 'commit', '-q', '--allow-empty', '-m', 'first');
  git('worktree', 'add', '-q', tree);
  const commit =
    'git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m in-tree && git log -1 --format=%s';
  expect((await run(commit, tree)).stdout).toBe('in-tree\n');
});

test.skipIf(!closed)('Gantry’s folder stays hidden where it lies in the folder of a command', async () => {
  const { stdout } = await run(`ls -A ${home}; cat ${home}/owner-token; touch ${base}/mine.txt; ls ${base}`, base);
  expect(stdout).toBe('beside.txt\ngantry\nmine.txt\nrepository\n');
});

test.skipIf(!closed)('a variable cannot add to the words that make the sandbox', async () => {
  const torn = { A: `x\0--bind\0${base}\0/mnt` };
  await expect(run('true', workspace, torn)).rejects.toMatchObject({ code: 'usage' });
});

test('where there is none, or it is turned off, that is said, and commands run all the same', async () => {
  const off = createShellSandbox({ ...rest, hidden: [], wanted: false });
  expect(await off.about()).toContain('turned off (GANTRY_TOOL_SANDBOX): commands run as you');
  const none = createShellSandbox({ ...rest, env: { PATH: '/nowhere' }, hidden: [], wanted: true });
  expect(await none.about()).toContain('is not installed: commands run as you');
  const place = await none.place({ command: ['/bin/true'], cwd: '/', root: '/', checkout: '/', env: { A: 'b' } });
  expect(place).toMatchObject({ command: ['/bin/true'], cwd: '/', env: { PATH: '/nowhere', A: 'b' }, confined: false });
});
