/** Runs that were started from a prompt, as Home and the pages of their bots show them: one row a bot. Must not know how they are read or drawn. */
import { closedNodeStatuses } from '../../../../contracts/factory/node.ts';
import type { QuickBot, QuickDiff, QuickRun } from '../../../../contracts/factory/quick-run-routes.ts';
import type { WorktreeDiff } from '../../../../contracts/factory/worktree-routes.ts';
import { saysAll } from '../../../base/found-rows.ts';
import { nameOfWho } from './new-run.ts';

export interface QuickRow {
  readonly key: string;
  readonly run: QuickRun;
  readonly bot: QuickBot;
  /** The program or model. */
  readonly who: string;
}

const isClosed = ({ status, outcome }: QuickBot): boolean =>
  outcome !== null || closedNodeStatuses.some((one) => one === status);

const rowsOf = (runs: readonly QuickRun[]): QuickRow[] =>
  runs.flatMap((run) => run.bots.map((bot) => ({ key: `${run.id} ${bot.name}`, run, bot, who: whoOf(bot) })));

export const whoOf = ({ harness, model }: QuickBot): string =>
  harness === null ? (model ?? '') : nameOfWho(model === null ? harness : `${harness}:${model}`);

/** What a bot works on for a run, until that has its outcome. */
export const rowOfBot = (runs: readonly QuickRun[], agentId: string): QuickRow | undefined =>
  rowsOf(runs).find(({ bot }) => bot.agentId === agentId && bot.outcome === null);

export const underWayRows = (runs: readonly QuickRun[]): readonly QuickRow[] =>
  rowsOf(runs).filter(({ bot }) => !isClosed(bot));

/** What ended and waits for its outcome, and what got one since the person last looked; null: they never did. */
export const endedRows = (runs: readonly QuickRun[], since: string | null): readonly QuickRow[] =>
  rowsOf(runs).filter(
    ({ bot }) =>
      isClosed(bot) && (bot.outcome === null || (since !== null && bot.outcomeAt !== null && bot.outcomeAt > since)),
  );

/** Where several work on one prompt, with who it is. */
export const titleOf = ({ run, who }: QuickRow): string => (run.bots.length > 1 ? `${run.title} · ${who}` : run.title);

/** Its title and prompt, who works on it and where, and what it said last. */
export const quickRowSays = ({ run, bot, who }: QuickRow, text: string): boolean =>
  saysAll([run.title, run.prompt, run.repository, who, bot.address, bot.lastLine], text);

export const folderOf = ({ run }: QuickRow): string =>
  run.repository.split(/[\\/]/).findLast(Boolean) ?? run.repository;

/** Those beside it that have no outcome yet. */
export const siblingsOf = ({ run, bot }: Pick<QuickRow, 'run' | 'bot'>): readonly QuickBot[] =>
  run.bots.filter((one) => one.name !== bot.name && one.outcome === null);

/** Said in place of an undo. */
export const nothingBack = 'There was no work to bring back.';

/** A discarded bot has a branch only where work was set aside with it: of others there is nothing to bring back. */
export const canBringBack = (bot: QuickBot | undefined): boolean => bot?.outcome === 'discarded' && bot.branch !== null;

export function diffWords(diff: QuickDiff | null): string {
  if (diff === null) return '';
  if (diff.files === 0) return 'No changes';
  return `+${diff.added} −${diff.removed} in ${diff.files} ${diff.files === 1 ? 'file' : 'files'}`;
}

export const sizeOf = (files: WorktreeDiff['files']): QuickDiff => ({
  files: files.length,
  added: files.reduce((all, { added }) => all + (added ?? 0), 0),
  removed: files.reduce((all, { removed }) => all + (removed ?? 0), 0),
});
