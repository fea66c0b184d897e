/**
 * The approvals that calls of a computer wait for: the question as its executor asked it, and one answer. The answer travels with the next call that
 * names it, so a computer that sleeps or is away loses none. Must not know HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { ToolsetApproval } from '../../contracts/computer-use/toolset.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { ComputerStore } from './store.ts';

type HostedApprovalState = 'pending' | 'approved' | 'denied' | 'used' | 'expired';

interface HostedApproval {
  readonly id: string;
  readonly computerId: string;
  readonly member: string;
  readonly toolset: ToolsetApproval['toolset'];
  readonly risk: ToolsetApproval['risk'];
  /** As the executor sent it, without secrets. */
  readonly words: string;
  readonly requestedAt: number;
  readonly state: HostedApprovalState;
  readonly resolvedBy: string | null;
  /** When the computer received the answer. */
  readonly toldAt: number | null;
}

export interface HostedApprovals {
  find(computerId: string, id: string): Promise<HostedApproval | null>;
  /** The waiting ones, newest first. */
  pending(computerId: string): Promise<HostedApproval[]>;
  /** May be repeated; only the first one writes the event. */
  asked(tx: SharedTx, computerId: string, approval: ToolsetApproval, words: string): Op<void>;
  /** The first answer wins. Throws 404 `approval_not_found`, 409 if it was answered. */
  answer(
    computerId: string,
    id: string,
    decision: 'approve' | 'deny',
    by: string,
  ): Promise<Pick<HostedApproval, 'id' | 'computerId' | 'state'>>;
  told(id: string): Promise<void>;
  ended(tx: SharedTx, computerId: string, id: string, state: 'used' | 'expired'): Op<void>;
}

const columns = `id, computer_id AS "computerId", member, toolset, risk, words, requested_at AS "requestedAt", state,
  resolved_by AS "resolvedBy", told_at AS "toldAt"`;
const max = 200;

export function createHostedApprovals({
  store,
  now,
  computers,
}: {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly computers: Pick<ComputerStore, 'append'>;
}): HostedApprovals {
  function* read(tx: SharedReader, computerId: string, id: string): Op<HostedApproval | null> {
    const sql = `SELECT ${columns} FROM hosted_approval WHERE computer_id = ? AND id = ?`;
    return (yield* tx.get<HostedApproval>(sql, computerId, id)) ?? null;
  }

  return {
    find: (computerId, id) => store.read((tx) => read(tx, computerId, id)),
    pending: (computerId) =>
      store.all<HostedApproval>(
        `SELECT ${columns} FROM hosted_approval WHERE computer_id = ? AND state = 'pending'
          ORDER BY requested_at DESC, id DESC LIMIT ${max}`,
        computerId,
      ),
    *asked(tx, computerId, { id, member, toolset, risk }, words) {
      const sql = `INSERT INTO hosted_approval (id, computer_id, member, toolset, risk, words, requested_at, state)
        VALUES (?, ?, ?, ?, ?, ?, ?, 'pending') ON CONFLICT (id) DO NOTHING`;
      const { changes } = yield* tx.run(sql, id, computerId, member, toolset, risk, words, now());
      if (changes === 0) return;
      yield* computers.append(tx, computerId, 'approval.required', { approval_id: id, member, toolset, risk });
    },
    answer: (computerId, id, decision, by) =>
      store.write(function* (tx) {
        const state = decision === 'approve' ? 'approved' : 'denied';
        const sql = `UPDATE hosted_approval SET state = ?, resolved_by = ?
          WHERE computer_id = ? AND id = ? AND state = 'pending'`;
        const { changes } = yield* tx.run(sql, state, by, computerId, id);
        const row = yield* read(tx, computerId, id);
        if (row === null) {
          const fact = `There is no approval ${JSON.stringify(id.slice(0, 200))}.`;
          throw new AppError('not_found', fact, 'List them: GET /v1/computers/{id}/approvals', {
            wireCode: 'approval_not_found',
          });
        }
        if (changes === 0) {
          const fact = `The approval ${id}, asked at ${iso(row.requestedAt)}, is already ${row.state}.`;
          throw new AppError('refused', fact, 'Nothing is left to answer.', {
            status: 409,
            wireCode: 'already_resolved',
          });
        }
        yield* computers.append(tx, computerId, 'approval.resolved', { approval_id: id, decision, by });
        return row;
      }),
    async told(id) {
      await store.write((tx) => tx.run('UPDATE hosted_approval SET told_at = ? WHERE id = ?', now(), id));
    },
    *ended(tx, computerId, id, state) {
      yield* tx.run(
        `UPDATE hosted_approval SET state = ? WHERE computer_id = ? AND id = ? AND state IN ('pending', 'approved')`,
        state,
        computerId,
        id,
      );
    },
  };
}
