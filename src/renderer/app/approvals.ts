/** The approvals as the page shows them: those that wait, longest first; then those that ended, latest first. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { isPending } from '../ui/approval-words.ts';
import { useNow } from '../ui/now.tsx';
import { useServices } from './services.tsx';

export interface SplitApprovals {
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

export function usePendingApprovals(): readonly Approval[] {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals).data?.approvals;
  const now = useNow();
  return useMemo(() => splitApprovals(approvals ?? [], now).pending, [approvals, now]);
}
