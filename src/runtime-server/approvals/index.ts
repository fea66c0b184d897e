/**
 * Approvals on this computer: the part that asks, the outbox that carries questions to the cloud, and the route that takes answers. Owns their
 * composition; the host gives it the store and the connection to the cloud.
 */
import { answerApproval, listApprovals } from '../../contracts/approvals/routes.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Capability } from '../../contracts/link/knows.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { type ApprovalsDeps, createApprovals, type HeldApprovals } from './create-approvals.ts';
import { type CallHome, createReports, type OpenReportLanes } from './reports.ts';

export type { ApprovalAnswer, ApprovalAsk, Approvals, ApprovalVerdict } from './approvals.ts';
export { liveApprovals } from './create-approvals.ts';
export { holdMigrations, waitingSince } from './holds.ts';
export type { CallHome } from './reports.ts';

export interface HeldApprovalsDeps extends Omit<ApprovalsDeps, 'reports'> {
  readonly openLanes: OpenReportLanes;
  readonly call: CallHome;
  readonly knows: () => Promise<ReadonlySet<Capability>>;
  readonly botName?: (agentId: string) => string | null;
}

interface ApprovalParts {
  readonly approvals: HeldApprovals;
  readonly routes: readonly BoundRoute[];
  /** Home can be reached again: waiting reports are sent at once. */
  wake(): void;
}

export function createHeldApprovals(deps: HeldApprovalsDeps): ApprovalParts {
  const reports = createReports({ ...deps, engineId: deps.ledger.engineId });
  const approvals = createApprovals({ ...deps, reports });
  return {
    approvals,
    wake: () => reports.wake(),
    routes: [
      bind(listApprovals, async ({ principal, query }) => {
        const live = principal.userId === deps.ownerId && query.state !== 'resolved' ? await approvals.live() : [];
        const waiting = live.slice(0, query.limit ?? live.length);
        if (waiting.length === 0) {
          return {
            body: {
              approvals: waiting,
              waits: 'No approvals wait on this computer. Those in the home cloud are not shown.',
            },
          };
        }
        const why = await reports.trouble();
        const away = why === null ? '' : ` They have not reached it (${why}).`;
        const waits = `These approvals wait on this computer and are answered in the home cloud.${away}`;
        return { body: { approvals: waiting, waits } };
      }),
      bind(answerApproval, async ({ principal, body }) => {
        if (principal.userId !== deps.ownerId) {
          throw new AppError('refused', 'This computer belongs to somebody else.', 'Pair it again.');
        }
        return { body: { state: await approvals.answer(body) } };
      }),
    ],
  };
}
