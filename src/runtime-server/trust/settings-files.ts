/**
 * Which files of a folder the agent programs read to learn what they may run: hooks, permissions, servers, plugins. In a terminal Claude
 * Code and Codex ask about a new folder themselves; the others do not, and nobody is there to be asked when one runs without a pane.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HarnessName } from '../../contracts/factory/agent.ts';
import { isWithin, listWithin } from '../../kit/files/within.ts';

interface Read {
  readonly files: readonly string[];
  /** With all that lies in them. */
  readonly folders: readonly string[];
  /** It asks about a folder that it does not know, where somebody sits before it. */
  readonly asksItself: boolean;
}

const reads: Partial<Record<HarnessName, Read>> = {
  claude: { files: ['.mcp.json'], folders: ['.claude'], asksItself: true },
  codex: { files: [], folders: ['.codex'], asksItself: true },
  gemini: { files: ['.env'], folders: ['.gemini'], asksItself: false },
  qwen: { files: ['.env'], folders: ['.qwen'], asksItself: false },
  opencode: { files: ['opencode.json', 'opencode.jsonc'], folders: ['.opencode'], asksItself: false },
};

/** Written by the programs as they work, or fetched by them: they say nothing about what may run. */
const passedOver = new Set(['worktrees', 'agent-memory', 'agent-memory-local', 'node_modules', 'tmp', '.git']);
const mostFiles = 500;
const deepest = 6;
/** Folders between the bot's and the top of its repository. */
const mostFolders = 16;

export interface SettingsFiles {
  /** Absolute paths. */
  readonly files: readonly string[];
  /** A folder with more files than are looked at; null where all were. */
  readonly tooMany: string | null;
}

/** What all programs together read in one folder. */
export function settingsIn(root: string): SettingsFiles {
  return found(root, [root], Object.values(reads));
}

/** What this program reads when it is started in `cwd`; `alone`: nobody sits before it. */
export function settingsOf(harness: HarnessName, root: string, cwd: string, alone: boolean): SettingsFiles {
  const read = reads[harness];
  if (read === undefined || (read.asksItself && !alone)) return { files: [], tooMany: null };
  const real = realOf(cwd);
  const top = isWithin(root, real) ? root : real;
  const folders = [real];
  for (let at = real; at !== top && folders.length < mostFolders; ) {
    at = dirname(at);
    folders.push(at);
  }
  return found(top, folders, [read]);
}

function found(root: string, folders: readonly string[], programs: readonly Read[]): SettingsFiles {
  const files = new Set<string>();
  let tooMany: string | null = null;
  const enter = (folder: string, depth: number): void => {
    const listed = listWithin(root, folder, mostFiles);
    if (listed.more || (depth === deepest && listed.entries.some((entry) => entry.isFolder))) tooMany ??= folder;
    for (const entry of listed.entries) {
      const path = join(folder, entry.name);
      if (entry.isFolder) {
        if (!passedOver.has(entry.name) && depth < deepest && tooMany === null) enter(path, depth + 1);
      } else if (files.size >= mostFiles) tooMany ??= folder;
      else files.add(path);
    }
  };
  for (const folder of folders) {
    for (const read of programs) {
      for (const name of read.files) if (statusOf(join(folder, name)) !== undefined) files.add(join(folder, name));
      for (const name of read.folders) {
        const status = statusOf(join(folder, name));
        // A program would follow a link, wherever it leads: it is read as the file that it is not, and so cannot be agreed to.
        if (status?.isDirectory()) enter(join(folder, name), 0);
        else if (status !== undefined) files.add(join(folder, name));
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

/** For the one list of names in `policy/what-runs.ts`, which must have them all. */
export const settingsNames: readonly string[] = Object.values(reads).flatMap((read) => [
  ...read.files,
  ...read.folders,
]);
