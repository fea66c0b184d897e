/**
 * Approvals as the cloud keeps them: the row, its wire shape, and its transitions as data. Pure. Must not know SQL or
 * HTTP.
 */
import type {
  Approval,
  ApprovalDecision,
  ApprovalDetail,
  ApprovalRisk,
  ApprovalSource,
} from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { EventData } from '../../contracts/events/registry.ts';
import { iso } from '../../kit/clock/clock.ts';

/** Times in milliseconds since the epoch. */
export interface ApprovalRow {
  readonly id: string;
  readonly userId: string;
  readonly computerId: string;
  readonly engineId: string;
  readonly ledgerId: string;
  readonly kind: string;
  readonly title: string;
  readonly summary: string;
  /** JSON of its details. */
  readonly details: string | null;
  readonly reason: string | null;
  readonly risk: ApprovalRisk;
  readonly source: ApprovalSource;
  readonly agentId: string | null;
  readonly botName: string | null;
  readonly dagId: string | null;
  readonly nodeId: string | null;
  readonly runId: string | null;
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly state: 'pending' | 'resolved';
  readonly decision: ApprovalDecision | null;
  readonly resolvedAt: number | null;
  readonly resolvedUser: string | null;
  readonly resolvedSurface: string | null;
  readonly note: string | null;
  readonly appliedAt: number | null;
}

/** `resolve`: a person answers. `withdraw`: the computer that asked no longer waits. */
export type ApprovalMove = 'resolve' | 'withdraw';
export type ApprovalPhase = 'pending' | 'expired' | 'resolved';

/** What each move does in each phase: the next phase, or the reason for the refusal. */
export const approvalMoves: Readonly<
  Record<ApprovalPhase, Readonly<Record<ApprovalMove, 'resolved' | 'answered' | 'expired' | 'nothing'>>>
> = {
  pending: { resolve: 'resolved', withdraw: 'resolved' },
  expired: { resolve: 'expired', withdraw: 'resolved' },
  resolved: { resolve: 'answered', withdraw: 'nothing' },
};

export function phaseOf(row: Pick<ApprovalRow, 'state' | 'expiresAt'>, now: number): ApprovalPhase {
  if (row.state === 'resolved') return 'resolved';
  return row.expiresAt <= now ? 'expired' : 'pending';
}

/** The data of an approval's events. */
export function eventData(row: ApprovalRow): EventData<'approval.requested'> {
  return {
    ...(row.agentId === null ? {} : { botId: row.agentId }),
    ...(row.botName === null ? {} : { botName: row.botName }),
    approvalId: row.id,
    kind: row.kind,
    title: row.title,
    risk: row.risk,
    source: row.source,
  };
}

export const detailsOf = ({ details }: Pick<ApprovalRow, 'details'>): ApprovalDetail[] =>
  details === null ? [] : (JSON.parse(details) as ApprovalDetail[]);

export function toApproval(row: ApprovalRow, now: number): Approval {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    decision: row.decision,
    title: row.title,
    summary: row.summary,
    ...(row.details === null ? {} : { details: detailsOf(row) }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    risk: row.risk,
    source: row.source,
    agentId: row.agentId,
    ...(row.dagId === null ? {} : { dagId: row.dagId }),
    ...(row.nodeId === null ? {} : { nodeId: row.nodeId }),
    ...(row.runId === null ? {} : { runId: row.runId }),
    requestedAt: iso(row.requestedAt),
    expiresAt: iso(row.expiresAt),
    ...(row.state === 'pending' ? { remainingMs: Math.max(0, row.expiresAt - now) } : {}),
    resolvedAt: row.resolvedAt === null ? null : iso(row.resolvedAt),
    resolvedBy:
      row.resolvedUser === null || row.resolvedSurface === null
        ? null
        : { user: row.resolvedUser, surface: row.resolvedSurface },
    appliedAt: row.appliedAt === null ? null : iso(row.appliedAt),
    note: row.note,
  };
}

/** Why this row cannot be answered now; null when it can. Every surface says the same. */
export function refusal(row: ApprovalRow, now: number): AppError | null {
  const outcome = approvalMoves[phaseOf(row, now)].resolve;
  const extra = { approval: toApproval(row, now) };
  if (outcome === 'expired') {
    return new AppError(
      'refused',
      `The approval ${row.id} expired at ${iso(row.expiresAt)}; nothing was done.`,
      'It has to be asked again.',
      { status: 410, wireCode: 'approval_expired', extra },
    );
  }
  if (outcome !== 'answered') return null;
  const at = iso(row.resolvedAt ?? now);
  const words = { approve: 'approved', reject: 'rejected' } as const;
  const fact =
    row.decision === null
      ? `The approval ${row.id} was withdrawn via ${row.resolvedSurface} at ${at}: it is no longer needed.`
      : `The approval ${row.id} was already ${words[row.decision]} by ${row.resolvedUser} via ${row.resolvedSurface} at ${at}.`;
  return new AppError('refused', fact, 'Nothing is left to answer.', {
    status: 409,
    wireCode: 'already_resolved',
    extra,
  });
}
