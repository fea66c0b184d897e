/**
 * The teams of the workspace as their files say now: reads `.gantry/teams/<team>/`, notices changes, keeps the last reading.
 * A bad file is a fact about that team and never stops the others. Must not know which bots run.
 */
import { createHash } from 'node:crypto';
import { existsSync, type FSWatcher, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { TeamProblem } from '../../../contracts/factory/agent.ts';
import type { TeamFile } from '../../../contracts/factory/team-file.ts';
import type { Timers } from '../../../kit/clock/timers.ts';
import { cultureFile, largestTeamFile, readTeamFile } from './read.ts';

/** Editors write in several steps: a change is read once it has been quiet for this long. Milliseconds. */
const settleMs = 150;
/** Watching misses network disks and folders that appear later; the poll does not. Milliseconds. */
const pollMs = 2000;
const largestCulture = 64 * 1024;

export interface TeamOnDisk {
  readonly name: string;
  /** Of everything read; changes when the team changes. */
  readonly hash: string;
  /** Null when the file has problems. */
  readonly file: TeamFile | null;
  readonly culture: string | null;
  readonly problems: readonly TeamProblem[];
}

export interface TeamFolder {
  all(): readonly TeamOnDisk[];
  get(name: string): TeamOnDisk | null;
  /** Reads the disk now. Calls the listeners when something changed. */
  refresh(): void;
  /** Reads the disk only if a file was touched since; answers whether. */
  look(): boolean;
  onChange(listener: (changed: readonly string[]) => void): () => void;
  /** Folder of one team, whether it exists or not. */
  folderOf(name: string): string;
  start(): void;
  close(): void;
}

export interface TeamFolderDeps {
  readonly workspace: string;
  readonly userHome: string;
  readonly timers: Timers;
}

export function createTeamFolder(deps: TeamFolderDeps): TeamFolder {
  const root = join(deps.workspace, '.gantry', 'teams');
  let teams = new Map<string, TeamOnDisk>();
  let signature = '';
  let watcher: FSWatcher | null = null;
  let cancelPoll: (() => void) | null = null;
  let cancelSettle: (() => void) | null = null;
  let running = false;
  const listeners = new Set<(changed: readonly string[]) => void>();

  const refresh = () => {
    signature = signatureOf(root);
    const next = new Map(teamNames(root).map((name) => [name, readTeam(root, name, deps)]));
    const before = teams;
    teams = next;
    const changed = [...new Set([...before.keys(), ...next.keys()])].filter(
      (name) => before.get(name)?.hash !== next.get(name)?.hash,
    );
    if (changed.length > 0) for (const listener of listeners) listener(changed);
  };

  const rewatch = () => {
    if (watcher !== null || !existsSync(root)) return;
    try {
      watcher = watch(root, { recursive: true, persistent: false }, soon);
      watcher.on('error', () => {
        watcher?.close();
        watcher = null;
      });
    } catch {
      watcher = null;
    }
  };
  const soon = () => {
    cancelSettle?.();
    cancelSettle = deps.timers.after(settleMs, () => {
      if (running) refresh();
    });
  };
  const poll = () => {
    if (!running) return;
    if (!existsSync(root)) {
      watcher?.close();
      watcher = null;
    }
    rewatch();
    if (signatureOf(root) !== signature) refresh();
    cancelPoll = deps.timers.after(pollMs, poll);
  };

  return {
    all: () => [...teams.values()],
    get: (name) => teams.get(name) ?? null,
    refresh,
    look() {
      if (signatureOf(root) === signature) return false;
      refresh();
      return true;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    folderOf: (name) => join(root, name),
    start() {
      running = true;
      refresh();
      rewatch();
      cancelPoll = deps.timers.after(pollMs, poll);
    },
    close() {
      running = false;
      watcher?.close();
      cancelPoll?.();
      cancelSettle?.();
    },
  };
}

function teamNames(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}

/** Changes whenever a file of a team was written, replaced, added or removed. */
function signatureOf(root: string): string {
  return teamNames(root)
    .flatMap((name) => {
      try {
        return readdirSync(join(root, name))
          .filter((file) => file === 'team.yaml' || file.endsWith('.md'))
          .map((file) => {
            const facts = statSync(join(root, name, file));
            return `${name}/${file} ${facts.ino} ${facts.size} ${facts.mtimeMs}`;
          });
      } catch {
        return [`${name}?`];
      }
    })
    .join('\n');
}

function readTeam(root: string, name: string, deps: TeamFolderDeps): TeamOnDisk {
  const folder = join(root, name);
  const invalid = (hash: string, problems: readonly TeamProblem[]): TeamOnDisk => ({
    name,
    hash,
    file: null,
    culture: null,
    problems,
  });
  let text: string;
  try {
    text = readSmall(join(folder, 'team.yaml'), largestTeamFile + 1);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = missing ? 'The folder has no team.yaml.' : `team.yaml cannot be read: ${(error as Error).message}`;
    return invalid(`unreadable ${message}`, [{ path: '', line: null, message }]);
  }
  const read = readTeamFile(text, {
    folder: name,
    workspace: deps.workspace,
    userHome: deps.userHome,
    isFolder,
    hasFile: (file) => existsSync(join(folder, file)),
  });
  if (!read.ok) return invalid(hashOf(text, JSON.stringify(read.problems)), read.problems);
  const file = cultureFile(read.file);
  const culture = file === null ? (read.file.culture ?? null) : readIfThere(join(folder, file));
  return { name, hash: hashOf(text, culture ?? ''), file: read.file, culture, problems: [] };
}

function readSmall(path: string, limit: number): string {
  if (statSync(path).size > limit) return ' '.repeat(limit);
  return readFileSync(path, 'utf8');
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').slice(0, largestCulture);
  } catch {
    return null;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

const hashOf = (...texts: string[]) => createHash('sha256').update(texts.join('\0')).digest('hex');
