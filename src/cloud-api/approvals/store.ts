/**
 * Approvals in the database: whole operations, with no await inside. `UPDATE … WHERE state = 'pending'` decides the one winner, in any process. One
 * SQL text serves both engines. Must not know HTTP.
 */

import type { ApprovalDecision, ApprovalReport } from '../../contracts/approvals/approval.ts';
import { answered } from '../../kit/store/answered.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Asked, Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { ApprovalRow } from './model.ts';

export interface ApprovalOwner {
  readonly userId: string;
  readonly computerId: string;
}

interface Answer {
  readonly id: string;
  readonly userId: string;
  readonly decision: ApprovalDecision;
  readonly note: string | null;
  readonly surface: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface ApprovalListing {
  readonly userId: string;
  readonly state?: 'pending' | 'resolved' | undefined;
  readonly limit?: number | undefined;
  readonly now: number;
}

/** A scrape looks at no more of those that have not expired. */
const maxCounted = 10_000;

/** Since when pending approvals of everybody wait, milliseconds since the epoch. */
export async function waitingApprovals(store: Pick<SharedStore, 'all'>, now: number): Promise<number[]> {
  const rows = await store.all<{ at: number; state: string }>(
    `SELECT requested_at AS at, state FROM approval WHERE expires_at > ? ORDER BY expires_at LIMIT ${maxCounted}`,
    now,
  );
  return rows.filter(({ state }) => state === 'pending').map(({ at }) => at);
}

export interface ApprovalStore {
  /**
   * Writes what a runtime reports about its approval; may be repeated. `foreign`: the id belongs to another computer. `change` is null when nothing
   * changed. `changed` runs in its transaction.
   */
  put(
    id: string,
    report: ApprovalReport,
    owner: ApprovalOwner,
    changed?: (tx: SharedTx, row: ApprovalRow, change: 'requested' | 'resolved') => Asked<unknown>,
  ): Promise<{ row: ApprovalRow; change: 'requested' | 'resolved' | 'nothing' } | 'foreign'>;
  /** The first answer to a pending, unexpired approval of this user wins; `won` runs in its transaction. */
  resolve(
    answer: Answer,
    won: (tx: SharedTx, row: ApprovalRow) => Asked<unknown>,
  ): Promise<{ won: boolean; row: ApprovalRow } | null>;
  /** The computer acted on the answer. Idempotent. */
  applied(tx: SharedTx, id: string, at: number): Asked<unknown>;
  /** Removes what expired before then, whatever its outcome. */
  forget(before: number): Promise<void>;
  get(id: string): Promise<ApprovalRow | null>;
  find(tx: SharedReader, id: string): Op<ApprovalRow | null>;
  /** Newest first. `pending` leaves out what has expired. */
  list(listing: ApprovalListing): Promise<ApprovalRow[]>;
}

const columns = `id, user_id AS "userId", computer_id AS "computerId", engine_id AS "engineId", ledger_id AS "ledgerId",
  kind, title, summary, details, reason, risk, source, agent_id AS "agentId", bot_name AS "botName", dag_id AS "dagId", node_id AS "nodeId", run_id AS "runId",
  requested_at AS "requestedAt", expires_at AS "expiresAt", state, decision, resolved_at AS "resolvedAt",
  resolved_user AS "resolvedUser", resolved_surface AS "resolvedSurface", note, applied_at AS "appliedAt"`;
const insert = `INSERT INTO approval (id, user_id, computer_id, engine_id, ledger_id, kind, title, summary, details, reason, risk, source,
  agent_id, bot_name, dag_id, node_id, run_id, requested_at, expires_at, state)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending') ON CONFLICT (id) DO NOTHING`;
const selectOne = `SELECT ${columns} FROM approval WHERE id = ?`;
const answerIt = `UPDATE approval SET state = 'resolved', decision = ?, note = ?, resolved_at = ?, resolved_user = ?,
  resolved_surface = ? WHERE id = ? AND user_id = ? AND state = 'pending' AND expires_at > ?`;
const withdrawIt = `UPDATE approval SET state = 'resolved', resolved_at = ?, resolved_user = ?, resolved_surface = ?
  WHERE id = ? AND state = 'pending'`;
const moveEnd = `UPDATE approval SET expires_at = ? WHERE id = ? AND state = 'pending'`;
const newestFirst = 'ORDER BY requested_at DESC, id DESC';
/** Caps a list that names no limit. */
const max = 1000;

function* read(tx: SharedReader, id: string): Op<ApprovalRow | null> {
  return (yield* tx.get<ApprovalRow>(selectOne, id)) ?? null;
}

export function createApprovalStore(store: SharedStore): ApprovalStore {
  return {
    find: read,
    put: (id, report, owner, changed = () => answered(undefined)) =>
      store.write(function* (tx) {
        const added = yield* add(tx, id, report, owner);
        const row = (yield* read(tx, id))!;
        if (row.userId !== owner.userId || row.computerId !== owner.computerId) return 'foreign';
        const { withdrawn } = report;
        if (withdrawn === undefined) {
          if (added) yield* changed(tx, row, 'requested');
          const end = Date.parse(report.expiresAt);
          if (added || report.remainingMs === undefined || row.state !== 'pending' || row.expiresAt === end) {
            return { row, change: added ? 'requested' : 'nothing' };
          }
          yield* tx.run(moveEnd, end, id);
          return { row: (yield* read(tx, id))!, change: 'nothing' };
        }
        const at = Date.parse(withdrawn.at);
        const { changes } = yield* tx.run(withdrawIt, at, row.userId, withdrawn.surface, id);
        const ended = changes === 1;
        const now = (yield* read(tx, id))!;
        if (ended) yield* changed(tx, now, 'resolved');
        return { row: now, change: ended ? 'resolved' : 'nothing' };
      }),
    resolve: ({ id, userId, decision, note, surface, now }, won) =>
      store.write(function* (tx) {
        const { changes } = yield* tx.run(answerIt, decision, note, now, userId, surface, id, userId, now);
        const first = changes === 1;
        const row = yield* read(tx, id);
        if (row === null || row.userId !== userId) return null;
        if (first) yield* won(tx, row);
        return { won: first, row };
      }),
    applied: (tx, id, at) => tx.run('UPDATE approval SET applied_at = ? WHERE id = ? AND applied_at IS NULL', at, id),
    async forget(before) {
      const sql = `DELETE FROM approval WHERE id IN (SELECT id FROM approval WHERE expires_at < ? LIMIT ${portion})`;
      await removePortions(store, sql, before);
    },
    get: async (id) => (await store.get<ApprovalRow>(selectOne, id)) ?? null,
    list: ({ userId, state, limit = max, now }) => {
      if (state === undefined) {
        const sql = `SELECT ${columns} FROM approval WHERE user_id = ? ${newestFirst} LIMIT ?`;
        return store.all<ApprovalRow>(sql, userId, limit);
      }
      const sql = `SELECT ${columns} FROM approval WHERE user_id = ? AND state = ? AND (state = 'resolved' OR expires_at > ?)
        ${newestFirst} LIMIT ?`;
      return store.all<ApprovalRow>(sql, userId, state, now, limit);
    },
  };
}

/** False: the id exists already. */
function* add(tx: SharedTx, id: string, report: ApprovalReport, { userId, computerId }: ApprovalOwner): Op<boolean> {
  const { engineId, ledgerId, kind, title, summary, risk, source, agentId } = report;
  const about = [report.dagId ?? null, report.nodeId ?? null, report.runId ?? null];
  const times = [Date.parse(report.requestedAt), Date.parse(report.expiresAt)];
  const details = report.details === undefined ? null : JSON.stringify(report.details);
  const asked = [kind, title, summary, details, report.reason ?? null, risk, source, agentId, report.botName ?? null];
  const values = [id, userId, computerId, engineId, ledgerId, ...asked, ...about, ...times];
  return (yield* tx.run(insert, ...values)).changes === 1;
}
