/**
 * Reads a worktree: branch, commits, changes, and how it relates to its checkout. Reads only; uncommitted work is written as loose objects of git,
 * through a separate index, and never as a commit.
 */
import { closeSync, createReadStream, createWriteStream, fstatSync } from 'node:fs';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../../contracts/common/errors.ts';
import type { WorktreeDiff } from '../../../contracts/factory/worktree-routes.ts';
import { openWithin } from '../../../kit/files/within.ts';
import type { Git } from '../../../kit/process/git.ts';

/** One worktree and the checkout that it belongs to. */
export interface Look {
  readonly root: string;
  /** Root of the checkout that it would be merged into. */
  readonly main: string;
  /** Null while the bot is in the middle of a rebase or the like. */
  readonly branch: string | null;
  readonly head: string;
  /** Branch of the checkout; null where none is checked out. */
  readonly into: string | null;
  readonly mainHead: string;
  readonly base: string;
  readonly ahead: number;
  readonly behind: number;
  /** Files that are changed or new and in no commit. */
  readonly uncommitted: readonly string[];
}

/** `refused` when the repository or its checkout is gone: a worktree cannot be read without them. */
export async function lookAt(git: Git, root: string, checkout: string): Promise<Look> {
  const head = await git.try(root, ['rev-parse', '--verify', '--quiet', 'HEAD']).catch(() => null);
  const mainHead = await git.try(checkout, ['rev-parse', '--verify', '--quiet', 'HEAD']).catch(() => null);
  if (head?.exitCode !== 0 || mainHead?.exitCode !== 0) {
    const gone = head?.exitCode === 0 ? checkout : root;
    throw new AppError(
      'refused',
      `The repository of the worktree ${root} cannot be read: git finds no commit in ${gone}.`,
      'Put the repository back where it was; the files of the worktree are still there.',
      { status: 409 },
    );
  }
  const main = await git.run(checkout, ['rev-parse', '--show-toplevel']);
  const [ours, theirs] = [head.stdout.trim(), mainHead.stdout.trim()];
  const base = await git.try(root, ['merge-base', theirs, ours]);
  if (base.exitCode !== 0) {
    throw new AppError(
      'refused',
      `The branch in ${root} and the checkout ${main} have no commit in common.`,
      'Check out the branch that the worktree was created from.',
      { status: 409 },
    );
  }
  const counts = await git.run(root, ['rev-list', '--left-right', '--count', `${theirs}...${ours}`]);
  const [behind, ahead] = counts.split(/\s+/).map(Number);
  // Changes inside a nested repository are no commits of ours, and git would read it with that repository's own settings.
  const plain = ['--untracked-files=all', '--no-renames', '--ignore-submodules=dirty'];
  const status = await git.run(root, ['status', '--porcelain', '-z', ...plain]);
  const uncommitted = status.split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
  return {
    root,
    main,
    branch: await branchIn(git, root),
    head: ours,
    into: await branchIn(git, main),
    mainHead: theirs,
    base: base.stdout.trim(),
    ahead: ahead ?? 0,
    behind: behind ?? 0,
    uncommitted,
  };
}

async function branchIn(git: Git, folder: string): Promise<string | null> {
  const found = await git.try(folder, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  return found.exitCode === 0 ? found.stdout.trim() : null;
}

/** The tree of everything in the worktree, committed or not; what git ignores is left out. */
export async function treeOf(git: Git, look: Look): Promise<string> {
  if (look.uncommitted.length === 0) return git.run(look.root, ['rev-parse', `${look.head}^{tree}`]);
  return currentTree(git, look.root);
}

/** The tree of a working tree as it is; with `trackedOnly`, without files that git does not track. */
export async function currentTree(git: Git, root: string, trackedOnly = false): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-index-'));
  try {
    const index = join(folder, 'index');
    const own = resolve(root, await git.run(root, ['rev-parse', '--git-path', 'index']));
    await copyIndex(own, index);
    const options = { env: { GIT_INDEX_FILE: index } };
    await git.addAll(root, { ...options, trackedOnly });
    return await git.run(root, ['write-tree'], options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Its index records unchanged files: a fresh one would read them all. git rereads files as young as the index itself, so the copy must not look
 * younger than its source. A command can put anything in the index's place at any moment: only a plain file is read, and nothing waits.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const handle = openWithin(dirname(from), from);
  if (typeof handle !== 'number') return;
  try {
    const { mtimeMs } = fstatSync(handle);
    await pipeline(createReadStream('', { fd: handle, autoClose: false }), createWriteStream(to));
    const at = Math.floor(mtimeMs) / 1000;
    await utimes(to, at, at);
  } finally {
    closeSync(handle);
  }
}

type Changed = Pick<WorktreeDiff, 'files' | 'patch' | 'cut'>;

/** Changes from `base` to `tree`; the patch is cut at the end of a line beyond `max` characters. */
export async function changesOf(git: Git, root: string, base: string, tree: string, max: number): Promise<Changed> {
  const plain = ['--find-renames', '--no-color', '--no-ext-diff', '--no-textconv'];
  const [names, counts, patch] = await Promise.all([
    git.run(root, ['diff', '--name-status', '-z', ...plain, base, tree]),
    git.run(root, ['diff', '--numstat', '-z', ...plain, base, tree]),
    git.try(root, ['diff', ...plain, base, tree], { outputCap: max * 4 }),
  ]);
  const whole = patch.stdout;
  const cut = patch.truncated || whole.length > max;
  const text = cut ? whole.slice(0, whole.lastIndexOf('\n', max) + 1) : whole;
  return { files: filesOf(names, counts), patch: text, cut };
}

/** Files and lines that differ; binary files count as files. */
export async function countsOf(git: Git, root: string, base: string, tree: string) {
  const plain = ['--numstat', '-z', '--no-renames', '--no-color', '--no-ext-diff', '--no-textconv'];
  const lines = [...linesOf(await git.run(root, ['diff', ...plain, base, tree])).values()];
  const sum = (which: 'added' | 'removed') => lines.reduce((all, one) => all + (one[which] ?? 0), 0);
  return { files: lines.length, added: sum('added'), removed: sum('removed') };
}

const changes = { A: 'added', D: 'removed', R: 'renamed', C: 'added' } as const;

function filesOf(names: string, counts: string): WorktreeDiff['files'] {
  const lines = linesOf(counts);
  const parts = names.split('\0');
  const files: WorktreeDiff['files'] = [];
  for (let at = 0; at + 1 < parts.length; ) {
    const letter = (parts[at] ?? '').charAt(0);
    const moved = letter === 'R' || letter === 'C';
    const from = moved ? (parts[at + 1] ?? null) : null;
    const path = parts[at + (moved ? 2 : 1)] ?? '';
    at += moved ? 3 : 2;
    const count = lines.get(path) ?? { added: null, removed: null };
    const change = letter in changes ? changes[letter as keyof typeof changes] : 'changed';
    files.push({ path, from, change, ...count });
  }
  return files;
}

/** `added TAB removed TAB path NUL`, of a rename `added TAB removed TAB NUL from NUL path NUL`; "-" for binary files. */
function linesOf(counts: string): Map<string, { added: number | null; removed: number | null }> {
  const found = new Map<string, { added: number | null; removed: number | null }>();
  const parts = counts.split('\0');
  for (let at = 0; at < parts.length; at += 1) {
    const [added, removed, path] = (parts[at] ?? '').split('\t');
    if (added === undefined || removed === undefined || path === undefined) continue;
    const count = { added: added === '-' ? null : Number(added), removed: removed === '-' ? null : Number(removed) };
    if (path !== '') found.set(path, count);
    else {
      found.set(parts[at + 2] ?? '', count);
      at += 2;
    }
  }
  return found;
}
