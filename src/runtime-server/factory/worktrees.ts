/** Git worktrees for bots that work on a branch of their own. Runs git; must not know teams' files or panes. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { runProcess } from '../../kit/process/run-process.ts';

export interface Worktrees {
  /** Folder that the bot's worktree has or will have. `usage` when `cwd` is in no git repository with a commit. */
  check(cwd: string, team: string, slug: string): Promise<string>;
  /** Makes the worktree on branch `gantry/<team>/<slug>` unless it is there. */
  create(cwd: string, team: string, slug: string): Promise<void>;
}

const gitDeadlineMs = 30_000;

export function createWorktrees(deps: { readonly home: string }): Worktrees {
  const git = (cwd: string, ...args: string[]) =>
    runProcess({ command: ['git', '-C', cwd, ...args], deadlineMs: gitDeadlineMs });
  const folderOf = (team: string, slug: string) => join(deps.home, 'worktrees', team, slug);

  return {
    async check(cwd, team, slug) {
      const head = await git(cwd, 'rev-parse', '--verify', '--quiet', 'HEAD').catch(() => null);
      if (head === null || head.exitCode !== 0) {
        throw new AppError(
          'usage',
          `${cwd} is no git repository with a commit, and ${slug}@${team} asks for a worktree.`,
          'Commit something there, or take out worktree: true.',
        );
      }
      return folderOf(team, slug);
    },
    async create(cwd, team, slug) {
      const folder = folderOf(team, slug);
      if (existsSync(join(folder, '.git'))) return;
      await mkdir(dirname(folder), { recursive: true });
      const branch = `gantry/${team}/${slug}`;
      const known = await git(cwd, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`);
      const how = known.exitCode === 0 ? [folder, branch] : ['-b', branch, folder];
      const added = await git(cwd, 'worktree', 'add', ...how);
      if (added.exitCode === 0) return;
      throw new AppError(
        'usage',
        `git could not make the worktree ${folder}: ${added.stderr.trim().split('\n').at(-1) ?? 'no reason given'}`,
        'Look at `git worktree list` there.',
      );
    },
  };
}
