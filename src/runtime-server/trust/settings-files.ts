/**
 * Finds the files of a folder from which agent programs learn what they may run, by what each harness's `program.ts` names. In a terminal Claude Code,
 * Codex and Copilot ask about a new folder themselves; the others do not, and without a pane nobody is there to be asked.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HarnessName } from '../../contracts/factory/agent.ts';
import { isWithin, listWithin } from '../../kit/files/within.ts';
import type { ProgramSettings } from '../harness/program.ts';
import { programs, settingsOfPrograms } from '../harness/programs.ts';

/** Written by the programs as they work, or fetched by them: they do not decide what may run. Packages that are loaded count as a whole. */
const passedOver = new Set(['worktrees', 'agent-memory', 'agent-memory-local', 'node_modules', 'tmp', '.git']);
const maxFiles = 500;
const deepest = 6;

interface SettingsFiles {
  /** Absolute paths. A folder of packages represents all its files. */
  readonly files: readonly string[];
  /** A folder with more files than the limit; null where all were read. */
  readonly tooMany: string | null;
}

/** The files that all programs together read in one folder. */
export function settingsIn(root: string): SettingsFiles {
  return found(root, [root], settingsOfPrograms);
}

/** The files that this program reads when it is started in `cwd`; `alone`: no person sits at it. */
export function settingsOf(harness: HarnessName, root: string, cwd: string, alone: boolean): SettingsFiles {
  const read = programs[harness].settings;
  if (read === null || (read.asksItself && !alone)) return { files: [], tooMany: null };
  const real = realOf(cwd);
  const top = repositoryOf(isWithin(root, real) ? root : real);
  const folders = [real];
  // Programs look in each, however many there are.
  for (let at = real; at !== top; ) {
    at = dirname(at);
    folders.push(at);
  }
  return found(top, folders, [read]);
}

/** The top of the repository that a folder lies in: the workspace may be a part of one, and a clone for a team that came here is one. */
function repositoryOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (statusOf(join(at, '.git')) !== undefined) return at;
    if (dirname(at) === at) return folder;
  }
}

function found(root: string, folders: readonly string[], settings: readonly ProgramSettings[]): SettingsFiles {
  const files = new Set<string>();
  let tooMany: string | null = null;
  const enter = (folder: string, depth: number): void => {
    const listed = listWithin(root, folder, maxFiles);
    if (listed.more || (depth === deepest && listed.entries.some((entry) => entry.isFolder))) tooMany ??= folder;
    for (const entry of listed.entries) {
      const path = join(folder, entry.name);
      if (entry.isFolder) {
        if (!passedOver.has(entry.name) && depth < deepest && tooMany === null) enter(path, depth + 1);
      } else if (files.size >= maxFiles) tooMany ??= folder;
      else files.add(path);
    }
  };
  for (const folder of folders) {
    for (const read of settings) {
      for (const name of [...read.files, ...read.variables])
        if (statusOf(join(folder, name)) !== undefined) files.add(join(folder, name));
      for (const name of read.folders) {
        const status = statusOf(join(folder, name));
        // A program would follow a link, wherever it leads: it is read as the file that it is not, and so cannot be agreed to.
        if (status?.isDirectory()) enter(join(folder, name), 0);
        else if (status !== undefined) files.add(join(folder, name));
      }
      const { packages } = read;
      const isThere = (name: string) => statusOf(join(folder, name)) !== undefined;
      if (packages?.loadedBy.some(isThere) && isThere(packages.folder)) {
        files.add(join(folder, packages.folder));
      }
    }
  }
  return { files: [...files], tooMany };
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const statusOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });
