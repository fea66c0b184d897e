/**
 * The three ends of a bot's work on its branch: merged, kept, discarded. Each plans everything first, which is its dry run. Work that is in no other
 * branch is never deleted: a discard sets it aside under a ref, and nothing resets or cleans a folder.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { MergeConflicts, WorktreeEnding } from '../../../contracts/factory/worktree-routes.ts';
import { complaint, type Git } from '../../../kit/process/git.ts';
import { type Look, lookAt, treeOf } from './look.ts';
import { branchOf } from './places.ts';

/** The bot whose branch it is, and where. */
interface EndingBot {
  readonly address: string;
  readonly team: string;
  readonly slug: string;
  readonly root: string;
  readonly checkout: string;
  /** Its files may change at this moment. */
  readonly busy: boolean;
}

export interface EndingRequest {
  readonly commit?: string | undefined;
  readonly as?: string | undefined;
}

/** The planned changes, and the function that applies them; `apply` returns the resulting commit. */
export interface PlannedEnding {
  readonly plan: WorktreeEnding;
  apply(): Promise<string>;
}

type Planner = (git: Git, bot: EndingBot, request: EndingRequest, now: number) => Promise<PlannedEnding>;

/** Of those that stand beside the refusal: a merge may conflict in every file of a repository. */
const maxConflictFiles = 100;

export const planMerge: Planner = async (git, bot, request) => {
  const look = await begin(git, bot);
  const { into } = look;
  if (into === null) {
    throw refused(`No branch is checked out in ${look.main}.`, 'Check out the branch to merge into.');
  }
  const message = messageFor(look, bot, request);
  await refuseDirty(git, look);
  const tree = await treeOf(git, look);
  // For uncommitted work, the commit that it would become, on no branch.
  const tip = message === null ? look.head : await git.run(look.root, commitTree(bot, tree, look.head, message));
  const trial = await git.try(look.main, ['merge-tree', '--write-tree', '--name-only', look.mainHead, tip]);
  if (trial.exitCode !== 0) {
    // First line the tree, then the files, then an empty line and git's messages about them.
    const files = trial.exitCode === 1 ? (trial.stdout.split('\n\n', 1)[0]?.split('\n').slice(1) ?? []) : [];
    const which = files.length > 0 ? `conflicts in ${few(files)}` : complaint(trial);
    throw refused(
      `${look.branch} cannot be merged into ${into}: ${which}.`,
      `Have ${bot.address} merge ${into} into its branch, or merge it by hand in ${look.main}.`,
      files.length > 0
        ? { conflicts: { into, files: files.slice(0, maxConflictFiles) } satisfies MergeConflicts }
        : undefined,
    );
  }
  return {
    plan: {
      ...(await about(git, bot, look, tree)),
      into,
      keptAs: null,
      steps: [...commitStep(look, message), `merge ${look.branch} into ${into} in ${look.main}`],
    },
    async apply() {
      if (message !== null) await commitAll(git, bot, look, message);
      const merged = await git.try(look.main, [
        ...(await identity(git, look.main)),
        'merge',
        '--no-ff',
        '--no-verify',
        '-m',
        `Merge ${look.branch} of ${bot.address}`,
        look.branch ?? look.head,
      ]);
      if (merged.exitCode !== 0) {
        await git.try(look.main, ['merge', '--abort']);
        throw refused(
          `${look.branch} could not be merged into ${into}: ${complaint(merged)}`,
          `${look.main} was not changed. Check it, then try again.`,
        );
      }
      // Its work is part of the checkout now: the bot continues from there, or in mid-turn with its next message.
      if (!bot.busy) await catchUp(git, bot);
      return git.run(look.main, ['rev-parse', 'HEAD']);
    },
  };
};

/** Moves a worktree without work of its own to the current commit of its checkout. One with work stays where it is. */
export async function catchUp(git: Git, { root, checkout }: Pick<EndingBot, 'root' | 'checkout'>): Promise<void> {
  const { branch, uncommitted, ahead, behind, mainHead } = await lookAt(git, root, checkout);
  if (branch === null || uncommitted.length > 0 || ahead > 0 || behind === 0) return;
  await git.run(root, ['merge', '--ff-only', '--quiet', mainHead]);
}

export const planKeep: Planner = async (git, bot, request) => {
  const look = await begin(git, bot);
  refuseBusy(bot, 'kept');
  const message = messageFor(look, bot, request);
  const keptAs = request.as ?? look.branch ?? '';
  if (request.as !== undefined && request.as !== look.branch) await refuseName(git, look, request.as);
  const tree = await treeOf(git, look);
  const fresh = await freshName(git, look, bot, keptAs);
  const rename = keptAs === look.branch ? [] : [`rename ${look.branch} to ${keptAs}`];
  return {
    plan: {
      ...(await about(git, bot, look, tree)),
      into: null,
      keptAs,
      steps: [...commitStep(look, message), ...rename, freshStep(bot, fresh, look)],
    },
    async apply() {
      if (message !== null) await commitAll(git, bot, look, message);
      if (keptAs !== look.branch) await git.run(look.root, ['branch', '--move', keptAs]);
      await git.run(look.root, ['switch', '--create', fresh, look.mainHead]);
      return git.run(look.root, ['rev-parse', `refs/heads/${keptAs}`]);
    },
  };
};

export const planDiscard: Planner = async (git, bot, _request, now) => {
  const look = await begin(git, bot);
  refuseBusy(bot, 'discarded');
  const branch = look.branch ?? '';
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const keptAs = `${asideRefs}${branch}/${stamp}`;
  const message = look.uncommitted.length === 0 ? null : asideMessage(bot);
  const tree = await treeOf(git, look);
  const fresh = await freshName(git, look, bot, branch);
  return {
    plan: {
      ...(await about(git, bot, look, tree)),
      into: null,
      keptAs,
      steps: [
        ...commitStep(look, message),
        `set ${branch} aside as ${keptAs}`,
        freshStep(bot, fresh, look),
        `delete the branch ${branch}`,
      ],
    },
    async apply() {
      if (message !== null) await commitAll(git, bot, look, message);
      const tip = await git.run(look.root, ['rev-parse', 'HEAD']);
      await git.run(look.root, ['update-ref', keptAs, tip, '']);
      await git.run(look.root, ['switch', '--create', fresh, look.mainHead]);
      // Removes only a name: its commits are under the ref that was made before.
      await git.run(look.root, ['update-ref', '-d', `refs/heads/${branch}`, tip]);
      return tip;
    },
  };
};

/** Where discarded work lies, and the commit of what was uncommitted. */
const asideRefs = 'refs/gantry/discarded/';
const asideMessage = (bot: EndingBot): string => `Uncommitted work of ${bot.address} when it was discarded`;

/** Takes a discard back: the branch with its commits, and what was uncommitted as files. Nothing newer is moved or overwritten for it. */
export async function planRestore(
  git: Git,
  bot: EndingBot,
  request: { keptAs?: string | undefined },
): Promise<PlannedEnding> {
  const look = await lookAt(git, bot.root, bot.checkout);
  refuseBusy(bot, 'changed');
  const keptAs = await findAside(git, bot, request.keptAs);
  const tip = await git.run(look.root, ['rev-parse', '--verify', `${keptAs}^{commit}`]);
  const branch = keptAs.slice(asideRefs.length).replace(/\/[^/]+$/, '');
  const taken = await git.try(look.root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  const fresh = look.branch;
  if (fresh === null || look.uncommitted.length > 0 || look.ahead > 0) {
    const what = look.uncommitted.length > 0 ? `changes in ${few(look.uncommitted)}` : 'commits of its own';
    throw refused(
      `${bot.address} has new work since: ${fresh === null ? 'it is in the middle of a rebase' : what}.`,
      `Merge, keep or discard that first, or look at the old work: git show ${keptAs}`,
    );
  }
  if (taken.exitCode === 0 && branch !== fresh) {
    throw refused(`The branch ${branch} exists again.`, `Give the old work another name: git branch <name> ${keptAs}`);
  }
  const top = await git.run(look.root, ['log', '-1', '--format=%ae %s', tip]);
  const open = top === `${botEmail} ${asideMessage(bot)}`;
  const base = await git.run(look.root, ['merge-base', look.mainHead, tip]);
  const names = await git.run(look.root, ['diff', '--name-only', '-z', '--no-ext-diff', base, tip]);
  const commits = Number(await git.run(look.root, ['rev-list', '--count', `${look.mainHead}..${tip}`]));
  return {
    plan: {
      agent: bot.address,
      branch,
      into: null,
      commits,
      files: names.split('\0').filter((name) => name !== '').length,
      keptAs,
      steps: [
        `switch ${bot.address} back to ${branch}`,
        ...(open ? ['leave what was uncommitted uncommitted again'] : []),
        ...(branch === fresh ? [] : [`delete the branch ${fresh}, which has no work`]),
      ],
    },
    async apply() {
      await git.run(look.root, ['switch', branch === fresh ? '--force-create' : '--create', branch, tip]);
      // Moves the branch and the index; the files stay as they are.
      if (open) await git.run(look.root, ['reset', '--quiet', '--mixed', 'HEAD^']);
      const isOwn = fresh.startsWith(branchOf(bot.team, bot.slug));
      if (branch !== fresh && isOwn) await git.run(look.root, ['update-ref', '-d', `refs/heads/${fresh}`, look.head]);
      return git.run(look.root, ['rev-parse', 'HEAD']);
    },
  };
}

/** The ref that was named, or the newest of this bot. */
async function findAside(git: Git, bot: EndingBot, named: string | undefined): Promise<string> {
  const listed = await git.run(bot.root, ['for-each-ref', '--format=%(refname)', asideRefs]);
  const refs = listed.split('\n').filter((ref) => ref !== '');
  if (named !== undefined) {
    if (refs.includes(named)) return named;
    throw new AppError('not_found', `No discarded work is kept as ${named}.`, `List it: git for-each-ref ${asideRefs}`);
  }
  const own = branchOf(bot.team, bot.slug);
  const stampOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);
  const [newest] = refs
    .filter((ref) => new RegExp(`^${own}(?:--[^/]+|-\\d+)?/[^/]+$`).test(ref.slice(asideRefs.length)))
    .sort((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1));
  if (newest !== undefined) return newest;
  throw new AppError('not_found', `No work of ${bot.address} was discarded.`, 'There is nothing to bring back.');
}

/** All three need a branch with work on it. */
async function begin(git: Git, bot: EndingBot): Promise<Look & { readonly branch: string }> {
  const look = await lookAt(git, bot.root, bot.checkout);
  const { branch } = look;
  if (branch === null) {
    throw refused(
      `${bot.root} has no branch checked out: ${bot.address} is in the middle of a rebase, or checked out a commit.`,
      'Let the bot finish, or check out a branch there.',
    );
  }
  if (look.ahead === 0 && look.uncommitted.length === 0) {
    throw refused(
      `${branch} of ${bot.address} has nothing that ${look.into ?? 'the checkout'} lacks.`,
      'There is nothing to do.',
    );
  }
  return { ...look, branch };
}

/** Message of the commit that has to be made first, or null when everything is committed. */
function messageFor(look: Look, bot: EndingBot, request: EndingRequest): string | null {
  if (look.uncommitted.length === 0) return null;
  if (request.commit === undefined) {
    throw refused(
      `${bot.address} has uncommitted work in ${look.root}: ${few(look.uncommitted)}.`,
      'Give a message to commit it under (--commit "<message>"), or have the bot commit it.',
    );
  }
  refuseBusy(bot, 'committed');
  return request.commit;
}

function refuseBusy(bot: EndingBot, what: string): void {
  if (!bot.busy) return;
  throw refused(`${bot.address} is working: its files cannot be ${what} now.`, 'Wait until it is idle, or stop it.');
}

async function refuseDirty(git: Git, look: Look): Promise<void> {
  const plain = ['--untracked-files=no', '--no-renames', '--ignore-submodules=dirty'];
  const status = await git.run(look.main, ['status', '--porcelain', '-z', ...plain]);
  const dirty = status.split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
  if (dirty.length === 0) return;
  throw refused(`${look.main} has uncommitted changes of its own: ${few(dirty)}.`, 'Commit or stash them there first.');
}

async function refuseName(git: Git, look: Look, name: string): Promise<void> {
  const good = await git.try(look.root, ['check-ref-format', '--branch', name]);
  if (good.exitCode !== 0) {
    throw new AppError('usage', `${JSON.stringify(name)} is not a valid branch name.`, 'Choose another name.');
  }
  const there = await git.try(look.root, ['rev-parse', '--verify', '--quiet', `refs/heads/${name}`]);
  if (there.exitCode === 0) throw refused(`The branch ${name} already exists.`, 'Choose another name.');
}

/** A new branch for the bot, on which no other work is based. */
async function freshName(git: Git, look: Look, bot: EndingBot, kept: string): Promise<string> {
  const plain = branchOf(bot.team, bot.slug);
  const used = await git.run(look.root, ['for-each-ref', '--format=%(refname:short)', `refs/heads/${plain}*`]);
  const names = new Set([...used.split('\n'), kept]);
  let name = plain;
  for (let number = 2; names.has(name); number += 1) name = `${plain}-${number}`;
  return name;
}

async function about(
  git: Git,
  bot: EndingBot,
  look: Look & { readonly branch: string },
  tree: string,
): Promise<Pick<WorktreeEnding, 'agent' | 'branch' | 'commits' | 'files'>> {
  const names = await git.run(look.root, ['diff', '--name-only', '-z', '--no-ext-diff', look.base, tree]);
  const files = names.split('\0').filter((name) => name !== '').length;
  const commits = look.ahead + (look.uncommitted.length === 0 ? 0 : 1);
  return { agent: bot.address, branch: look.branch, commits, files };
}

async function commitAll(git: Git, bot: EndingBot, look: Look, message: string): Promise<void> {
  await git.addAll(look.root);
  await git.run(look.root, [...authorOf(bot), 'commit', '--no-verify', '--quiet', '-m', message]);
}

function commitTree(bot: EndingBot, tree: string, parent: string, message: string): string[] {
  return [...authorOf(bot), 'commit-tree', tree, '-p', parent, '-m', message];
}

const botEmail = 'bot@gantry.invalid';
const authorOf = (bot: EndingBot) => ['-c', `user.name=${bot.address}`, '-c', `user.email=${botEmail}`];

/** The person's own name on a merge; Gantry's where git knows none. */
async function identity(git: Git, folder: string): Promise<string[]> {
  const known = await git.try(folder, ['config', 'user.email']);
  return known.exitCode === 0 ? [] : ['-c', 'user.name=Gantry', '-c', 'user.email=gantry@gantry.invalid'];
}

const commitStep = (look: Look, message: string | null): string[] =>
  message === null ? [] : [`commit ${look.uncommitted.length} changed files: ${message.split('\n', 1)[0]}`];
const freshStep = (bot: EndingBot, name: string, look: Look): string =>
  `switch ${bot.address} to the new branch ${name} from ${look.into ?? look.mainHead.slice(0, 12)}`;

function few(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

function refused(fact: string, action: string, extra?: Record<string, unknown>): AppError {
  return new AppError('refused', fact, action, { status: 409, ...(extra === undefined ? {} : { extra }) });
}
