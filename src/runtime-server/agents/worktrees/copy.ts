/**
 * Copies git-ignored files from the checkout into a bot's worktree: installed packages, build caches, a `.env`. Where the file system can, both
 * share their blocks until one of them changes. Must not know bots or who allowed it.
 */
import { constants, type Stats } from 'node:fs';
import { cp, lstat, mkdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { Git } from '../../../kit/process/git.ts';
import { saysWhatRuns } from '../../policy/what-runs.ts';

interface CopyRequest {
  /** Folder of the checkout that the paths are relative to, and the bot's own. */
  readonly from: string;
  readonly to: string;
  readonly path: string;
  /** A name that nothing has yet. */
  readonly freshName: string;
  /** Asked before copying a file that holds secrets or decides what may run. False: it is left out. */
  readonly mayCopy: (path: string) => Promise<boolean>;
}

/** Whether a person is asked about a copy, by a name in its path: it holds secrets, or decides what may run. */
function isAskedAbout(path: string): boolean {
  return path.split('/').some(isTelling);
}

function isTelling(name: string): boolean {
  return (/^\.env(?:\.|$)/.test(name) && !/\.(?:example|sample|template)$/.test(name)) || saysWhatRuns(name);
}

/** Packages contain files of such names, which nothing reads there. */
const packages = 'node_modules';
const maxNamed = 10;

/** The result, as a line of an output. Fails where it could not be copied whole. */
export async function copyIgnored(git: Git, request: CopyRequest): Promise<string> {
  const { from, to, path } = request;
  const [source, target] = [join(from, path), join(to, path)];
  if (await statsOf(target)) return `${path} already exists.`;
  const stats = await statsOf(source);
  if (stats === null) return `${path} was not copied: ${from} does not have it.`;
  const real = await realpath(source);
  const top = await realpath(from);
  if (real !== join(top, path)) return `${path} was not copied: its path goes through a link.`;
  const ignored = await git.try(from, ['check-ignore', '--quiet', '--', path]);
  if (ignored.exitCode !== 0) return `${path} was not copied: git does not ignore it. Commit it instead.`;
  if (isAskedAbout(path) && !(await request.mayCopy(path))) return `${path} was not copied: a person said no.`;
  await mkdir(dirname(target), { recursive: true });
  if ((await realpath(dirname(target))) !== dirname(join(await realpath(to), path))) {
    return `${path} was not copied: the path of the copy goes through a link.`;
  }
  // Under a temporary name until it is complete: an interrupted copy is not mistaken for one.
  const draft = `${target}.${request.freshName}`;
  const isAgreed = isAskedAbout(path);
  const left: string[] = [];
  /** Nobody agreed to files that a folder contains without being named. */
  const isLeft = (one: string) => {
    const inner = relative(source, one).split(sep);
    if (isAgreed || one === source || path.split('/').includes(packages) || inner.includes(packages)) return false;
    if (!isTelling(inner.at(-1) ?? '')) return false;
    left.push([path, ...inner].join('/'));
    return true;
  };
  try {
    await cp(source, draft, {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      // A pipe or a device would block the copy forever.
      filter: async (one) => isPlain(await statsOf(one)) && !isLeft(one),
    });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  const copied = `${path}${stats.isDirectory() ? sep : ''} was copied`;
  if (left.length === 0) return `${copied}.`;
  const more = left.length > maxNamed ? ` and ${left.length - maxNamed} more` : '';
  const named = left.toSorted().slice(0, maxNamed).join(', ');
  return `${copied} without ${named}${more}: such files may hold secrets or change what runs. Name those that the bot needs in copy.`;
}

const isPlain = (stats: Stats | null): boolean =>
  stats !== null && (stats.isFile() || stats.isDirectory() || stats.isSymbolicLink());

async function statsOf(path: string): Promise<Stats | null> {
  return lstat(path).catch(() => null);
}
