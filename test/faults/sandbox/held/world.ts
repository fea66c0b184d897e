/**
 * A workspace with everything that says what may run, one with nothing of it, and two worktrees of bots; and, read by rules of its own
 * and not by the product's, what says what may run there now.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

export interface World {
  /** Full of what says what may run; a repository with a remote, a submodule, a nested repository and hooks of its own. */
  readonly work: string;
  /** A repository with nothing else. */
  readonly plain: string;
  /** A bot's worktree of `work`, and another bot's. */
  readonly tree: string;
  readonly other: string;
  /** Gantry's own folder, where worktrees lie. */
  readonly home: string;
  /** As it was at first. */
  reset(): void;
  /** Path → what lies there, of all that says what may run. */
  whatRuns(): Map<string, string>;
  remove(): void;
}

export const settings: readonly string[] = [
  '.gantry/policy.yaml',
  '.gantry/teams/crew/team.yaml',
  '.claude/settings.json',
  '.codex/config.toml',
  '.gemini/settings.json',
  '.qwen/settings.json',
  '.opencode/opencode.json',
  '.mcp.json',
  'AGENTS.md',
  'CLAUDE.md',
  '.vscode/tasks.json',
  '.husky/pre-commit',
  '.envrc',
  '.npmrc',
];
export const nested: readonly string[] = [
  'packages/a/.claude/settings.json',
  'packages/a/.npmrc',
  'packages/b/deep/AGENTS.md',
];

export function makeWorld(): World {
  // Not in /tmp: a command in the sandbox has one of its own.
  const base = mkdtempSync('/var/tmp/gantry-held-');
  const kept = `${base}.kept`;
  const [work, plain, home] = [join(base, 'work'), join(base, 'plain'), join(base, 'home')];
  const [tree, other] = [join(home, 'worktrees/crew/dev'), join(home, 'worktrees/crew/other')];
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const git = (folder: string, ...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'protocol.file.allow=always', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const repository = (folder: string) => {
    mkdirSync(folder, { recursive: true });
    git(folder, 'init', '-q', '-b', 'main');
    git(folder, 'config', 'user.name', 'P');
    git(folder, 'config', 'user.email', 'p@b.example');
    put(join(folder, 'README.md'), 'words\n');
    git(folder, 'add', 'README.md');
    git(folder, 'commit', '-qm', 'first');
  };
  for (const folder of [plain, work, join(base, 'sub')]) repository(folder);
  for (const path of [...settings, ...nested]) put(join(work, path), 'mine\n');
  put(join(work, '.githooks/pre-commit'), 'mine\n');
  put(join(work, 'shared.gitconfig'), '[alias]\n\tst = status\n');
  put(join(work, 'src/a.txt'), 'code\n');
  put(join(work, '.git/hooks/pre-commit'), 'mine\n');
  git(work, 'submodule', 'add', '-q', join(base, 'sub'), 'packages/sub');
  git(work, 'add', '.');
  git(work, 'commit', '-qm', 'second');
  git(work, 'config', 'core.hooksPath', '.githooks');
  git(work, 'config', 'include.path', '../shared.gitconfig');
  git(work, 'worktree', 'add', '-q', tree);
  git(work, 'worktree', 'add', '-q', other);
  repository(join(work, 'packages/lib'));
  cpSync(base, kept, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  const roots = [work, plain, tree, other];
  return {
    work,
    plain,
    tree,
    other,
    home,
    reset() {
      for (const name of readdirSync(base)) rmSync(join(base, name), { recursive: true, force: true });
      execFileSync('cp', ['-a', `${kept}/.`, base]);
    },
    whatRuns: () => new Map(roots.flatMap((root) => [...read(base, root)])),
    remove() {
      for (const folder of [base, kept]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const read = (base: string, root: string): Map<string, string> => {
  const found = new Map<string, string>();
  walk(root, false, found, base, named);
  return found;
};
const names = new Set(settings.map((path) => path.split('/')[0] ?? path));
const ofGit = new Set(['config', 'config.worktree', 'hooks', 'info', 'commondir', 'gitdir']);
/** Named by the settings of git in `work`, for it and its worktrees. */
const named = new Set(['.githooks', 'shared.gitconfig']);

function walk(
  folder: string,
  counts: boolean,
  found: Map<string, string>,
  base: string,
  alsoHere: ReadonlySet<string> = new Set(),
): void {
  const all = readdirSync(folder);
  // Also one of which only its settings are left.
  const isOurs = basename(folder) === '.git' || folder.endsWith('/.git/modules/packages/sub');
  const isGit = isOurs || (all.includes('HEAD') && (all.includes('objects') || all.includes('commondir')));
  for (const name of all) {
    // What was set aside is read by nobody; loose objects and refs of git run nothing.
    if (name.includes('.set-aside-') || (isGit && ['objects', 'refs', 'logs'].includes(name))) continue;
    const path = join(folder, name);
    const stats = lstatSync(path);
    const own =
      counts ||
      names.has(name) ||
      alsoHere.has(name) ||
      (isGit && ofGit.has(name)) ||
      (name === '.git' && !stats.isDirectory());
    const told = name === '.git' || own;
    if (stats.isDirectory()) {
      if (told) found.set(relative(base, path), 'folder');
      walk(path, own && name !== '.git', found, base);
    } else if (own) found.set(relative(base, path), contentOf(path, stats.isSymbolicLink(), stats.mode));
  }
}

function contentOf(path: string, isLink: boolean, mode: number): string {
  if (isLink) {
    let behind = '';
    try {
      behind = readFileSync(path, 'utf8');
    } catch {
      // It leads nowhere, or to a folder, which is looked at where it lies.
    }
    return `link ${readlinkSync(path)} ${behind}`;
  }
  // git writes these two of each repository by itself, and neither says what runs.
  if (basename(path) === 'refs' && basename(dirname(path)) === 'info') return 'refs';
  if (basename(path) === 'commondir') return readFileSync(path, 'utf8').trim();
  const content = createHash('sha256').update(readFileSync(path)).digest('hex');
  return `${(mode & 0o777).toString(8)} ${content}`;
}
