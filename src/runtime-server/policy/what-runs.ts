/**
 * The one list of files that decide what may run: files and folders that Gantry, git, agent programs, editors and package managers read to learn
 * which commands to start, or what to tell a bot. The policy asks about changes in them, commands in the sandbox cannot change them, and a workspace
 * counts only with those its person has seen. Pure. Must not know who asks.
 */
import { settingsOfPrograms } from '../harness/programs.ts';

/** Names that programs read automatically in any folder. Everything in a folder of such a name belongs to it. */
const names: readonly string[] = [
  ...['.gantry', '.git'],
  ...settingsOfPrograms.flatMap(({ files, folders }) => [...files, ...folders]),
  // Tasks and settings of editors, hooks of git, variables of a shell, settings of npm.
  ...['.vscode', '.husky', '.envrc', '.npmrc'],
];

/** Instructions for agent programs. A rule that names one of them may let a command write it. */
const instructions: readonly string[] = settingsOfPrograms.flatMap(({ instructions: each }) => each);

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
