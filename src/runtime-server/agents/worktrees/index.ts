/**
 * Worktrees of bots (`worktree: true` in a team file): each has its own folder and branch, named after bot and node; a person sees its diff, and
 * merges, keeps or discards it. Composes the parts; must not know panes or runs.
 */

import { join, relative, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import {
  maxPatchLength,
  type WorktreeDiff,
  type WorktreeEnd,
  type WorktreeEnding,
} from '../../../contracts/factory/worktree-routes.ts';
import { createGit } from '../../../kit/process/git.ts';
import type { Base } from '../../base/base.ts';
import {
  catchUp,
  type EndingRequest,
  type PlannedEnding,
  planDiscard,
  planKeep,
  planMerge,
  planRestore,
} from './endings.ts';
import { changesOf, countsOf, lookAt, treeOf } from './look.ts';
import { branchOf, createPlaces, nodeBranch, type Place } from './places.ts';

/** A bot as worktrees see it. */
export interface WorktreeBot {
  readonly id: string;
  readonly address: string;
  readonly team: string;
  readonly slug: string;
  /** Folder that its team file names; null when the file has no worktree for it. */
  readonly cwd: string | null;
  /** It is in a turn: its files may change at any moment. */
  readonly busy: boolean;
}

/** The part that starting a team needs. */
export interface Worktrees {
  /** Folder that the bot will work in. `usage` when `cwd` is in no git repository with a commit. */
  check(cwd: string, team: string, slug: string): Promise<string>;
  /** Makes the worktree on branch `gantry/<team>/<slug>` unless it is there. */
  create(cwd: string, team: string, slug: string): Promise<void>;
  /** Before a turn: moves a worktree without work of its own to the current commit of the checkout. */
  catchUp(cwd: string, team: string, slug: string): Promise<void>;
}

export interface WorktreeService {
  /** `not_found` for a bot that has no worktree. */
  diff(id: string): Promise<WorktreeDiff>;
  end(
    how: WorktreeEnd,
    id: string,
    request: EndingRequest & { readonly dryRun?: boolean | undefined },
    by: { readonly actor: string; readonly surface: string },
  ): Promise<{ done: WorktreeEnding & { head: string } } | { dryRun: true; plan: WorktreeEnding }>;
  /** Brings discarded work back into the worktree: the newest of the bot, or what `keptAs` names. `refused` while there is newer work. */
  restore(
    id: string,
    request: { readonly keptAs?: string | undefined; readonly dryRun?: boolean | undefined },
    by: { readonly actor: string; readonly surface: string },
  ): Promise<{ done: WorktreeEnding & { head: string } } | { dryRun: true; plan: WorktreeEnding }>;
  /** Puts the bot on the branch of the node that it is about to get. Its existing changes move along and are never lost. */
  takeUp(address: string, node: { readonly stepId: string; readonly nodeId: string }): Promise<void>;
  /** Whether the bot works in a worktree, made or not. */
  has(address: string): boolean;
  /** Where commands that concern the bot's work run: its worktree's copy of the workspace; null without a worktree. */
  folderOf(address: string): string | null;
  /** The bot's worktree and its origin; null without a worktree, or before it is made. */
  placeOf(address: string): Place | null;
  /** Its branch and how much it changed, without the changes; null without a worktree. */
  sizeOf(address: string): Promise<WorktreeSize | null>;
  /** Removes a worktree without work of its own, and the branch it is on. `refused` while it has work. */
  remove(address: string): Promise<void>;
  /** Everything that the bot changed, as a unified diff; null without a worktree or without a change. */
  patchOf(address: string): Promise<string | null>;
}

export interface WorktreeSize {
  /** The last commit that branch and checkout both have. */
  readonly base: string;
  /** Null while it is in the middle of a rebase or the like. */
  readonly branch: string | null;
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  /** It has commits or files that the checkout lacks. */
  readonly hasWork: boolean;
}

/** The most characters in a proof: below the limit of proofs in any script. */
const maxProof = 6_000_000;

export function createWorktrees(
  deps: Pick<Base, 'store' | 'ledger' | 'clock'> & {
    readonly home: string;
    readonly workspace: string;
    /** By agent id or address; null for one that does not exist. */
    readonly findBot: (idOrAddress: string) => WorktreeBot | null;
  },
): Worktrees & WorktreeService {
  const git = createGit();
  const places = createPlaces({ home: deps.home, git });
  /** Changes of one repository come one after the other. */
  const busy = new Map<string, Promise<unknown>>();

  async function alone<T>(place: Place, task: () => Promise<T>): Promise<T> {
    const mine = (busy.get(place.top) ?? Promise.resolve()).then(task, task);
    busy.set(place.top, mine);
    try {
      return await mine;
    } finally {
      if (busy.get(place.top) === mine) busy.delete(place.top);
    }
  }

  const placeOf = (bot: WorktreeBot | null): Place | null =>
    bot === null || bot.cwd === null ? null : places.find(bot.cwd, bot.team, bot.slug);

  function known(id: string): { bot: WorktreeBot; place: Place } {
    const bot = deps.findBot(id);
    const place = placeOf(bot);
    if (bot !== null && place !== null) return { bot, place };
    if (bot === null || bot.cwd === null) {
      const action = 'Set worktree: true for it in its team file.';
      throw new AppError('not_found', `${bot?.address ?? id} has no worktree.`, action);
    }
    const left = places.leftOf(bot.team, bot.slug);
    if (left === null) {
      const action = 'It is created when the bot starts working.';
      throw new AppError('not_found', `The worktree of ${bot.address} does not exist yet.`, action);
    }
    throw new AppError(
      'refused',
      `${bot.cwd} is no longer the git repository that the worktree ${left} belongs to.`,
      'Put the repository back where it was; the files of the worktree are still there.',
      { status: 409 },
    );
  }

  /** Branches that the bot was on before it got its work, and that hold none. */
  async function removeEmptyBranches(top: string, address: string): Promise<void> {
    const bot = deps.findBot(address);
    if (bot === null) return;
    const plain = `refs/heads/${branchOf(bot.team, bot.slug)}`;
    const names = await git.run(top, ['for-each-ref', '--merged', 'HEAD', '--format=%(refname)', plain, `${plain}--*`]);
    for (const name of names.split('\n')) if (name !== '') await git.run(top, ['update-ref', '-d', name]);
  }

  async function settle(
    { plan, apply }: PlannedEnding,
    type: string,
    bot: WorktreeBot,
    dryRun: boolean | undefined,
    by: { readonly actor: string; readonly surface: string },
  ) {
    if (dryRun === true) return { dryRun: true as const, plan };
    const done = { ...plan, head: await apply() };
    const { agent, branch, into, keptAs, head, commits, files } = done;
    await deps.store.write((tx) =>
      deps.ledger.append(tx, {
        type,
        subject: `agent:${bot.id}`,
        actor: by.actor,
        surface: by.surface,
        body: { v: 1, agent, branch, into, keptAs, head, commits, files },
      }),
    );
    return { done };
  }

  return {
    check: places.check,
    create: places.create,
    async catchUp(cwd, team, slug) {
      const place = places.find(cwd, team, slug);
      if (place !== null) await alone(place, () => catchUp(git, { root: place.root, checkout: place.top }));
    },

    async diff(id) {
      const { bot, place } = known(id);
      const look = await lookAt(git, place.root, place.top);
      const changes = await changesOf(git, place.root, look.base, await treeOf(git, look), maxPatchLength);
      return {
        agent: bot.address,
        path: place.root,
        branch: look.branch ?? look.head,
        into: look.into,
        base: look.base,
        head: look.head,
        ahead: look.ahead,
        behind: look.behind,
        uncommitted: look.uncommitted.length,
        ...changes,
      };
    },

    async end(how, id, request, by) {
      const { bot, place } = known(id);
      const planner = { merge: planMerge, keep: planKeep, discard: planDiscard }[how];
      const subject = { ...bot, root: place.root, checkout: place.top };
      return alone(place, async () => {
        const planned = await planner(git, subject, request, deps.clock.now());
        const type = { merge: 'worktree.merged', keep: 'worktree.kept', discard: 'worktree.discarded' }[how];
        return settle(planned, type, bot, request.dryRun, by);
      });
    },

    async restore(id, request, by) {
      const { bot, place } = known(id);
      const subject = { ...bot, root: place.root, checkout: place.top };
      return alone(place, async () =>
        settle(await planRestore(git, subject, request), 'worktree.restored', bot, request.dryRun, by),
      );
    },

    async takeUp(address, node) {
      const bot = deps.findBot(address);
      if (bot === null || bot.cwd === null) return;
      // A bot without a pane gets its folder with its first work.
      if (placeOf(bot) === null) await places.create(bot.cwd, bot.team, bot.slug);
      const place = placeOf(bot);
      if (place === null) return;
      const branch = nodeBranch(bot.team, bot.slug, node);
      await alone(place, async () => {
        const look = await lookAt(git, place.root, place.top);
        if (look.branch === branch || look.branch === null) return;
        const clean = look.uncommitted.length === 0;
        const there = await git.try(place.root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
        if (there.exitCode === 0) {
          // Back to its earlier work for this node; uncommitted work of another node stays where it is.
          if (clean && !bot.busy) await git.run(place.root, ['switch', branch]);
          return;
        }
        const fresh = clean && look.ahead === 0 && !bot.busy;
        await git.run(place.root, ['switch', '--create', branch, ...(fresh ? [look.mainHead] : [])]);
        // The one that it leaves holds nothing that the checkout has not: only a name is given up.
        if (fresh && look.branch.startsWith(branchOf(bot.team, bot.slug))) {
          await git.run(place.root, ['update-ref', '-d', `refs/heads/${look.branch}`, look.head]);
        }
      });
    },

    placeOf: (address) => placeOf(deps.findBot(address)),

    has: (address) => deps.findBot(address)?.cwd != null,

    folderOf(address) {
      const place = placeOf(deps.findBot(address));
      if (place === null) return null;
      const way = relative(place.top, deps.workspace);
      const outside = way === '..' || way.startsWith(`..${sep}`);
      return join(place.root, outside ? place.inside : way);
    },

    async sizeOf(address) {
      const place = placeOf(deps.findBot(address));
      if (place === null) return null;
      const look = await lookAt(git, place.root, place.top);
      const { branch, base } = look;
      const hasWork = look.ahead > 0 || look.uncommitted.length > 0;
      // Most bots of a list changed nothing, and it is read every few seconds.
      if (!hasWork) return { branch, base, files: 0, added: 0, removed: 0, hasWork };
      const counts = await countsOf(git, place.root, base, await treeOf(git, look));
      return { branch, base, ...counts, hasWork };
    },

    async remove(address) {
      const place = placeOf(deps.findBot(address));
      if (place === null) return;
      await alone(place, async () => {
        const { branch, head, ahead, uncommitted } = await lookAt(git, place.root, place.top);
        if (branch === null || ahead > 0 || uncommitted.length > 0) {
          const action = 'Merge, keep or discard its work first.';
          throw new AppError('refused', `The worktree of ${address} has work of its own.`, action, { status: 409 });
        }
        // What git ignores there, such as installed packages, goes with it.
        await git.run(place.top, ['worktree', 'remove', '--force', place.root]);
        await git.run(place.top, ['update-ref', '-d', `refs/heads/${branch}`, head]);
        await removeEmptyBranches(place.top, address);
      });
    },

    async patchOf(address) {
      const place = placeOf(deps.findBot(address));
      if (place === null) return null;
      const look = await lookAt(git, place.root, place.top);
      const { patch } = await changesOf(git, place.root, look.base, await treeOf(git, look), maxProof);
      return patch === '' ? null : patch;
    },
  };
}
