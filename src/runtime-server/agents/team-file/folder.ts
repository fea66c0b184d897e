/**
 * The teams of the workspace as their files are now: reads `.gantry/teams/<team>/`, notices changes, keeps the last reading. A bad file affects only
 * its own team. Must not know which bots run.
 */
import { createHash } from 'node:crypto';
import { existsSync, type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { byName } from '../../../contracts/common/by-name.ts';
import type { TeamProblem } from '../../../contracts/factory/agent.ts';
import type { TeamFile } from '../../../contracts/factory/team-file.ts';
import { maxTeams } from '../../../contracts/factory/team-file.ts';
import type { Timers } from '../../../kit/clock/timers.ts';
import { isWithin, listWithin, printOf, readTextWithin } from '../../../kit/files/within.ts';
import type { Trust } from '../../trust/trust.ts';
import { cultureFile, largestTeamFile, readTeamFile } from './read.ts';

/** Editors write in several steps: a change is read once it has been quiet for this long. Milliseconds. */
const settleMs = 150;
/** Watching misses network disks and folders that appear later; the poll does not. Milliseconds. */
const pollMs = 2000;
const largestCulture = 64 * 1024;
/** Files of a team's folder that are read. */
const maxFiles = 200;

export interface TeamOnDisk {
  readonly name: string;
  /** How people know it where its name is Gantry's own. */
  readonly title?: string;
  /** Hash of everything read; changes when the team changes. */
  readonly hash: string;
  /** Null when the file has problems. */
  readonly file: TeamFile | null;
  readonly culture: string | null;
  readonly problems: readonly TeamProblem[];
  /** The file has content that its person has not agreed to. Until they do, the last agreed content counts, or nothing. */
  readonly waits: boolean;
  /** That content, which may only make things stricter; null: none waits, or it has problems. */
  readonly waiting: TeamFile | null;
}

export interface TeamFolder {
  all(): readonly TeamOnDisk[];
  get(name: string): TeamOnDisk | null;
  /** Reads the disk now. Calls the listeners when something changed. */
  refresh(): void;
  /** Reads the disk only if a file was touched since; returns whether it did. */
  look(): boolean;
  /** Problems of the file as it is on disk, whether its person agreed to it or not. */
  problemsOf(name: string): readonly TeamProblem[];
  /** From before Gantry asked: a team that is up continues with the file that it was started with. */
  keepRunning(name: string, hash: string): Promise<void>;
  onChange(listener: (changed: readonly string[]) => void): () => void;
  /** There are more than are read, so that some are in no list. */
  more(): boolean;
  /** Folder of one team, whether it exists or not. */
  folderOf(name: string): string;
  start(): void;
  close(): void;
}

interface TeamFolderDeps {
  readonly workspace: string;
  readonly userHome: string;
  readonly timers: Timers;
  readonly trust: Pick<Trust, 'judge' | 'keepRunning' | 'onAnswer'>;
}

export function createTeamFolder(deps: TeamFolderDeps): TeamFolder {
  const root = join(deps.workspace, '.gantry', 'teams');
  let teams = new Map<string, TeamOnDisk>();
  let signature = '';
  /** Watches the folder of teams and each team's: a file deeper down is no team file. */
  let watchers: FSWatcher[] = [];
  let watched = '';
  let offAnswer = () => {};
  let cancelPoll: (() => void) | null = null;
  let cancelSettle: (() => void) | null = null;
  let running = false;
  const listeners = new Set<(changed: readonly string[]) => void>();

  const refresh = () => {
    signature = signatureOf(deps.workspace, root);
    rewatch();
    const next = new Map(teamNames(deps.workspace, root).map((name) => [name, readTeam(root, name, deps).team]));
    const before = teams;
    teams = next;
    const changed = [...new Set([...before.keys(), ...next.keys()])].filter(
      (name) => before.get(name)?.hash !== next.get(name)?.hash,
    );
    if (changed.length > 0) for (const listener of listeners) listener(changed);
  };

  const unwatch = () => {
    for (const watcher of watchers) watcher.close();
    watchers = [];
    watched = '';
  };
  const rewatch = () => {
    if (!running) return;
    const folders = isOwn(deps.workspace, root)
      ? [root, ...teamNames(deps.workspace, root).map((name) => join(root, name))]
      : [];
    if (folders.join('\0') === watched && watchers.length === folders.length) return;
    unwatch();
    watched = folders.join('\0');
    for (const folder of folders) {
      try {
        const watcher = watch(folder, { persistent: false }, soon);
        watcher.on('error', () => watcher.close());
        watchers.push(watcher);
      } catch {
        // Watching spares time; the poll finds every change.
      }
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
    if (signatureOf(deps.workspace, root) !== signature) refresh();
    cancelPoll = deps.timers.after(pollMs, poll);
  };

  return {
    all: () => [...teams.values()],
    get: (name) => teams.get(name) ?? null,
    refresh,
    look() {
      if (signatureOf(deps.workspace, root) === signature) return false;
      refresh();
      return true;
    },
    problemsOf: (name) => readTeam(root, name, deps).lying(),
    async keepRunning(name, hash) {
      const { file, text } = readTeam(root, name, deps, true);
      if (text !== null && file === hash) await deps.trust.keepRunning(join(root, name, 'team.yaml'), text);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    more: () => listWithin(deps.workspace, root, maxTeams).more,
    folderOf: (name) => join(root, name),
    start() {
      running = true;
      offAnswer = deps.trust.onAnswer(refresh);
      refresh();
      cancelPoll = deps.timers.after(pollMs, poll);
    },
    close() {
      running = false;
      offAnswer();
      unwatch();
      cancelPoll?.();
      cancelSettle?.();
    },
  };
}

function teamNames(workspace: string, root: string): string[] {
  return listWithin(workspace, root, maxTeams)
    .entries.filter(({ name, isFolder }) => isFolder && !name.startsWith('.'))
    .map(({ name }) => name)
    .sort(byName);
}

/** Whether the folder lies in the workspace and nowhere else: a link could have a whole disk watched. */
function isOwn(workspace: string, root: string): boolean {
  try {
    return isWithin(realpathSync(workspace), realpathSync(root));
  } catch {
    return false;
  }
}

/** Changes whenever a file of a team was written, replaced, added or removed. */
function signatureOf(workspace: string, root: string): string {
  return teamNames(workspace, root)
    .flatMap((name) =>
      listWithin(workspace, join(root, name), maxFiles)
        .entries.filter((entry) => entry.name === 'team.yaml' || entry.name.endsWith('.md'))
        .map((entry) => `${name}/${entry.name} ${printOf(join(root, name, entry.name))}`),
    )
    .join('\n');
}

interface ReadTeam {
  readonly team: TeamOnDisk;
  /** Problems of the file as it lies there. */
  lying(): readonly TeamProblem[];
  /** The team's hash by its current file. */
  readonly file: string | null;
  readonly text: string | null;
}

const waitsProblem: TeamProblem = {
  path: '',
  line: null,
  message: 'team.yaml waits for your yes: it is new or changed. Review it with `gantry trust`.',
};

/** `asItLies`: read the file on disk, whether or not its person has agreed to it. */
function readTeam(root: string, name: string, deps: TeamFolderDeps, asItLies = false): ReadTeam {
  const folder = join(root, name);
  const found = readTextWithin(deps.workspace, join(folder, 'team.yaml'), largestTeamFile);
  if (typeof found !== 'string') {
    const message = found.is === 'absent' ? 'The folder has no team.yaml.' : `team.yaml cannot be read. ${found.why}`;
    const problems = [{ path: '', line: null, message }];
    const hash = `unreadable ${message}`;
    const team = { name, hash, file: null, culture: null, problems, waits: false, waiting: null };
    return { team, lying: () => problems, file: null, text: null };
  }
  const judged = asItLies ? { waits: false, counts: found } : deps.trust.judge(join(folder, 'team.yaml'), found);
  const read = (text: string) => parsed(text, name, folder, deps);
  const marked = (hash: string) => (judged.waits ? `${hash} waits ${hashOf(found).slice(0, 16)}` : hash);
  const lying = (): readonly TeamProblem[] => [...(judged.waits ? [waitsProblem] : []), ...read(found).problems];
  // Without agreed content there is nothing that could be made stricter, and the file is not even parsed.
  if (judged.counts === null) {
    const problems = [waitsProblem];
    const team = { name, hash: marked(''), file: null, culture: null, problems, waits: true, waiting: null };
    return { team, lying, file: null, text: found };
  }
  const { hash, ...rest } = read(judged.counts);
  const waiting = judged.waits ? read(found).file : null;
  return { team: { name, hash: marked(hash), ...rest, waits: judged.waits, waiting }, lying, file: hash, text: found };
}

function parsed(
  text: string,
  name: string,
  folder: string,
  deps: TeamFolderDeps,
): Omit<TeamOnDisk, 'name' | 'waits' | 'waiting'> {
  const read = readTeamFile(text, {
    folder: name,
    workspace: deps.workspace,
    userHome: deps.userHome,
    isFolder,
    hasFile: (file) => existsSync(join(folder, file)),
  });
  if (!read.ok) {
    return { hash: hashOf(text, JSON.stringify(read.problems)), file: null, culture: null, problems: read.problems };
  }
  const file = cultureFile(read.file);
  const culture = file === null ? (read.file.culture ?? null) : cultureAt(deps.workspace, join(folder, file));
  return { hash: hashOf(text, culture ?? ''), file: read.file, culture, problems: [] };
}

function cultureAt(workspace: string, path: string): string | null {
  const read = readTextWithin(workspace, path, 4 * largestCulture);
  return typeof read === 'string' ? read.slice(0, largestCulture) : null;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

const hashOf = (...texts: string[]) => createHash('sha256').update(texts.join('\0')).digest('hex');
