/** Answers several questions one after the other, each for itself: one that somebody else answered first ends only itself. Must not know the page. */
import { Approval } from '../../../contracts/approvals/approval.ts';
import { AppError } from '../../../contracts/common/errors.ts';
import { describeProblem } from '../../ui/describe-problem.ts';

export type Decision = 'approve' | 'reject';

/** `won`: this answer counts. `other`: somebody else was first, and `now` is what they answered. `failed`: still open, for all that is known. */
export type Outcome =
  | { readonly approval: Approval; readonly was: 'won' }
  | { readonly approval: Approval; readonly was: 'other'; readonly now: Approval }
  | { readonly approval: Approval; readonly was: 'failed'; readonly why: string };

export async function answerMany(
  approvals: readonly Approval[],
  answer: (approval: Approval) => Promise<unknown>,
  onStep: (done: number) => void = () => {},
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const approval of approvals) {
    outcomes.push(await outcomeOf(approval, answer));
    onStep(outcomes.length);
  }
  return outcomes;
}

async function outcomeOf(approval: Approval, answer: (approval: Approval) => Promise<unknown>): Promise<Outcome> {
  try {
    await answer(approval);
    return { approval, was: 'won' };
  } catch (error) {
    const other = Approval.safeParse(error instanceof AppError ? error.options.extra?.approval : undefined);
    if (other.success) return { approval, was: 'other', now: other.data };
    return { approval, was: 'failed', why: describeProblem(error).fact };
  }
}
