/** How a new run is shown: its steps, and for each bot its state, last words and what it changed. Reads only. */
import type { NodeCard } from '../../contracts/factory/node.ts';
import type { QuickBot, QuickRun } from '../../contracts/factory/quick-run-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Registry } from '../agents/registry.ts';
import type { WorktreeService } from '../agents/worktrees/index.ts';
import type { WorktreeSetup } from '../agents/worktrees/setup.ts';
import type { Base } from '../base/base.ts';
import type { Workflows } from '../workflows/index.ts';
import { readTexts } from '../workflows/store/pages.ts';
import { createSizes, readableSize } from './sizes.ts';
import type { QuickBotRecord, QuickRunRecord } from './store.ts';

export type StartedRun = QuickRunRecord & { readonly dagId: string };

type SizeOf = ReturnType<typeof createSizes>;

export const addressIn = (run: QuickRunRecord, bot: QuickBotRecord) => `${bot.slug}@${run.team}`;

export function createShownRuns({
  store,
  timers,
  registry,
  worktrees,
  setup,
  pages,
}: Pick<Base, 'store' | 'timers'> & {
  readonly registry: Pick<Registry, 'find'>;
  readonly worktrees: Pick<WorktreeService, 'sizeOf'>;
  readonly setup: Pick<WorktreeSetup, 'progress'>;
  readonly pages: Pick<Workflows['pages'], 'flow'>;
}): {
  /** In a list, which may wait for the readings of others, and shows what was read before where git takes long. */
  list(run: StartedRun): Promise<QuickRun>;
  /** As it is now: the answer to somebody who changed it. */
  show(run: StartedRun): Promise<QuickRun>;
} {
  const listed = createSizes(worktrees, timers);
  const now: SizeOf = (address) => readableSize(worktrees, address);

  async function botOf(
    run: StartedRun,
    bot: QuickBotRecord,
    { card, said, sizeOf }: { card: NodeCard; said: string | null; sizeOf: SizeOf },
  ) {
    const address = addressIn(run, bot);
    const member = registry.find(address);
    const size = bot.outcome === null ? await sizeOf(address) : null;
    const setUp = setup.progress(address);
    const shown: QuickBot = {
      agentId: member?.id ?? null,
      address,
      name: bot.slug,
      team: run.team,
      harness: bot.harness,
      model: bot.model,
      sandbox: bot.sandbox,
      dagId: run.dagId,
      nodeId: card.nodeId,
      status: card.status,
      state: member?.shown.state ?? 'offline',
      stateReason: member?.shown.reason ?? null,
      lastLine: said,
      ...(setUp === null ? {} : { setUp }),
      branch: bot.branch ?? size?.branch ?? null,
      diff: bot.diff ?? (size === null ? null : { files: size.files, added: size.added, removed: size.removed }),
      outcome: bot.outcome,
      outcomeAt: bot.outcomeAt === null ? null : iso(bot.outcomeAt),
    };
    return shown;
  }

  async function shown(run: StartedRun, sizeOf: SizeOf): Promise<QuickRun> {
    const { status, nodes } = await pages.flow(run.dagId);
    const said = await store.read((tx) => nodes.map((_, seq) => lastLineOf(readTexts(tx, run.dagId, seq))));
    const bots = await Promise.all(
      run.bots.map((bot, seq) => botOf(run, bot, { card: nodes[seq] as NodeCard, said: said[seq] ?? null, sizeOf })),
    );
    const { title, prompt, repository, baseBranch, baseCommit, savedAs } = run;
    const startedAt = iso(run.createdAt);
    return { id: run.dagId, title, prompt, repository, baseBranch, baseCommit, startedAt, status, savedAs, bots };
  }

  return { list: (run) => shown(run, listed), show: (run) => shown(run, now) };
}

function lastLineOf({ output, progress }: { output: string | null; progress: string }): string | null {
  const last = (text: string) => text.trimEnd().split('\n').at(-1)?.trim() ?? '';
  // A line of progress begins with its time and author.
  const line = output !== null && output !== '' ? last(output) : last(progress).replace(/^- \S+ \S+: /, '');
  return line === '' ? null : line.slice(0, 300);
}
