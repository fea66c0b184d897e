/** Nodes as a person reads them in a terminal. */
import { type NodeCard, nodeCauses } from '../../contracts/factory/node.ts';
import type { Context } from '../command.ts';
import { table } from '../table.ts';
import { oneLine, spoken } from '../words.ts';

/** `failed: its command failed (It ended with status 3.)` */
export function why(card: NodeCard): string {
  if (card.cause === null) return '';
  const detail = card.detail === null ? '' : ` (${oneLine(card.detail, 200)})`;
  return `${nodeCauses[card.cause]}${detail}`;
}

export function nodeTable(context: Context, cards: readonly NodeCard[]): string {
  const rows = cards.map((card) => [
    card.stepId,
    spoken(card.status),
    card.assignee ?? '-',
    card.proof.total === 0 ? '-' : `${card.proof.proven}/${card.proof.total}`,
    card.attempt === 0 ? '-' : String(card.attempt),
    why(card),
  ]);
  return table(['step', 'status', 'by', 'proof', 'attempt', 'why'], rows, context.output.width);
}
