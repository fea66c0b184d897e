/** Worktrees of bots against a real git: what a bot did is seen, merged, kept or set aside, and never lost. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../../src/kit/ledger/migrations.ts';
import { createGit } from '../../../../src/kit/process/git.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { createWorktrees, type WorktreeBot } from '../../../../src/runtime-server/agents/worktrees/index.ts';

const by = { actor: 'user_local', surface: 'cli' };

async function setUp(options: { readonly sub?: string } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'gantry-worktrees-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const workspace = join(root, 'work');
  const home = join(root, 'home');
  mkdirSync(workspace);
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-C', cwd, ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
      env: { PATH: process.env.PATH ?? '', HOME: root },
    }).trim();
  const write = (folder: string, file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  git(workspace, 'init', '-q', '-b', 'main');
  git(workspace, 'config', 'user.name', 'Person');
  git(workspace, 'config', 'user.email', 'person@example.org');
  write(workspace, 'a.txt', 'one\ntwo\nthree\n');
  write(workspace, 'sub/b.txt', 'b\n');
  git(workspace, 'add', '.');
  git(workspace, 'commit', '-qm', 'first');
  const clock = systemClock;
  const store = await openStore({ file: join(root, 'runtime.db'), migrations: ledgerMigrations, clock });
  onTestFinished(() => store.close());
  const ledger = await createLedger({ store, clock, ids: createIds(clock) });
  const cwd = join(workspace, options.sub ?? '');
  const state = { busy: false, cwd: cwd as string | null };
  const findBot = (id: string): WorktreeBot | null =>
    id === 'web@dev' ? { id: 'agent_1', address: 'web@dev', team: 'dev', slug: 'web', ...state } : null;
  const worktrees = createWorktrees({ store, ledger, clock, home, workspace, findBot });
  const folder = await worktrees.check(cwd, 'dev', 'web');
  await worktrees.create(cwd, 'dev', 'web');
  const tree = join(home, 'worktrees', 'dev', 'web');
  return { root, workspace, home, git, write, worktrees, tree, folder, state, ledger };
}

const refusal = async (promise: Promise<unknown>): Promise<AppError> => {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw new Error(`Nothing was refused: ${String(error)}`);
};

test('a diff shows what is committed, changed, new, renamed, removed and binary, and touches neither index nor branch', async () => {
  const { worktrees, tree, git, write } = await setUp();
  write(tree, 'a.txt', 'one\n2\nthree\n');
  git(tree, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qam', 'second');
  git(tree, 'mv', 'sub/b.txt', 'sub/c.txt');
  write(tree, 'new file.txt', 'x\ny\n');
  writeFileSync(join(tree, 'pic.png'), Buffer.from([0, 1, 2, 0]));
  const before = git(tree, 'status', '--porcelain');
  const diff = await worktrees.diff('web@dev');
  expect(diff).toMatchObject({
    agent: 'web@dev',
    path: tree,
    branch: 'gantry/dev/web',
    into: 'main',
    ahead: 1,
    behind: 0,
    uncommitted: 4,
    cut: false,
    files: [
      { path: 'a.txt', from: null, change: 'changed', added: 1, removed: 1 },
      { path: 'new file.txt', from: null, change: 'added', added: 2, removed: 0 },
      { path: 'pic.png', from: null, change: 'added', added: null, removed: null },
      { path: 'sub/c.txt', from: 'sub/b.txt', change: 'renamed', added: 0, removed: 0 },
    ],
  });
  expect(diff.patch).toContain('-two\n+2\n');
  expect(diff.patch).toContain('rename from sub/b.txt');
  expect(git(tree, 'status', '--porcelain')).toBe(before);
  expect(await worktrees.patchOf('web@dev')).toBe(diff.patch);
  expect(await refusal(worktrees.diff('ghost@dev'))).toMatchObject({ code: 'not_found' });
});

test('a merge plans first, commits only under a message, brings the work into the checkout, and leaves a receipt', async () => {
  const { worktrees, tree, workspace, git, write, ledger } = await setUp();
  expect(await refusal(worktrees.end('merge', 'web@dev', {}, by))).toMatchObject({
    code: 'refused',
    status: 409,
    fact: expect.stringContaining('has nothing that main lacks'),
  });
  write(tree, 'a.txt', 'one\n2\nthree\n');
  expect(await refusal(worktrees.end('merge', 'web@dev', {}, by))).toMatchObject({
    status: 409,
    fact: expect.stringContaining('uncommitted work'),
    action: expect.stringContaining('--commit'),
  });
  const plan = await worktrees.end('merge', 'web@dev', { commit: 'Two is 2', dryRun: true }, by);
  expect(plan).toMatchObject({
    dryRun: true,
    plan: { agent: 'web@dev', branch: 'gantry/dev/web', into: 'main', commits: 1, files: 1, keptAs: null },
  });
  expect(git(workspace, 'rev-list', '--count', '--all')).toBe('1');
  expect(git(tree, 'status', '--porcelain')).toBe('M a.txt');

  const merged = await worktrees.end('merge', 'web@dev', { commit: 'Two is 2' }, by);
  expect('done' in merged && merged.done.head).toBe(git(workspace, 'rev-parse', 'main'));
  expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one\n2\nthree\n');
  expect(git(workspace, 'log', '--topo-order', '--format=%an: %s')).toBe(
    'Person: Merge gantry/dev/web of web@dev\nweb@dev: Two is 2\nPerson: first',
  );
  const rows = await ledger.read('0', 10);
  expect(rows.at(-1)).toMatchObject({ type: 'worktree.merged', subject: 'agent:agent_1', actor: 'user_local' });
  expect((await worktrees.diff('web@dev')).files).toEqual([]);
  // The bot goes on from what it was merged into.
  expect(git(tree, 'rev-parse', 'HEAD')).toBe(git(workspace, 'rev-parse', 'main'));
});

test('a worktree that holds nothing of its own is brought to the checkout; one that holds something, or whose bot works, is left', async () => {
  const { worktrees, tree, workspace, git, write, state } = await setUp();
  const commitInMain = (text: string) => {
    write(workspace, 'sub/b.txt', text);
    git(workspace, 'commit', '-qam', text.trim());
    return git(workspace, 'rev-parse', 'HEAD');
  };
  const later = commitInMain('later\n');
  await worktrees.catchUp(workspace, 'dev', 'web');
  expect(git(tree, 'rev-parse', 'HEAD')).toBe(later);
  write(tree, 'a.txt', 'mine\n');
  commitInMain('still later\n');
  await worktrees.catchUp(workspace, 'dev', 'web');
  expect([git(tree, 'rev-parse', 'HEAD'), readFileSync(join(tree, 'a.txt'), 'utf8')]).toEqual([later, 'mine\n']);
  git(tree, 'config', 'user.email', 'a@b');
  git(tree, 'config', 'user.name', 'a');
  git(tree, 'commit', '-qam', 'mine');
  const mine = git(tree, 'rev-parse', 'HEAD');
  await worktrees.catchUp(workspace, 'dev', 'web');
  state.busy = true;
  expect(git(tree, 'rev-parse', 'HEAD')).toBe(mine);
});

test('a conflict, a dirty checkout, a detached one and a bot at work are refused, and nothing changes', async () => {
  const { worktrees, tree, workspace, git, write, state } = await setUp();
  write(tree, 'a.txt', 'one\nbot\nthree\n');
  write(workspace, 'a.txt', 'one\nperson\nthree\n');
  const ask = (dryRun: boolean) => worktrees.end('merge', 'web@dev', { commit: 'x', dryRun }, by);
  for (const dryRun of [true, false]) {
    expect(await refusal(ask(dryRun))).toMatchObject({
      fact: expect.stringMatching(/uncommitted changes of its own: a\.txt/),
    });
  }
  git(workspace, 'commit', '-qam', 'person');
  for (const dryRun of [true, false]) {
    expect(await refusal(ask(dryRun))).toMatchObject({
      status: 409,
      fact: expect.stringContaining('conflicts in a.txt'),
      options: { extra: { conflicts: { into: 'main', files: ['a.txt'] } } },
    });
  }
  state.busy = true;
  expect(await refusal(ask(false))).toMatchObject({ fact: expect.stringContaining('is working') });
  for (const how of ['keep', 'discard'] as const) {
    expect(await refusal(worktrees.end(how, 'web@dev', { commit: 'x' }, by))).toMatchObject({ status: 409 });
  }
  state.busy = false;
  git(workspace, 'checkout', '-q', '--detach');
  expect(await refusal(ask(false))).toMatchObject({ fact: expect.stringContaining('No branch is checked out') });
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('one\nbot\nthree\n');
  expect(git(workspace, 'status', '--porcelain')).toBe('');
  expect(git(tree, 'rev-list', '--count', 'HEAD')).toBe('1');
});

test('an untracked file of the person that a merge would overwrite stays, and the checkout is as it was', async () => {
  const { worktrees, tree, workspace, git, write } = await setUp();
  write(tree, 'notes.md', 'of the bot');
  write(workspace, 'notes.md', 'of the person');
  const refused = await refusal(worktrees.end('merge', 'web@dev', { commit: 'x' }, by));
  expect(refused).toMatchObject({ status: 409, action: expect.stringContaining('was not changed') });
  expect(readFileSync(join(workspace, 'notes.md'), 'utf8')).toBe('of the person');
  expect(git(workspace, 'rev-list', '--count', 'main')).toBe('1');
  // What was committed for the merge is on the bot's branch, and merges once the way is free.
  rmSync(join(workspace, 'notes.md'));
  await worktrees.end('merge', 'web@dev', {}, by);
  expect(readFileSync(join(workspace, 'notes.md'), 'utf8')).toBe('of the bot');
});

test('kept work has its branch, and the bot goes on from the checkout on a fresh one', async () => {
  const { worktrees, tree, git, write } = await setUp();
  write(tree, 'a.txt', 'kept\n');
  const name = { as: 'feature/kept', commit: 'Keep it' };
  expect(await refusal(worktrees.end('keep', 'web@dev', { ...name, as: 'bad..name' }, by))).toMatchObject({
    code: 'usage',
  });
  expect(await refusal(worktrees.end('keep', 'web@dev', { ...name, as: 'main' }, by))).toMatchObject({ status: 409 });
  const plan = await worktrees.end('keep', 'web@dev', { ...name, dryRun: true }, by);
  expect(plan).toMatchObject({ plan: { keptAs: 'feature/kept', branch: 'gantry/dev/web', commits: 1 } });
  const kept = await worktrees.end('keep', 'web@dev', name, by);
  expect('done' in kept && kept.done.head).toBe(git(tree, 'rev-parse', 'feature/kept'));
  expect(git(tree, 'show', 'feature/kept:a.txt')).toBe('kept');
  expect(git(tree, 'branch', '--show-current')).toMatch(/^gantry\/dev\/web/);
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
});

test('what is discarded is set aside whole, also what was never committed; the bot starts afresh', async () => {
  const { worktrees, tree, git, write, workspace } = await setUp();
  write(tree, 'a.txt', 'wrong\n');
  git(tree, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qam', 'wrong way');
  write(tree, 'never-committed.txt', 'still here\n');
  const answer = await worktrees.end('discard', 'web@dev', {}, by);
  if (!('done' in answer) || answer.done.keptAs === null) throw new Error('It was not done.');
  expect(answer.done.keptAs).toMatch(/^refs\/gantry\/discarded\/gantry\/dev\/web\/\d{8}T\d{6}Z$/);
  expect(git(workspace, 'show', `${answer.done.keptAs}:never-committed.txt`)).toBe('still here');
  expect(git(workspace, 'show', `${answer.done.keptAs}:a.txt`)).toBe('wrong');
  expect(git(tree, 'status', '--porcelain')).toBe('');
  expect(existsSync(join(tree, 'never-committed.txt'))).toBe(false);
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
  expect((await worktrees.diff('web@dev')).files).toEqual([]);
});

test('what was discarded comes back byte for byte: commits, changed and new files; not over newer work', async () => {
  const { worktrees, tree, git, write } = await setUp();
  const restore = (more: object = {}) => worktrees.restore('web@dev', more, by);
  expect(await refusal(restore())).toMatchObject({ code: 'not_found' });
  write(tree, 'a.txt', 'committed\n');
  git(tree, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qam', 'one way');
  const bytes = Buffer.from([0, 255, 13, 10, 13, 0, 128, 10]);
  writeFileSync(join(tree, 'picture.bin'), bytes);
  write(tree, 'a.txt', 'changed\r\nand more');
  const before = { head: git(tree, 'rev-parse', 'HEAD'), status: git(tree, 'status', '--porcelain') };
  const answer = await worktrees.end('discard', 'web@dev', {}, by);
  if (!('done' in answer) || answer.done.keptAs === null) throw new Error('It was not done.');
  const fresh = git(tree, 'branch', '--show-current');

  // The bot has begun something else: that is not touched.
  write(tree, 'b.txt', 'newer\n');
  expect(await refusal(restore())).toMatchObject({ status: 409, fact: expect.stringContaining('changes in b.txt') });
  rmSync(join(tree, 'b.txt'));

  expect(await restore({ dryRun: true })).toMatchObject({ plan: { branch: 'gantry/dev/web', commits: 2, files: 2 } });
  expect(git(tree, 'branch', '--show-current')).toBe(fresh);
  expect(await refusal(restore({ keptAs: `${answer.done.keptAs}1` }))).toMatchObject({ code: 'not_found' });

  expect(await restore({ keptAs: answer.done.keptAs })).toMatchObject({ done: { branch: 'gantry/dev/web' } });
  expect(readFileSync(join(tree, 'picture.bin'))).toEqual(bytes);
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('changed\r\nand more');
  expect({ head: git(tree, 'rev-parse', 'HEAD'), status: git(tree, 'status', '--porcelain') }).toEqual(before);
  expect(git(tree, 'branch', '--show-current')).toBe('gantry/dev/web');
  expect(git(tree, 'branch', '--list', fresh)).toBe('');
});

test('each node gets a branch named after bot and node; work that is not merged goes along, a clean bot starts from the checkout', async () => {
  const { worktrees, tree, workspace, git, write } = await setUp();
  const branch = () => git(tree, 'branch', '--show-current');
  await worktrees.takeUp('web@dev', { stepId: 'fix', nodeId: 'node_01ABCDEF' });
  expect(branch()).toBe('gantry/dev/web--fix-abcdef');
  expect(git(workspace, 'branch', '--list', 'gantry/dev/web')).toBe('');
  write(tree, 'a.txt', 'half done\n');
  // The same node again, as after a crash, changes nothing.
  await worktrees.takeUp('web@dev', { stepId: 'fix', nodeId: 'node_01ABCDEF' });
  await worktrees.takeUp('web@dev', { stepId: 'more', nodeId: 'node_01UVWXYZ' });
  expect(branch()).toBe('gantry/dev/web--more-uvwxyz');
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('half done\n');
  // Back at the first while there is uncommitted work: nothing is moved under it.
  await worktrees.takeUp('web@dev', { stepId: 'fix', nodeId: 'node_01ABCDEF' });
  expect(branch()).toBe('gantry/dev/web--more-uvwxyz');
  await worktrees.end('merge', 'web@dev', { commit: 'done' }, by);
  write(workspace, 'later.txt', 'of the person\n');
  git(workspace, 'add', '.');
  git(workspace, 'commit', '-qm', 'later');
  await worktrees.takeUp('web@dev', { stepId: 'next', nodeId: 'node_01GHIJKL' });
  expect(branch()).toBe('gantry/dev/web--next-ghijkl');
  expect(readFileSync(join(tree, 'later.txt'), 'utf8')).toBe('of the person\n');
  expect(git(workspace, 'branch', '--list', 'gantry/dev/web--more-uvwxyz')).toBe('');
});

test('a repository that is gone, or replaced by another, leaves the worktree alone and is said', async () => {
  const { worktrees, tree, workspace, git, write, root } = await setUp();
  write(tree, 'a.txt', 'mine\n');
  git(tree, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qam', 'mine');
  renameSync(join(workspace, '.git'), join(root, 'moved'));
  for (const asked of [worktrees.diff('web@dev'), worktrees.end('discard', 'web@dev', {}, by)]) {
    expect(await refusal(asked)).toMatchObject({ status: 409, fact: expect.stringContaining(tree) });
  }
  expect(await refusal(worktrees.check(workspace, 'dev', 'web'))).toMatchObject({ code: 'usage' });
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('mine\n');
  // Another repository in its place: the worktree belongs to the other one and stays untouched.
  git(workspace, 'init', '-q', '-b', 'main');
  git(workspace, 'add', 'sub');
  git(workspace, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qm', 'other');
  await worktrees.create(workspace, 'dev', 'web');
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('mine\n');
});

test('a folder that somebody removed is made again from its branch, with everything that was committed', async () => {
  const { worktrees, tree, workspace, git, write } = await setUp();
  write(tree, 'a.txt', 'mine\n');
  git(tree, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qam', 'mine');
  rmSync(tree, { recursive: true });
  expect(await refusal(worktrees.diff('web@dev'))).toMatchObject({ code: 'not_found' });
  await worktrees.create(workspace, 'dev', 'web');
  expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('mine\n');
});

test('a bot that works in a folder of the repository works in the same folder of its worktree', async () => {
  const { folder, tree, worktrees, workspace, write } = await setUp({ sub: 'sub' });
  expect(folder).toBe(join(tree, 'sub'));
  expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('b\n');
  // Commands of nodes run where the workspace lies in the worktree.
  expect(worktrees.folderOf('web@dev')).toBe(tree);
  write(workspace, 'fresh/x', '');
  expect(await refusal(worktrees.check(join(workspace, 'fresh'), 'dev', 'web'))).toMatchObject({
    code: 'usage',
    fact: expect.stringContaining('has no committed files'),
  });
});

test('a repository inside the bot’s is no change of its own, and a bare one no repository: neither runs what it names', async () => {
  const { worktrees, tree, git, write, root } = await setUp();
  const ran = join(root, 'ran');
  const inner = join(tree, 'inner');
  const name = ['-c', 'user.name=b', '-c', 'user.email=b@b'];
  git(tree, 'init', '-q', 'inner');
  write(inner, '.gitattributes', '* filter=mine\n');
  write(inner, 'x', '1\n');
  git(inner, 'add', '.');
  git(inner, ...name, 'commit', '-qm', 'inner');
  git(tree, 'add', 'inner');
  git(tree, ...name, 'commit', '-qm', 'with another repository');
  git(inner, 'config', 'filter.mine.clean', `touch ${ran}; cat`);
  write(inner, 'x', '2\n');
  expect(await worktrees.diff('web@dev')).toMatchObject({ uncommitted: 0, ahead: 1 });
  expect(await worktrees.end('merge', 'web@dev', {}, by)).toMatchObject({ done: { commits: 1 } });
  expect(existsSync(ran)).toBe(false);

  const bare = join(root, 'bare');
  git(root, 'init', '-q', '--bare', 'bare');
  await expect(createGit().run(bare, ['rev-parse', '--git-dir'])).rejects.toMatchObject({ code: 'refused' });
});
