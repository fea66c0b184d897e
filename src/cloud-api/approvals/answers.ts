/**
 * Brings answers to the computers that asked. Each computer has one lane, and the transaction of the answer appends to it, so a crash loses none. The
 * computer reports whether it acted on the answer or had stopped waiting. Must not know how a computer is reached.
 */
import type { AnswerOutcome, ApprovalAnswerBody } from '../../contracts/approvals/approval.ts';
import { answerApproval } from '../../contracts/approvals/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../kit/lane/lane.ts';
import type { Op, SharedTx } from '../../kit/store/shared-store.ts';
import type { ApprovalRow } from './model.ts';
import type { ApprovalStore } from './store.ts';

/** Calls a computer's runtime as the cloud, signed with its device's key. Throws when it cannot be reached. */
export type CallRuntime = (
  computerId: string,
  request: { readonly method: string; readonly path: string; readonly body: unknown; readonly signal: AbortSignal },
) => Promise<{ readonly status: number; readonly body: unknown }>;

export type OpenAnswerLanes = (
  send: (item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>,
) => SharedLanes;

export interface Answers {
  /** Call it in the transaction that resolved the row. */
  queue(tx: SharedTx, row: ApprovalRow): Op<boolean>;
  /** The computer can be reached again. */
  wake(computerId: string): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** After the deadline plus this long, the computer's hold is long gone. */
const retentionAfterExpiryMs = 24 * 60 * 60_000;

export function createAnswers({
  openLanes,
  call,
  store,
  clock,
  log,
}: {
  readonly openLanes: OpenAnswerLanes;
  readonly call: CallRuntime;
  readonly store: Pick<ApprovalStore, 'applied'>;
  readonly clock: Clock;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Answers {
  const lanes = openLanes(async (item, signal) => {
    const { method, path } = answerApproval;
    const { status, body } = await call(item.lane, { method, path, body: item.body, signal });
    if (status === 200) {
      const applied = (body as AnswerOutcome).state === 'applied';
      if (!applied) return { to: 'done' };
      return { to: 'done', commit: (tx) => store.applied(tx, item.id, clock.now()) };
    }
    // 401: the computer's clock is off, or the signature was used before. The next attempt gets a new signature.
    if (status === 401 || status === 408 || status === 429 || status >= 500) {
      return { to: 'retry', reason: `the computer answered ${status}` };
    }
    log.warn('A computer refused an answer to its approval.', { id: item.id, computer: item.lane, status });
    return { to: 'dead', reason: `the computer answered ${status}` };
  });
  return {
    queue(tx, row) {
      const body: ApprovalAnswerBody = {
        id: row.id,
        decision: row.decision!,
        note: row.note,
        resolvedBy: { user: row.resolvedUser!, surface: row.resolvedSurface! },
        at: iso(row.resolvedAt!),
      };
      const deadline = row.expiresAt + retentionAfterExpiryMs;
      return lanes.append(tx, { lane: row.computerId, id: row.id, body, deadline, person: row.userId });
    },
    wake: (computerId) => lanes.wake(computerId),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}
