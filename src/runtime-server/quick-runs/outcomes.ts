/**
 * What a person decides about the work of each bot of a new run: merge it, keep its branch, discard it, or bring a discarded one back. Also shows what a
 * bot changed, before and after.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { closedNodeStatuses } from '../../contracts/factory/node.ts';
import type { QuickOutcome } from '../../contracts/factory/quick-run-routes.ts';
import { maxPatchLength, type WorktreeDiff } from '../../contracts/factory/worktree-routes.ts';
import type { Git } from '../../kit/process/git.ts';
import type { BotTokens } from '../agents/bot-homes.ts';
import type { Registry } from '../agents/registry.ts';
import type { WorktreeService } from '../agents/worktrees/index.ts';
import { changesOf } from '../agents/worktrees/look.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { Workflows } from '../workflows/index.ts';
import { addressIn, type StartedRun } from './shown.ts';
import { readableSize } from './sizes.ts';
import { type QuickBotRecord, type QuickRunRecord, setOutcome } from './store.ts';
import type { QuickTeams } from './teams.ts';

export type QuickRunDiff = Pick<WorktreeDiff, 'branch' | 'base' | 'head' | 'files' | 'patch' | 'cut'>;

interface Outcomes {
  diff(run: QuickRunRecord, bot: QuickBotRecord): Promise<QuickRunDiff>;
  /** The steps that ending this bot's work in this way takes. Throws where it was decided before. */
  plan(run: QuickRunRecord, bot: QuickBotRecord, outcome: QuickOutcome, by: Actor): Promise<string[]>;
  end(run: StartedRun, bot: QuickBotRecord, outcome: QuickOutcome, by: Actor): Promise<void>;
}

export function createOutcomes(
  deps: Pick<Base, 'ledger' | 'clock'> & {
    readonly workspace: string;
    readonly git: Git;
    readonly quickTeams: QuickTeams;
    readonly registry: Pick<Registry, 'find' | 'stop'>;
    readonly tokens: Pick<BotTokens, 'revoke'>;
    readonly worktrees: Pick<WorktreeService, 'end' | 'sizeOf' | 'remove' | 'diff'>;
    readonly workflows: Pick<Workflows, 'pages' | 'verbs'>;
  },
): Outcomes {
  const { workspace, quickTeams, git, registry, worktrees } = deps;

  async function discard(run: QuickRunRecord, bot: QuickBotRecord, by: Actor): Promise<QuickBotRecord> {
    const address = addressIn(run, bot);
    const member = registry.find(address);
    if (member?.live === true) {
      await registry.stop(member.id);
      await deps.tokens.revoke(member.id);
    }
    const size = await worktrees.sizeOf(address);
    const aside = size?.hasWork === true ? await worktrees.end('discard', address, {}, by) : null;
    await worktrees.remove(address);
    const diff = size === null ? null : { files: size.files, added: size.added, removed: size.removed };
    const done = aside !== null && 'done' in aside ? aside.done : null;
    const commits = { diffBase: size?.base ?? null, diffHead: done?.head ?? null };
    return { ...bot, branch: done?.branch ?? null, keptAs: done?.keptAs ?? null, diff, ...commits };
  }

  /** The work of a discarded bot is still under its ref. */
  async function bringBack(run: QuickRunRecord, bot: QuickBotRecord): Promise<QuickBotRecord> {
    if (bot.keptAs === null || bot.branch === null) {
      throw conflict(`${bot.slug} had no work when it was discarded.`, 'There is nothing to bring back.');
    }
    await git.run(run.repository, ['branch', '--no-track', bot.branch, bot.keptAs]);
    return { ...bot, keptAs: null };
  }

  async function finish(run: QuickRunRecord, bot: QuickBotRecord, how: 'merge' | 'keep', by: Actor) {
    const address = addressIn(run, bot);
    const size = await worktrees.sizeOf(address);
    const answer = await worktrees.end(how, address, { commit: run.title }, by);
    const done = 'done' in answer ? answer.done : null;
    const diff = size === null ? null : { files: size.files, added: size.added, removed: size.removed };
    const diffHead = done?.head ?? null;
    // What a merge brought lies between the branch as it was and as it is.
    const merged = how === 'merge' && diffHead !== null;
    const diffBase = merged ? await git.run(run.repository, ['rev-parse', `${diffHead}^1`]) : (size?.base ?? null);
    return { ...bot, branch: done?.keptAs ?? done?.branch ?? null, diff, diffBase, diffHead };
  }

  /**
   * The step of a discarded bot is given up. With a merge or a kept branch a step has its person's yes, also where its bot stopped without a report: its
   * run would be at work for ever. A bot that is at work may still report it.
   */
  async function settleStep(run: StartedRun, bot: QuickBotRecord, outcome: QuickOutcome, by: Actor) {
    const address = addressIn(run, bot);
    const seq = run.bots.indexOf(bot);
    const card = (await deps.workflows.pages.flow(run.dagId)).nodes[seq];
    if (card === undefined || (closedNodeStatuses as readonly string[]).includes(card.status)) return;
    const ref = { dagId: run.dagId, nodeId: card.nodeId };
    const caller = { ...by, address: null };
    try {
      if (outcome === 'discarded') await deps.workflows.verbs.fail(ref, caller, 'Its work was discarded.');
      else if (card.status === 'needs_you' || !atWork.some((state) => state === registry.find(address)?.shown.state))
        await deps.workflows.verbs.done(ref, caller, { note: `Its work was ${outcome}.`, taken: true });
    } catch (error) {
      // It moved on in the meantime, or cannot be ended so: the outcome counts all the same.
      if (!(error instanceof AppError)) throw error;
    }
  }

  return {
    diff: (run, bot) => diffOf(git, worktrees, run, bot),

    async plan(run, bot, outcome, by) {
      const address = addressIn(run, bot);
      if (bot.outcome !== null && !isBroughtBack(bot, outcome)) {
        const more =
          bot.outcome === 'discarded' ? 'Keep it to bring its branch back.' : 'Start a new run for more work.';
        throw conflict(`The work of ${bot.slug} is already ${bot.outcome}.`, more);
      }
      if (outcome === 'discarded') {
        const size = await readableSize(worktrees, address);
        return [
          ...(registry.find(address)?.live === true ? [`stop ${address}`] : []),
          ...(size?.hasWork === true ? [`set ${size.branch ?? 'its work'} aside; Keep brings it back`] : []),
          ...(size === null ? [] : ['remove its worktree and branch']),
        ];
      }
      if (bot.outcome === 'discarded') return [`bring back ${bot.branch ?? 'its branch'}`];
      const how = outcome === 'merged' ? 'merge' : 'keep';
      const answer = await worktrees.end(how, address, { commit: run.title, dryRun: true }, by);
      return 'plan' in answer ? answer.plan.steps : [];
    },

    async end(run, bot, outcome, by) {
      const ended =
        outcome === 'discarded'
          ? await discard(run, bot, by)
          : isBroughtBack(bot, outcome)
            ? await bringBack(run, bot)
            : await finish(run, bot, outcome === 'merged' ? 'merge' : 'keep', by);
      const outcomeAt = deps.clock.now();
      await quickTeams.change(run.team, (tx) => {
        setOutcome(tx, workspace, run.team, { ...ended, outcome, outcomeAt });
        const body = { v: 1, bot: addressIn(run, bot), outcome, branch: ended.branch, keptAs: ended.keptAs };
        deps.ledger.append(tx, { type: 'run.outcome', subject: `run:${run.dagId}`, ...by, body });
      });
      await settleStep(run, bot, outcome, by);
    },
  };
}

/** States in which a bot may still report what it was asked for. */
const atWork = ['starting', 'working', 'needs_you', 'checking'];

const isBroughtBack = (bot: QuickBotRecord, outcome: QuickOutcome) => bot.outcome === 'discarded' && outcome === 'kept';

async function diffOf(
  git: Git,
  worktrees: Pick<WorktreeService, 'diff'>,
  run: QuickRunRecord,
  bot: QuickBotRecord,
): Promise<QuickRunDiff> {
  if (bot.outcome === null) {
    const { branch, base, head, files, patch, cut } = await worktrees.diff(addressIn(run, bot));
    return { branch, base, head, files, patch, cut };
  }
  const commits = await commitsOf(git, run, bot);
  const { base, head } = commits ?? { base: run.baseCommit, head: run.baseCommit };
  const none = { files: [], patch: '', cut: false };
  const changes = commits === null ? none : await changesOf(git, run.repository, base, head, maxPatchLength);
  return { branch: bot.branch ?? bot.slug, base, head, ...changes };
}

/** The commits between which the work of an ended bot lies; null: it had no work. */
async function commitsOf(
  git: Git,
  run: QuickRunRecord,
  bot: QuickBotRecord,
): Promise<{ base: string; head: string } | null> {
  const { diffBase, diffHead, branch, keptAs } = bot;
  const gone = new AppError(
    'not_found',
    `The commits of ${addressIn(run, bot)} are no longer in ${run.repository}.`,
    'Look for the branch in another clone, or in the log of the branch that it was merged into.',
  );
  const has = (commit: string) =>
    git.try(run.repository, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`]).catch(() => null);
  if (diffBase !== null && diffHead !== null) {
    if ((await has(diffHead))?.exitCode !== 0) throw gone;
    return { base: diffBase, head: diffHead };
  }
  if (bot.outcome === 'discarded' && keptAs === null) return null;
  // It ended before the commits were noted. A merged branch may have moved on, and shows nothing of its own.
  const ref = keptAs ?? (bot.outcome === 'kept' && branch !== null ? `refs/heads/${branch}` : null);
  const head = ref === null ? null : await has(ref);
  if (head?.exitCode !== 0) throw gone;
  const base = await git.run(run.repository, ['merge-base', run.baseCommit, head.stdout.trim()]);
  return { base, head: head.stdout.trim() };
}

export function conflict(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 409 });
}
