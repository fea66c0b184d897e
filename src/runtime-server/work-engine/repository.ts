/** Finds a folder's repository and its current state. Must not write. */
import type { Git } from '../../kit/process/git.ts';

interface RepositoryState {
  readonly head: string;
  readonly branch: string | null;
  /** Files that differ from the head, untracked ones too. */
  readonly changed: number;
}

export async function repositoryState(git: Pick<Git, 'try'>, folder: string): Promise<RepositoryState | null> {
  const ran = await git
    .try(folder, ['status', '--porcelain=v2', '--branch', '--ignore-submodules=dirty'])
    .catch(() => null);
  if (ran === null || ran.exitCode !== 0) return null;
  const lines = ran.stdout.split('\n').filter((line) => line !== '');
  const fact = (name: string) => lines.find((line) => line.startsWith(`# branch.${name} `))?.slice(10 + name.length);
  const head = fact('oid');
  // A repository without a commit has no head yet.
  if (head === undefined || head === '(initial)') return null;
  const branch = fact('head');
  return {
    head,
    branch: branch === undefined || branch === '(detached)' ? null : branch,
    changed: lines.filter((line) => !line.startsWith('#')).length,
  };
}
