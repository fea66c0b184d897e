/**
 * The one list of files that decide what may run: files and folders that Gantry, git, agent programs, editors and package managers read to learn
 * which commands to start, or what to tell a bot. The policy asks about changes in them, commands in the sandbox cannot change them, and a workspace
 * counts only with those its person has seen. Pure. Must not know who asks.
 */

import type { HarnessName } from '../../contracts/factory/agent.ts';

export interface ProgramSettings {
  readonly files: readonly string[];
  /** With all that lies in them. */
  readonly folders: readonly string[];
  /** Variables that it takes from a file of the project's own, which a command may write. */
  readonly variables: readonly string[];
  /** A folder of packages that code in other folders of its settings loads, and which those are. */
  readonly packages?: { readonly folder: string; readonly loadedBy: readonly string[] };
  /** It asks about an unknown folder, where a person sits at it. */
  readonly asksItself: boolean;
}

/** Files of a folder from which agent programs learn what they may run: settings, hooks, permissions, servers, plugins. */
export const settingsOfPrograms: Readonly<Partial<Record<HarnessName, ProgramSettings>>> = {
  claude: { files: ['.mcp.json'], folders: ['.claude'], variables: [], asksItself: true },
  codex: { files: [], folders: ['.codex'], variables: [], asksItself: true },
  gemini: { files: [], folders: ['.gemini'], variables: ['.env'], asksItself: false },
  qwen: { files: [], folders: ['.qwen'], variables: ['.env'], asksItself: false },
  opencode: {
    files: ['opencode.json', 'opencode.jsonc'],
    folders: ['.opencode'],
    variables: [],
    // Tools are loaded also with --pure, which leaves out only plugins.
    packages: {
      folder: '.opencode/node_modules',
      loadedBy: ['tool', 'tools', 'plugin', 'plugins'].map((name) => `.opencode/${name}`),
    },
    asksItself: false,
  },
};

/** Names that programs read automatically in any folder. Everything in a folder of such a name belongs to it. */
const names: readonly string[] = [
  ...['.gantry', '.git'],
  ...Object.values(settingsOfPrograms).flatMap(({ files, folders }) => [...files, ...folders]),
  // Tasks and settings of editors, hooks of git, variables of a shell, settings of npm.
  ...['.vscode', '.husky', '.envrc', '.npmrc'],
];

/** Instructions for agent programs. A rule that names one of them may let a command write it. */
const instructions: readonly string[] = ['AGENTS.md', 'CLAUDE.md', 'CLAUDE.local.md', 'GEMINI.md', 'QWEN.md'];

/** Files in git's own folder that it runs or reads its settings from. The rest of that folder changes with every commit. */
const gitNames: readonly string[] = ['config', 'config.worktree', 'hooks', 'info', 'commondir', 'gitdir'];

const known = new Set([...names, ...instructions].map((name) => name.toLowerCase()));
const told = new Set(instructions.map((name) => name.toLowerCase()));
const ofGit = new Set(gitNames);

/** Whether a file or folder of this name decides what may run. Ignores case, because some disks do. */
export function saysWhatRuns(name: string): boolean {
  return known.has(name.toLowerCase());
}

/** Whether it holds instructions (`AGENTS.md` and its like), which a rule may open for commands too. */
export function isInstruction(name: string): boolean {
  return told.has(name.toLowerCase());
}

/** Whether a file or folder of this name, directly in a folder of git's, decides what git runs. */
export function saysWhatGitRuns(name: string): boolean {
  return ofGit.has(name);
}

/** Worktrees of bots lie in Gantry's own folder: only the path below it counts. */
const worktrees = /(?:^|\/)\.gantry(?=\/worktrees\/)/gi;

/** The names in a path, with forward slashes, that decide what may run; empty if there are none. In their original case. */
export function namesInPath(path: string): string[] {
  return path.replace(worktrees, '').split('/').filter(saysWhatRuns);
}
