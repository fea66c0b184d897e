/**
 * The rules of approvals behind every route: one row, one winner, the same refusals everywhere. Notifies listeners in this process of each change
 * once it is durable. Must not know HTTP.
 */
import type { Approval, ApprovalDecision, ApprovalDetail, ApprovalReport } from '../../contracts/approvals/approval.ts';
import { approvalEventId, byOwnClock, parseApprovalEventId } from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { EventData } from '../../contracts/events/registry.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Asked, Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';
import type { Answers } from './answers.ts';
import { type ApprovalRow, detailsOf, eventData, phaseOf, refusal, toApproval } from './model.ts';
import type { ApprovalOwner, ApprovalStore } from './store.ts';

/** One approval event of the factory stream. */
interface ApprovalEvent {
  readonly userId: string;
  readonly id: string;
  readonly data: {
    readonly type: 'approval.requested' | 'approval.resolved';
    readonly at: string;
    readonly data: Approval;
  };
}

interface Decision {
  readonly decision: ApprovalDecision;
  readonly note: string | null;
  /** Who answers, and through which interface. */
  readonly userId: string;
  readonly surface: string;
}

/** Until when this person can answer it (milliseconds since the epoch), and the question. `unknown`: this person has no such approval. */
export type Answerable =
  | {
      readonly until: number;
      readonly summary: string;
      readonly details: readonly ApprovalDetail[];
      readonly reason: string | null;
    }
  | 'closed'
  | 'unknown';

export interface ApprovalService {
  put(id: string, report: ApprovalReport, owner: ApprovalOwner): Promise<Approval>;
  /** Throws `refused` 409 when it was answered before, 410 when it expired. */
  resolve(id: string, decision: Decision): Promise<Approval>;
  /** The refusals of `resolve`, without answering. */
  check(id: string, userId: string): Promise<Approval>;
  /** `not_found` for one that this user does not have. */
  get(id: string, userId: string): Promise<Approval>;
  list(listing: { userId: string; state?: 'pending' | 'resolved'; limit?: number }): Promise<Approval[]>;
  owns(userId: string, id: string): Promise<boolean>;
  open(tx: SharedReader, id: string, userId: string): Op<Answerable>;
  /** The position of the runtime's ledger before the approval of this event id; null when this user has no such approval. */
  ledgerIdOf(eventId: string, userId: string): Promise<string | null>;
  /** Returns a function that unsubscribes. */
  onEvent(listener: (event: ApprovalEvent) => void): () => void;
  close(): void;
}

/** The backbone: each change is written to it in its own transaction. */
export interface EmitApprovalEvent {
  emit<T extends 'approval.requested' | 'approval.resolved'>(
    tx: SharedTx,
    event: {
      readonly userId: string;
      readonly type: T;
      readonly sourceId: string;
      readonly occurredAt: number;
      readonly data: EventData<T>;
      readonly computerId: string;
    },
  ): Op<boolean>;
  /** Every event that any process stores. Returns a function that unsubscribes. */
  follow(
    types: readonly ('approval.requested' | 'approval.resolved')[],
    listener: (event: { readonly type: string; readonly sourceId: string }) => Promise<void>,
  ): () => void;
}

const told = ['approval.requested', 'approval.resolved'] as const;

export function createApprovalService(deps: {
  readonly store: ApprovalStore;
  readonly answers: Pick<Answers, 'queue'>;
  readonly events: EmitApprovalEvent;
  readonly clock: Clock;
  /** Other processes answer and ask on the same database; listeners here hear of that as well. */
  readonly shared: boolean;
}): ApprovalService {
  const { store, answers, events, clock, shared } = deps;
  const listeners = new Set<(event: ApprovalEvent) => void>();

  function tell(type: ApprovalEvent['data']['type'], row: ApprovalRow): void {
    const id = approvalEventId(row.engineId, row.id);
    const event = { userId: row.userId, id, data: { type, at: iso(clock.now()), data: toApproval(row, clock.now()) } };
    for (const listener of [...listeners]) listener(event);
  }

  function emit(tx: SharedTx, row: ApprovalRow, change: 'requested' | 'resolved'): Asked<unknown> {
    const { userId, id: sourceId, computerId } = row;
    if (change === 'requested') {
      const occurredAt = row.requestedAt;
      const about = { userId, sourceId, occurredAt, data: eventData(row), computerId };
      return events.emit(tx, { ...about, type: 'approval.requested' });
    }
    const data = { ...eventData(row), decision: row.decision };
    const occurredAt = row.resolvedAt ?? clock.now();
    return events.emit(tx, { userId, type: 'approval.resolved', sourceId, occurredAt, data, computerId });
  }

  async function check(id: string, userId: string): Promise<Approval> {
    const row = await store.get(id);
    if (row === null || row.userId !== userId) throw unknown(id);
    const refused = refusal(row, clock.now());
    if (refused !== null) throw refused;
    return toApproval(row, clock.now());
  }

  const stop = shared
    ? events.follow(told, async ({ type, sourceId }) => {
        const row = await store.get(sourceId);
        if (row !== null) tell(type as ApprovalEvent['data']['type'], row);
      })
    : () => {};

  /** Events that other processes must hear come back from the database. */
  function tellHere(type: ApprovalEvent['data']['type'], row: ApprovalRow): void {
    if (!shared) tell(type, row);
  }

  return {
    check,
    async get(id, userId) {
      const row = await store.get(id);
      if (row === null || row.userId !== userId) throw unknown(id);
      return toApproval(row, clock.now());
    },
    close: stop,
    async put(id, given, owner) {
      // The computer's clock does not count here, only how long it still waits.
      const report = byOwnClock(given, clock.now());
      const put = await store.put(id, report, owner, emit);
      // Another computer's id reads as unusable, so nobody learns who has it.
      if (put === 'foreign') throw unknown(id);
      if (put.change !== 'nothing')
        tellHere(put.change === 'requested' ? 'approval.requested' : 'approval.resolved', put.row);
      return toApproval(put.row, clock.now());
    },
    async resolve(id, { decision, note, userId, surface }) {
      const now = clock.now();
      const outcome = await store.resolve({ id, userId, decision, note, surface, now }, function* (tx, row) {
        yield* answers.queue(tx, row);
        yield* emit(tx, row, 'resolved');
      });
      if (outcome === null) throw unknown(id);
      if (!outcome.won) throw refusal(outcome.row, now) ?? new Error(`The approval ${id} was lost without a reason.`);
      tellHere('approval.resolved', outcome.row);
      return toApproval(outcome.row, clock.now());
    },
    async list(listing) {
      const now = clock.now();
      return (await store.list({ ...listing, now })).map((row) => toApproval(row, now));
    },
    *open(tx, id, userId) {
      const row = yield* store.find(tx, id);
      if (row === null || row.userId !== userId) return 'unknown';
      if (phaseOf(row, clock.now()) !== 'pending') return 'closed';
      return { until: row.expiresAt, summary: row.summary, details: detailsOf(row), reason: row.reason };
    },
    async owns(userId, id) {
      return (await store.get(id))?.userId === userId;
    },
    async ledgerIdOf(eventId, userId) {
      const named = parseApprovalEventId(eventId);
      const row = named === null ? null : await store.get(named.approvalId);
      return row !== null && row.userId === userId && row.engineId === named?.engineId ? row.ledgerId : null;
    },
    onEvent(listener) {
      const entry = (event: ApprovalEvent) => listener(event);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
  };
}

function unknown(id: string): AppError {
  return new AppError(
    'not_found',
    `There is no approval ${JSON.stringify(id.slice(0, 200))}.`,
    'List them with `gantry workspace approvals`.',
    {
      wireCode: 'approval_not_found',
    },
  );
}
