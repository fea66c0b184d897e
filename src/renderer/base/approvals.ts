/** Approvals as the page shows them: waiting ones, longest first; then ended ones, latest first. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { isPending } from '../ui/approval-words.ts';
import { useOfNow } from '../ui/now.tsx';
import { useServices } from './services.tsx';

interface SplitApprovals {
  readonly pending: readonly Approval[];
  readonly ended: readonly Approval[];
}

/** By their letters: times of the wire and ids, which need no language's order. */
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function splitApprovals(approvals: readonly Approval[], now: number): SplitApprovals {
  const endOf = (one: Approval): string => one.resolvedAt ?? one.expiresAt;
  return {
    pending: approvals
      .filter((one) => isPending(one, now))
      .sort((a, b) => byText(a.requestedAt, b.requestedAt) || byText(a.id, b.id)),
    ended: approvals.filter((one) => !isPending(one, now)).sort((a, b) => byText(endOf(b), endOf(a))),
  };
}

/** A question whose asker polls may be extended: read it again before calling it expired. */
export function useLaterEnds(approvals: readonly Approval[]): void {
  const { keys } = useServices();
  const client = useQueryClient();
  const over = useOfNow((now) =>
    approvals.flatMap((one) => (one.state === 'pending' && !isPending(one, now) ? one.id : [])).join(' '),
  );
  useEffect(() => {
    if (over !== '') client.invalidateQueries({ queryKey: keys.approvals }).catch(() => {});
  }, [over, client, keys]);
}

/** What was made of a list, and how long it holds: the list changes when something is asked or answered, else only as one expires. */
interface Split extends SplitApprovals {
  readonly made: number;
  readonly until: number;
}
const splits = new WeakMap<readonly Approval[], Split>();

/** Once for all who need it: every pane looks for its questions, and there may be hundreds of both. */
function splitOnce(approvals: readonly Approval[], now: number): SplitApprovals {
  const before = splits.get(approvals);
  if (before !== undefined && before.made <= now && now < before.until) return before;
  const { pending, ended } = splitApprovals(approvals, now);
  const until = Math.min(...pending.map(({ expiresAt }) => Date.parse(expiresAt)));
  const split = { pending, ended, made: now, until };
  splits.set(approvals, split);
  return split;
}

const noApprovals: readonly Approval[] = [];

export function useSplitApprovals(): SplitApprovals {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals).data?.approvals ?? noApprovals;
  return useOfNow((now) => splitOnce(approvals, now));
}

export const usePendingApprovals = (): readonly Approval[] => useSplitApprovals().pending;

const noQuestions: ReadonlyMap<string, readonly Approval[]> = new Map();
const byAsker = new WeakMap<readonly Approval[], ReadonlyMap<string, readonly Approval[]>>();

/** Those of one bot, longest waiting first. */
export function useQuestionsOf(botId: string): readonly Approval[] {
  const pending = usePendingApprovals();
  let questions = byAsker.get(pending) ?? noQuestions;
  if (!byAsker.has(pending)) {
    questions = Map.groupBy(pending, ({ agentId }) => agentId ?? '');
    byAsker.set(pending, questions);
  }
  return questions.get(botId) ?? noApprovals;
}
