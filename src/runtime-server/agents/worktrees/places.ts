/**
 * The folders of bots' worktrees: created once, found again. Never deletes a folder; a second repository with bots of the same name gets its own
 * folders.
 */
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { readTextWithin } from '../../../kit/files/within.ts';
import { complaint, type Git } from '../../../kit/process/git.ts';

export interface Place {
  /** Root of the bot's worktree. */
  readonly root: string;
  /** Root of the checkout that it was made from. */
  readonly top: string;
  /** The bot's folder below either of them; empty for the root itself. */
  readonly inside: string;
}

interface Places {
  /** Folder that the bot will work in. `usage` when `cwd` is in no git repository with a commit. */
  check(cwd: string, team: string, slug: string): Promise<string>;
  /** Makes the worktree on branch `gantry/<team>/<slug>` unless it is there. */
  create(cwd: string, team: string, slug: string): Promise<void>;
  /** Null while it does not exist. */
  find(cwd: string, team: string, slug: string): Place | null;
  /** A worktree of this name, whatever repository it belongs to. */
  leftOf(team: string, slug: string): string | null;
}

/** The branch of a bot without a node, and the prefix of its nodes' branches. */
export function branchOf(team: string, slug: string): string {
  return `gantry/${team}/${slug}`;
}

/** Named after bot and node: the step for people, the end of the node's id so that runs of one template do not meet. */
export function nodeBranch(team: string, slug: string, node: { stepId: string; nodeId: string }): string {
  return `${branchOf(team, slug)}--${node.stepId}-${node.nodeId.slice(-6).toLowerCase()}`;
}

export function createPlaces(deps: { readonly home: string; readonly git: Git }): Places {
  const { git } = deps;

  const folderOf = (team: string, slug: string) => join(deps.home, 'worktrees', team, slug);

  function placeFor(cwd: string, team: string, slug: string): Place | null {
    const repository = repositoryOf(cwd);
    if (repository === null) return null;
    const plain = folderOf(team, slug);
    const owner = existsSync(plain) ? (repositoryAt(plain)?.common ?? null) : repository.common;
    const mark = createHash('sha256').update(repository.common).digest('hex').slice(0, 8);
    return {
      root: owner === repository.common ? plain : `${plain}.${mark}`,
      top: repository.top,
      inside: relative(repository.top, realOf(cwd)),
    };
  }

  return {
    async check(cwd, team, slug) {
      const place = placeFor(cwd, team, slug);
      const head =
        place === null
          ? null
          : await git.try(place.top, ['rev-parse', '--verify', '--quiet', 'HEAD']).catch(() => null);
      if (place === null || head?.exitCode !== 0) throw noRepository(cwd, team, slug);
      const committed =
        place.inside === '' ||
        (await git.try(place.top, ['cat-file', '-e', `HEAD:${place.inside.split(sep).join('/')}`])).exitCode === 0;
      if (!committed) {
        throw new AppError(
          'usage',
          `${cwd} has no committed files, but ${slug}@${team} asks for a worktree.`,
          'Commit some files, or remove worktree: true.',
        );
      }
      return join(place.root, place.inside);
    },

    async create(cwd, team, slug) {
      const place = placeFor(cwd, team, slug);
      if (place === null) throw noRepository(cwd, team, slug);
      const { root, top } = place;
      if (!existsSync(join(root, '.git'))) {
        await mkdir(dirname(root), { recursive: true });
        // A worktree whose folder somebody removed is still in git's list; its commits are on its branch.
        if (!existsSync(root)) await git.try(top, ['worktree', 'remove', root]);
        const branch = branchOf(team, slug);
        const known = await git.try(top, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
        const how = known.exitCode === 0 ? [root, branch] : ['-b', branch, root];
        const added = await git.try(top, ['worktree', 'add', ...how]);
        if (added.exitCode !== 0) {
          throw new AppError(
            'usage',
            `git could not make the worktree ${root}: ${complaint(added)}`,
            'Run `git worktree list` there.',
          );
        }
      }
      // A branch of long ago may not have the folder.
      await mkdir(join(root, place.inside), { recursive: true });
    },

    find(cwd, team, slug) {
      const place = placeFor(cwd, team, slug);
      return place !== null && existsSync(join(place.root, '.git')) ? place : null;
    },

    leftOf: (team, slug) => (existsSync(join(folderOf(team, slug), '.git')) ? folderOf(team, slug) : null),
  };
}

function noRepository(cwd: string, team: string, slug: string): AppError {
  return new AppError(
    'usage',
    `${cwd} is not a git repository with a commit, but ${slug}@${team} asks for a worktree.`,
    'Commit something there, or remove worktree: true.',
  );
}

interface Repository {
  readonly top: string;
  /** The git folder that all its worktrees share. */
  readonly common: string;
}

function repositoryOf(folder: string): Repository | null {
  for (let at = realOf(folder); ; at = dirname(at)) {
    const found = repositoryAt(at);
    if (found !== null || dirname(at) === at) return found;
  }
}

/** The repository whose checkout or worktree begins at this folder. */
function repositoryAt(top: string): Repository | null {
  const mark = join(top, '.git');
  try {
    if (statSync(mark).isDirectory()) return { top, common: realOf(mark) };
    const gitdir = /^gitdir: (.+)$/m.exec(gitFileOf(top))?.[1];
    if (gitdir === undefined) return null;
    const path = resolve(top, gitdir);
    // `<repository>/.git/worktrees/<name>`; anything else is a separate repository, such as a submodule.
    return { top, common: realOf(basename(dirname(path)) === 'worktrees' ? dirname(dirname(path)) : path) };
  } catch {
    return null;
  }
}

/** The content of a worktree's `.git` file; empty where it is no such file. */
function gitFileOf(top: string): string {
  const read = readTextWithin(top, '.git', 64 * 1024);
  return typeof read === 'string' ? read : '';
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
