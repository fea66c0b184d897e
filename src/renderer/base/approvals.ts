/** Approvals as the page shows them: waiting ones, longest first; then ended ones, latest first. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { isPending } from '../ui/approval-words.ts';
import { useNow } from '../ui/now.tsx';
import { useServices } from './services.tsx';

interface SplitApprovals {
  readonly pending: readonly Approval[];
  readonly ended: readonly Approval[];
}

export function splitApprovals(approvals: readonly Approval[], now: number): SplitApprovals {
  const endOf = (one: Approval): string => one.resolvedAt ?? one.expiresAt;
  return {
    pending: approvals
      .filter((one) => isPending(one, now))
      .sort((a, b) => a.requestedAt.localeCompare(b.requestedAt) || a.id.localeCompare(b.id)),
    ended: approvals.filter((one) => !isPending(one, now)).sort((a, b) => endOf(b).localeCompare(endOf(a))),
  };
}

/** A question whose asker polls may be extended: read it again before calling it expired. */
export function useLaterEnds(approvals: readonly Approval[], now: number): void {
  const { keys } = useServices();
  const client = useQueryClient();
  const over = approvals
    .filter((one) => one.state === 'pending' && !isPending(one, now))
    .map(({ id }) => id)
    .join(' ');
  useEffect(() => {
    if (over !== '') client.invalidateQueries({ queryKey: keys.approvals }).catch(() => {});
  }, [over, client, keys]);
}

export function usePendingApprovals(): readonly Approval[] {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals).data?.approvals;
  const now = useNow();
  useLaterEnds(approvals ?? [], now);
  return useMemo(() => splitApprovals(approvals ?? [], now).pending, [approvals, now]);
}
