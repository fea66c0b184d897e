/** The repository of a new run, and those that can be chosen. Reads; changes nothing. */
import { realpathSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { isWithin } from '../../kit/files/within.ts';
import type { Git } from '../../kit/process/git.ts';

export interface Repository {
  /** Real path of the top of the checkout. */
  readonly top: string;
  readonly branch: string | null;
  readonly commit: string;
}

/** `usage` for every folder that no bot can get a worktree of. */
export async function repositoryAt(git: Git, path: string, home: string): Promise<Repository> {
  if (!isAbsolute(path)) throw unfit(`${path} is not an absolute path.`, 'Give the whole path of the repository.');
  let real: string;
  try {
    real = realpathSync(path);
    if (!statSync(real).isDirectory()) throw unfit(`${path} is not a folder.`, 'Name the folder of the repository.');
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw unfit(`${path} does not exist or cannot be read.`, 'Choose another repository.');
  }
  if (isWithin(realOf(home), real)) {
    throw unfit(`${path} is in Gantry’s data folder, where bots get no worktrees.`, 'Choose a repository of your own.');
  }
  const found = await git.try(real, ['rev-parse', '--show-toplevel']);
  if (found.exitCode !== 0) {
    if (/bare|work tree/.test(found.stderr)) {
      throw unfit(`${path} is a bare repository, without files to work on.`, 'Clone it, and choose the clone.');
    }
    if (/dubious ownership/.test(found.stderr)) {
      const action = `If you trust it: git config --global --add safe.directory ${real}`;
      throw unfit(`${path} belongs to somebody else, and git refuses to read it.`, action);
    }
    throw unfit(`${path} is not a git repository.`, 'Choose a repository, or run `git init` and commit there.');
  }
  const top = realOf(found.stdout.replace(/\n$/, ''));
  const head = await git.try(top, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  if (head.exitCode !== 0) throw unfit(`${top} has no commit yet.`, 'Commit something there first.');
  return { top, branch: await branchAt(git, top), commit: head.stdout.trim() };
}

export async function branchAt(git: Git, top: string): Promise<string | null> {
  const found = await git.try(top, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  return found.exitCode === 0 ? found.stdout.trim() : null;
}

export function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function unfit(fact: string, action: string): AppError {
  return new AppError('usage', fact, action);
}
