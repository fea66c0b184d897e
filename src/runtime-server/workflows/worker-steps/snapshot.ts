/**
 * The files of a step for a worker: a commit of the folder as it is, without history, as a git bundle. Later commits of the folder leave it alone. Must
 * not know the queue.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { realpath, rm, stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { maxFileBytes } from '../../../contracts/work-queue/files.ts';
import type { Git } from '../../../kit/process/git.ts';
import { currentTree } from '../../agents/worktrees/look.ts';

interface Snapshot {
  /** Root of the working tree. */
  readonly top: string;
  /** The folder below it, with "/"; empty: the root. */
  readonly inside: string;
  readonly commit: string;
  readonly size: number;
  readonly sha256: string;
}

interface SnapshotOptions {
  readonly key: string;
  readonly folder: string;
  /** Where the bundle goes. */
  readonly file: string;
  /** Leaves out files that git does not track: in a person's checkout they may be secrets. */
  readonly trackedOnly: boolean;
  /** Bytes; default: what the queue takes. */
  readonly limit?: number;
}

/** Keeps the commit until the step has ended: git removes what nothing names. */
const refOf = (key: string) => `refs/gantry/steps/${key}`;

/** Author and time are fixed: the commit names nobody, and the same files make the same commit. */
const nobody = { name: 'Gantry', email: 'gantry@localhost', date: '2000-01-01T00:00:00Z' };
const identity = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap((who) =>
    Object.entries(nobody).map(([what, value]) => [`GIT_${who}_${what.toUpperCase()}`, value]),
  ),
);

/** Writes the bundle to `file`. `refused` if the folder is in no repository with a commit, or is too large. */
export async function takeSnapshot(
  git: Git,
  { key, folder, file, trackedOnly, limit = maxFileBytes }: SnapshotOptions,
): Promise<Snapshot> {
  const found = await git.try(folder, ['rev-parse', '--show-toplevel']);
  const head = await git.try(folder, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  if (found.exitCode !== 0 || head.exitCode !== 0) {
    throw refused(
      `${folder} is not in a git repository with a commit.`,
      'A step for the queue needs one: commit some files there.',
    );
  }
  const top = found.stdout.replace(/\n$/, '');
  const inside = relative(await realpath(top), await realpath(folder))
    .split(sep)
    .join('/');
  const tree = await currentTree(git, top, trackedOnly);
  const commit = await git.run(top, ['commit-tree', '-m', 'The files of a step', tree], { env: identity });
  await git.run(top, ['update-ref', refOf(key), commit]);
  await rm(file, { force: true });
  await git.run(top, ['bundle', 'create', '--quiet', file, refOf(key)]);
  const { size } = await stat(file);
  if (size > limit) {
    await rm(file, { force: true });
    await dropSnapshot(git, top, key);
    throw refused(
      `The files of ${top} have ${size} bytes packed; a task of the queue may have ${limit}.`,
      'Have git ignore what the step does not need, or run it here: executor: shell.',
    );
  }
  return { top, inside, commit, size, sha256: hash('sha256', readFileSync(file), 'hex') };
}

export async function dropSnapshot(git: Git, top: string, key: string): Promise<void> {
  await git.try(top, ['update-ref', '-d', refOf(key)]).catch(() => {});
}

function refused(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 409 });
}
