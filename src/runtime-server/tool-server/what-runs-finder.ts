/**
 * Finds files that decide what may run, in the folders that a command may write: by name, however deep, and in folders of git also under another
 * name. A folder is read again only when it has changed, so looking before and after each command stays cheap. Must not know commands or mounts.
 */
import { execFile } from 'node:child_process';
import { lstatSync, readdirSync, realpathSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { readTextWithin } from '../../kit/files/within.ts';
import { isInstruction, saysWhatGitRuns, saysWhatRuns } from '../policy/what-runs.ts';

export interface Found {
  /** Absolute, with no link in its path. */
  readonly path: string;
  /** `repository`: a folder of git, which a command writes with every commit, but for what else is found in it. */
  readonly kind: 'file' | 'folder' | 'link' | 'repository';
}

interface Look {
  /** Outer ones first. */
  readonly found: readonly Found[];
  /** There were more folders than the limit. */
  readonly cut: boolean;
}

export interface Finder {
  /** `more`: paths that count as well where something is there. */
  look(roots: readonly string[], more: readonly string[]): Promise<Look>;
}

/** Folders of one look. A walk of as many that have not changed takes a fraction of a second. */
export const maxFolders = 20_000;
/** Folders read before other work gets its turn: some milliseconds. */
const slice = 200;
/** The clock of a disk is coarse: what changes this soon after a look may leave no trace in the times of its folder. */
const settledMs = 100;
/** Programs that packages bring along are not read as settings from where they lie, and there are too many of them. */
const notEntered = 'node_modules';

/** The kind of a folder: that of a repository, the one in it with a folder for each worktree, or any other. */
type As = 'plain' | 'git' | 'worktrees';

interface Folder {
  readonly print: string;
  readonly found: readonly { readonly name: string; readonly kind: Found['kind'] }[];
  /** Folders still to read. */
  readonly inner: readonly { readonly name: string; readonly as: As }[];
}

export function createFinder({
  now,
  limit = maxFolders,
}: {
  readonly now: () => number;
  readonly limit?: number;
}): Finder {
  /** By path, the one that changed last at the end. */
  const known = new Map<string, Folder>();
  /** A file found once is checked at its place again, also beyond the limit of folders. */
  const remembered = new Map<string, Found>();

  function read(path: string, as: As): Folder | null {
    try {
      const stats = lstatSync(path, { bigint: true });
      if (!stats.isDirectory()) return null;
      const print = `${as}.${stats.dev}.${stats.ino}.${stats.mtimeNs}.${stats.ctimeNs}`;
      const before = known.get(path);
      if (before?.print === print) return before;
      const folder = { print, ...namesIn(path, as) };
      known.delete(path);
      if (known.size >= limit * 2) known.delete(known.keys().next().value as string);
      if (now() - Number(stats.ctimeMs) > settledMs) known.set(path, folder);
      return folder;
    } catch {
      // Gone in between, or unreadable to us: then the command cannot write it either.
      return null;
    }
  }

  return {
    async look(roots, more) {
      const found = new Map<string, Found>();
      const seen = new Set<string>();
      const queue = roots.map((path): { path: string; as: As } => ({ path, as: 'plain' }));
      for (let at = 0; at < queue.length && at < limit; at += 1) {
        if (at % slice === slice - 1) await new Promise(setImmediate);
        const { path, as } = queue[at]!;
        if (seen.has(path)) continue;
        seen.add(path);
        const folder = read(path, as);
        for (const { name, kind } of folder?.found ?? []) found.set(join(path, name), { path: join(path, name), kind });
        for (const one of folder?.inner ?? []) queue.push({ path: join(path, one.name), as: one.as });
      }
      const cut = queue.length > limit;
      const missed = cut ? [...remembered.values()].filter(({ path }) => roots.some((root) => isIn(root, path))) : [];
      for (const { path, kind } of [...missed, ...more.map((one) => ({ path: one, kind: null }))]) {
        const is = found.has(path) ? null : kindOf(path);
        if (is !== null) found.set(path, { path, kind: kind === 'repository' && is === 'folder' ? kind : is });
      }
      for (const one of found.values()) remembered.set(one.path, one);
      while (remembered.size > limit) remembered.delete(remembered.keys().next().value as string);
      return { found: [...found.values()].sort((a, b) => depthOf(a.path) - depthOf(b.path)), cut };
    },
  };
}

export const depthOf = (path: string): number => path.split('/').filter((part) => part !== '').length;

export function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function namesIn(path: string, as: As): Omit<Folder, 'print'> {
  const entries = readdirSync(path, { withFileTypes: true });
  const isRepository = as === 'git' || isGit(new Set(entries.map(({ name }) => name)));
  const found: { name: string; kind: Found['kind'] }[] = [];
  const inner: { name: string; as: As }[] = [];
  for (const entry of entries) {
    const { name } = entry;
    const kind = entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'file';
    if (as === 'worktrees') {
      if (kind === 'folder') inner.push({ name, as: 'git' });
    } else if (isRepository) {
      if (saysWhatGitRuns(name)) found.push({ name, kind });
      else if (kind === 'folder' && name === 'worktrees') inner.push({ name, as: 'worktrees' });
      // Each submodule has its folder of git here, at any depth.
      else if (kind === 'folder' && name === 'modules') inner.push({ name, as: 'plain' });
    } else if (name === '.git' && kind === 'folder') {
      found.push({ name, kind: 'repository' });
      inner.push({ name, as: 'git' });
    } else if (isInstruction(name) ? /^[A-Z]/.test(name) : saysWhatRuns(name)) found.push({ name, kind });
    else if (kind === 'folder' && name !== notEntered) inner.push({ name, as: 'plain' });
  }
  return { found, inner };
}

/** The names by which git itself recognises a repository, whatever its folder is called. */
const isGit = (names: ReadonlySet<string>): boolean => ['HEAD', 'objects', 'refs'].every((name) => names.has(name));

export function looksLikeGit(folder: string): boolean {
  try {
    return isGit(new Set(readdirSync(folder)));
  } catch {
    return false;
  }
}

/** The files that `git worktree add` writes for each worktree: they lead nowhere new, and Gantry adds worktrees while commands run. */
export function isUsualOfWorktree(path: string): boolean {
  if (basename(dirname(dirname(path))) !== 'worktrees') return false;
  // A command may have left a pipe, a device or a link in its place: only the content of a plain file is read, and nothing waits for it.
  if (statsOf(path)?.isFile() !== true) return false;
  if (basename(path) === 'gitdir') return true;
  if (basename(path) !== 'commondir') return false;
  const text = readTextWithin(dirname(path), path, 64);
  return typeof text === 'string' && text.trim() === '../..';
}

export function kindOf(path: string): Found['kind'] | null {
  const stats = statsOf(path);
  if (stats === null) return null;
  return stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'file';
}

/** Null where nothing is, also below a file. Equal for the same file or folder, wherever it was moved. */
export function identityOf(path: string): string | null {
  const stats = statsOf(path);
  return stats === null ? null : `${stats.dev}.${stats.ino}`;
}

function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

export function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

const gitMs = 5000;

/**
 * Paths that git's settings name outside its own folder: the folder of hooks, and files that they include. Reading settings runs nothing. Also paths
 * that do not exist yet.
 */
export async function namedByGit(root: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const top = topOf(root);
  if (top === null) return [];
  const listed = await new Promise<string>((done) => {
    const args = ['-C', top, '-c', 'safe.bareRepository=explicit', 'config', '--list', '--show-origin', '-z'];
    execFile('git', args, { env: { ...env }, timeout: gitMs, maxBuffer: 4 * 1024 * 1024 }, (_error, stdout) =>
      done(stdout),
    );
  });
  const parts = listed.split('\0');
  const named = new Set<string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const origin = /^file:(.+)$/s.exec(parts[at]!)?.[1];
    if (origin !== undefined) named.add(resolve(top, origin));
    const [key = '', ...value] = parts[at + 1]!.split('\n');
    if (/^(?:core\.hookspath|include\.path|includeif\..*\.path|core\.attributesfile)$/i.test(key)) {
      const path = value.join('\n').replace(/^~(?=\/)/, env.HOME ?? homedir());
      const from = /^include/i.test(key) && origin !== undefined ? dirname(resolve(top, origin)) : top;
      named.add(resolve(from, path));
    }
  }
  return [...named];
}

/** The checkout or worktree that a folder lies in. */
function topOf(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    if (kindOf(join(at, '.git')) !== null) return at;
    if (dirname(at) === at) return null;
  }
}
