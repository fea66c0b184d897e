/**
 * Sets up a bot's worktree (`setup:` of a team file): copies git-ignored files, then runs a command in the sandbox of commands, as a run of one step
 * with its output. Once a worktree, and again when a lock file lists other packages. Must not know panes or how a run is scheduled.
 */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { createGit } from '../../../kit/process/git.ts';
import type { ApprovalAnswer, ApprovalAsk } from '../../approvals/approvals.ts';
import type { Base } from '../../base/base.ts';
import type { PolicyAction, PolicyVerdict } from '../../policy/policy.ts';
import { nameInRules } from '../../tool-server/registry.ts';
import type { Placed, ShellSandbox } from '../../tool-server/shell-sandbox.ts';
import { copyIgnored } from './copy.ts';

/** The set-up of one bot in its team file. */
export interface Setup {
  readonly command: string | null;
  /** Relative to the bot's folder. */
  readonly copy: readonly string[];
}

/** A bot whose worktree is made. */
interface SetupBot {
  readonly id: string;
  readonly address: string;
  readonly setup: Setup;
  /** The checkout's folder that the bot's is a copy of, its own, and the root of its worktree. */
  readonly cwd: string;
  readonly folder: string;
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Each copy is a part, and so is the command. */
interface SetupProgress {
  readonly done: number;
  readonly total: number;
  /** The part under way. */
  readonly what: string;
}

/** How a command of a run is started where it is not started as the person. */
interface CommandPlacement extends Pick<Placed, 'command' | 'cwd' | 'env' | 'asides'> {
  /** Printed above its output. */
  readonly preface: string;
  /** Called when it has ended, or could not be started. The returned text follows its output. */
  settle(end: { readonly code: number | null }): Promise<string>;
}

export interface WorktreeSetup {
  /** Resolves when the worktree is ready; at once where there is nothing to do. `refused` with the end of the output when it is not. */
  ensure(address: string): Promise<'ready' | 'made'>;
  /** How far the set-up under way is; null when none is. */
  progress(address: string): SetupProgress | null;
  /** How the command of a run of `ensure` is started; null for any other run. */
  place(run: SetupRun): ((signal: AbortSignal) => Promise<CommandPlacement>) | null;
  /** From now on a set-up is shown as a run; one that is wanted before waits for this. */
  begin(runs: SetupRuns): void;
  /** A run has ended. */
  ended(dagId: string): void;
}

export interface SetupRuns {
  /** Begins the run that shows it; answers its id. */
  start(address: string, setup: Setup): Promise<string>;
  /** Why the run did not succeed, with the end of its output; null when it did. */
  outcome(dagId: string): Promise<string | null>;
}

interface SetupRun {
  readonly dagId: string;
  readonly template: { readonly id: string };
  readonly params: Readonly<Record<string, string>>;
}

export interface SetupDeps extends Pick<Base, 'clock' | 'ids'> {
  readonly workspace: string;
  readonly sandbox: Pick<ShellSandbox, 'place'>;
  /** Null: it has no worktree, no `setup:`, or a team file that does not count because its person has not agreed to it. */
  readonly find: (address: string) => Promise<SetupBot | null>;
  readonly policy: { decide(action: PolicyAction, mode: null): PolicyVerdict };
  readonly ask: (
    ask: ApprovalAsk,
    options: { readonly signal: AbortSignal },
  ) => Promise<{ readonly answer: Promise<ApprovalAnswer> }>;
}

export const setupTemplate = 'worktree-setup';
/** Packages are installed by a lock file; a changed one means other packages. */
const lockFiles = [
  ...['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb'],
  ...['Cargo.lock', 'go.sum', 'poetry.lock', 'uv.lock', 'Pipfile.lock', 'requirements.txt', 'Gemfile.lock'],
  ...['composer.lock', 'mix.lock', 'deno.lock', 'flake.lock'],
];
/** Bytes; a larger one counts by its size. */
const maxLockFile = 32 * 1024 * 1024;
const answerWithinMs = 24 * 3600 * 1000;

export function createWorktreeSetup(deps: SetupDeps): WorktreeSetup {
  const git = createGit();
  const underWay = new Map<string, Promise<'ready' | 'made'>>();
  const waiting = new Map<string, () => void>();
  /** By address. */
  const progress = new Map<string, SetupProgress>();
  /** Runs that ended while one of these is being started: its end may come before its id is known here. */
  const endedEarly = new Set<string>();
  let starting = 0;
  /** A step of a run waits for its set-up, and the set-up is a run: runs come last. */
  const begun = Promise.withResolvers<SetupRuns>();

  /** From now on the part with this number is under way. */
  function begins(bot: SetupBot, done: number): void {
    const { copy, command } = bot.setup;
    const parts = [...copy.map((path) => `copy ${path}`), ...(command === null ? [] : [command])];
    const what = parts[done];
    if (what !== undefined) progress.set(bot.address, { done, total: parts.length, what });
  }

  async function run(bot: SetupBot): Promise<'ready' | 'made'> {
    if (await isReady(bot)) return 'ready';
    begins(bot, 0);
    try {
      return await runAll(bot);
    } finally {
      progress.delete(bot.address);
    }
  }

  async function runAll(bot: SetupBot): Promise<'made'> {
    const runs = await begun.promise;
    let dagId: string;
    let over: Promise<void> | null;
    starting += 1;
    try {
      dagId = await runs.start(bot.address, bot.setup);
      // In the same moment: an end that comes between the two would be waited for without end.
      over = endedEarly.has(dagId) ? null : new Promise((done) => waiting.set(dagId, done));
    } finally {
      starting -= 1;
      if (starting === 0) endedEarly.clear();
    }
    await over;
    const why = await runs.outcome(dagId);
    if (why === null) return 'made';
    const fact = `The worktree of ${bot.address} could not be set up (run ${dagId}): ${why}`;
    throw new AppError('refused', fact, 'Fix the cause or `setup:` in the team file, then try again.', { status: 409 });
  }

  async function mayCopy(bot: SetupBot, dagId: string, path: string, signal: AbortSignal): Promise<boolean> {
    const ruled = nameInRules({ workspace: deps.workspace, root: bot.cwd }, join(bot.cwd, path));
    const { verdict } = deps.policy.decide({ tool: 'file', member: 'copy', bot: bot.address, path: ruled }, null);
    if (verdict !== 'ask') return verdict === 'allow';
    const words = `copy ${join(bot.cwd, path)} to ${join(bot.folder, path)}`;
    const { answer } = await deps.ask(
      {
        source: 'workflow',
        kind: 'file_change',
        title: `${bot.address}: Copy ${path} into its worktree`.slice(0, 200),
        summary: `Copies ${join(bot.cwd, path)}\nto ${join(bot.folder, path)}, where ${bot.address} reads it.`,
        risk: 'high',
        agentId: bot.id,
        dagId,
        actionHash: createHash('sha256').update(words).digest('hex'),
        expiresInMs: answerWithinMs,
      },
      { signal },
    );
    const answered = await answer;
    if (answered.kind === 'approve' || answered.kind === 'reject') return answered.kind === 'approve';
    throw new AppError(
      'refused',
      `Nobody answered whether ${path} may be copied.`,
      'Try the step again, and answer its approval.',
    );
  }

  return {
    async ensure(address) {
      const bot = await deps.find(address);
      if (bot === null) return 'ready';
      const current = underWay.get(bot.root);
      // Another caller's failure is its own: this one looks again.
      const mine =
        current === undefined
          ? run(bot)
          : current.then(
              () => run(bot),
              () => run(bot),
            );
      underWay.set(bot.root, mine);
      try {
        return await mine;
      } finally {
        if (underWay.get(bot.root) === mine) underWay.delete(bot.root);
      }
    },

    progress: (address) => progress.get(address) ?? null,

    place({ dagId, template, params }) {
      if (template.id !== setupTemplate) return null;
      return async (signal) => {
        const bot = await deps.find(params.bot ?? '');
        if (bot === null) {
          throw new AppError('refused', `${params.bot} has no worktree to set up.`, 'Check its team file.');
        }
        const lines: string[] = [];
        for (const [done, path] of bot.setup.copy.entries()) {
          begins(bot, done);
          const may = (one: string) => mayCopy(bot, dagId, one, signal);
          const freshName = deps.ids.next('tmp');
          lines.push(await copyIgnored(git, { from: bot.cwd, to: bot.folder, path, freshName, mayCopy: may }));
        }
        begins(bot, bot.setup.copy.length);
        // Hooks of git are no command's to install.
        const env = { HUSKY: '0', ...bot.env };
        const placed = await deps.sandbox.place({
          command: ['/bin/sh', '-c', bot.setup.command ?? 'true'],
          cwd: bot.folder,
          root: bot.root,
          checkout: bot.cwd,
          env,
        });
        if (!placed.confined) lines.push('This command runs unconfined: this computer has no sandbox.');
        if (bot.setup.command !== null) lines.push(`$ ${bot.setup.command}`);
        return {
          ...placed,
          preface: lines.map((line) => `${line}\n`).join(''),
          async settle({ code }) {
            const notes = await placed.settle();
            if (code === 0) await markReady(bot);
            return notes.map((note) => `${note}\n`).join('');
          },
        };
      };
    },

    begin: begun.resolve,

    ended(dagId) {
      const done = waiting.get(dagId);
      waiting.delete(dagId);
      if (starting > 0) endedEarly.add(dagId);
      done?.();
    },
  };
}

/** Beside the worktree, where no command reaches it. */
const markOf = ({ root }: SetupBot): string => `${root}.setup`;

async function isReady(bot: SetupBot): Promise<boolean> {
  const mark = await readFile(markOf(bot), 'utf8').catch(() => null);
  return mark === (await printOf(bot));
}

async function markReady(bot: SetupBot): Promise<void> {
  // A mark that was only half written does not count: it is made again.
  await rm(markOf(bot), { force: true });
  await writeFile(markOf(bot), await printOf(bot), { mode: 0o600 });
}

/** Changes when the worktree is made again, or when `setup:` or a lock file changes. */
async function printOf({ root, folder, setup }: SetupBot): Promise<string> {
  const hash = createHash('sha256');
  const { ino, birthtimeMs } = await lstat(root);
  hash.update(JSON.stringify([ino, Math.floor(birthtimeMs), setup]));
  for (const place of new Set([root, folder])) {
    for (const name of lockFiles) {
      const content = await plainFile(join(place, name));
      if (content !== null) hash.update(JSON.stringify([name, content.length])).update(content);
    }
  }
  return hash.digest('hex');
}

/** A bot wrote it: whatever is no plain file counts as none. */
async function plainFile(path: string): Promise<Buffer | string | null> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0)).catch(() => null);
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return null;
    return stats.size > maxLockFile ? `${stats.size} ${stats.mtimeMs}` : await handle.readFile();
  } finally {
    await handle.close();
  }
}
