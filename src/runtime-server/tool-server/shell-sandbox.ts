/**
 * Where commands of tools run: in bubblewrap where this computer has it, because killing a process group misses a child that left
 * it with `setsid`. In bubblewrap a command reads what the person can read except Gantry's own folder. It changes its own folder,
 * that repository's `.git` and a `/tmp` of its own, but nothing that decides what may run (`what-runs-guard.ts`). It sees only
 * its own processes and leaves none behind. It has the person's network. Without bubblewrap it runs as the person. Must not know
 * policy.
 */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../kit/clock/clock.ts';
import { plainEnvironment, type RunOptions } from '../../kit/process/run-process.ts';
import { type Bubblewrap, type Environment, findBubblewrap } from '../../kit/sandbox/bubblewrap.ts';
import type { Mount, Sandbox } from '../../kit/sandbox/sandbox.ts';
import { createCommandNotes } from './command-notes.ts';
import { createFinder } from './what-runs-finder.ts';
import { guardWhatRuns, settleLater } from './what-runs-guard.ts';

interface CommandPlace {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** The folder it may change: the caller's root. */
  readonly root: string;
  /** A folder in the repository that its commands may use: of a worktree, the checkout that it was made from. */
  readonly checkout: string;
  /** Its variables beside the plain ones. */
  readonly env: Environment;
  /** Whether a rule lets it write this file of instructions (`AGENTS.md` and its like). Default: none does. */
  readonly mayWrite?: (path: string) => boolean;
}

export interface Placed extends Pick<RunOptions, 'command' | 'cwd' | 'env' | 'asides'> {
  readonly confined: boolean;
  /** Folders that it may write. */
  readonly roots: readonly string[];
  /**
   * Call it once, when the command has ended or could not be started. Reverts its changes to files that decide what may run; the sentences tell the
   * caller.
   */
  settle(): Promise<string[]>;
}

export interface ShellSandbox {
  /** A sentence: what confines commands here. Tries it at the first call. */
  about(): Promise<string>;
  /** Null: it confines commands. Otherwise why not, as half a sentence. */
  missing(): Promise<string | null>;
  place(at: CommandPlace): Promise<Placed>;
  /** Before the first command: cleans up after those that were cut short when Gantry was killed. Returns its findings as sentences. */
  recover(): Promise<string[]>;
}

/** Sockets of services that would do outside what is not allowed inside. */
const hostSockets = ['/run/user', '/run/docker.sock', '/run/podman', '/run/containerd'];
/** Programs that keep a cache at home, which they cannot change, keep it in `/tmp`. */
const caches: Environment = { XDG_CACHE_HOME: '/tmp/.cache', npm_config_cache: '/tmp/.npm' };

export function createShellSandbox({
  env,
  hidden,
  notes,
  wanted,
  clock,
  freshName,
}: {
  /** PATH, HOME and the like are taken from here. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that no command sees: Gantry's own. */
  readonly hidden: readonly string[];
  /** In one of those: notes about commands that run. Default: none are kept. */
  readonly notes?: string;
  readonly wanted: boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly freshName: () => string;
}): ShellSandbox {
  const finder = createFinder({ now: () => clock.now() });
  const begun = notes === undefined ? null : createCommandNotes(notes, freshName);
  const plain = plainEnvironment(env as NodeJS.ProcessEnv);
  let found: Promise<Bubblewrap | string> | null = null;
  const find = async () => {
    if (!wanted) return 'the sandbox is turned off (GANTRY_TOOL_SANDBOX)';
    found ??= findBubblewrap({ path: plain.PATH ?? '', sandbox: sandboxFor('/tmp', []) });
    const last = found;
    const sandbox = await last;
    // A busy computer may have failed the trial.
    if (typeof sandbox === 'string' && found === last) found = null;
    return sandbox;
  };

  function sandboxFor(
    cwd: string,
    changed: readonly string[],
    kept: readonly { readonly path: string; readonly access: 'read' | 'write' }[] = [],
  ): Sandbox {
    return {
      mounts: [
        { at: '/', shows: 'read' },
        { at: '/tmp', shows: 'empty' },
        // Gantry's folder may lie in a bot's, and a bot's worktree lies in Gantry's.
        ...[...hidden, ...hostSockets]
          .filter(existsSync)
          .map((path) => realpathSync(path))
          .map(cover),
        ...changed.map((at): Mount => ({ at, shows: 'write' })),
        // If one disappears at this moment the command still begins: its replacement is checked afterwards.
        ...kept.map(({ path, access }): Mount => ({ at: path, shows: access, ifThere: true })),
      ],
      network: 'host',
      terminal: 'none',
      ends: 'with-parent',
      cwd,
    };
  }

  return {
    async missing() {
      const sandbox = await find();
      return typeof sandbox === 'string' ? sandbox : null;
    },
    async about() {
      const sandbox = await find();
      if (typeof sandbox === 'string') {
        return `${sandbox.charAt(0).toUpperCase()}${sandbox.slice(1)}: commands run as you, with your files and your network.`;
      }
      const held =
        'Commands run in bubblewrap: they can change only their own folder, except files that say what may run; they see nothing of Gantry and have your network.';
      return [held, ...sandbox.unheld].join(' ');
    },
    async place({ command, cwd, root, checkout, env: own, mayWrite = () => false }) {
      const sandbox = await find();
      if (typeof sandbox === 'string') {
        const settle = async () => [];
        return { command, cwd, env: { ...plain, ...own }, confined: false, roots: [root], settle };
      }
      const roots = [...new Set([root, ...repositoryOf(checkout)])];
      const covered = hidden.filter(existsSync).map((path) => realpathSync(path));
      const guard = await guardWhatRuns(finder, { roots, hidden: covered, env: plain, mayWrite, freshName });
      try {
        const wrapped = sandbox.wrap({
          sandbox: sandboxFor(cwd, roots, guard.mounts),
          command,
          env: { ...plain, ...caches, ...own },
        });
        const ended = begun?.keep(guard.note);
        const settle = async () => {
          const told = await guard.settle();
          ended?.();
          return told;
        };
        return { ...wrapped, cwd: '/', confined: true, roots, settle };
      } catch (error) {
        guard.close();
        throw error;
      }
    },
    async recover() {
      const told: string[] = [];
      for (const { note, remove } of begun?.left() ?? []) {
        const [root = ''] = note.roots;
        // A folder that is gone has nothing to be looked after.
        if (existsSync(root)) {
          const said = await settleLater(finder, note, { env: plain, freshName });
          told.push(...said.map((one) => `In ${root}: ${one}`));
        }
        remove();
      }
      return told;
    },
  };
}

function cover(at: string): Mount {
  return { at, shows: lstatSync(at).isDirectory() ? 'empty' : 'blank' };
}

/**
 * The folder in which git keeps a checkout's repository, which a bot's worktree of it needs too. Found from above: a `.git` that is a file
 * is the bot's to write, and could name any folder.
 */
export function repositoryOf(checkout: string): string[] {
  for (let folder = checkout; ; folder = dirname(folder)) {
    const git = join(folder, '.git');
    if (lstatSync(git, { throwIfNoEntry: false })?.isDirectory() === true) return [realpathSync(git)];
    if (dirname(folder) === folder) return [];
  }
}
