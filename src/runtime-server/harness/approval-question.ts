/** One question of a program as an approval: asked of a person, noted in the bot's evidence, recognised after a restart. Must not know a harness. */
import { AppError } from '../../contracts/common/errors.ts';
import type { DriverContext } from './adapter.ts';
import type { PermissionAnswer, PermissionAsk } from './harness.ts';

/** `released`: the waiting hook was released; the approval stays. */
export type End = PermissionAnswer | 'released';

/** The approval in which a call waits, as the bot remembers it. */
export interface HeldQuestion {
  readonly call: string;
  readonly id: string;
}

interface ApprovalQuestions {
  note(seen: string): void;
  /** Resolves when a person has answered, or `ended` has; then the approval is withdrawn too. */
  ask(
    ask: PermissionAsk,
    waits: {
      readonly away: AbortSignal;
      readonly ended: Promise<End>;
      readonly onAsked: (id: string) => void;
    },
  ): Promise<End>;
  /** Questions that an earlier runtime left waiting. */
  readonly earlier: readonly HeldQuestion[];
  /** It was answered in the pane, or given up. */
  withdraw(id: string): void;
}

export function createApprovalQuestions(context: DriverContext, harness: string): ApprovalQuestions {
  const { approvals, judge } = context;
  const kept = context.recall().asking;

  const note = (seen: string): void => {
    judge.take({ source: 'hook', rule: `${harness}.approval`, claim: null, seen });
  };

  return {
    note,
    async ask(ask, { away, ended, onAsked }) {
      const asked = await approvals.ask(ask, { signal: away });
      note(`asked a person: approval ${asked.id}`);
      onAsked(asked.id);
      context.poke();
      const answer = await Promise.race([asked.answer, ended]);
      if (answer === 'released') return answer;
      const by = 'by' in answer ? ` by ${answer.by.user} via ${answer.by.surface}` : '';
      note(`approval ${asked.id}: ${answer.kind}${by}${'surface' in answer ? ` (${answer.surface})` : ''}`);
      if (answer.kind === 'withdrawn') await approvals.withdraw(asked.id, answer.surface);
      return answer;
    },
    earlier: Array.isArray(kept) ? kept.filter(isHeldQuestion) : [],
    withdraw: (id) => void approvals.withdraw(id, 'pane').catch((fault: unknown) => note(wordsOf(fault))),
  };
}

/** A promise and what ends it. */
export function cuttable(): { readonly ended: Promise<End>; readonly cut: (end: End) => void } {
  const { promise, resolve } = Promise.withResolvers<End>();
  return { ended: promise, cut: resolve };
}

export function wordsOf(fault: unknown): string {
  return (fault instanceof AppError ? fault.fact : String(fault)).slice(0, 200);
}

function isHeldQuestion(value: unknown): value is HeldQuestion {
  return (
    typeof value === 'object' && value !== null && 'call' in value && 'id' in value && typeof value.id === 'string'
  );
}
