/**
 * Approvals in the database: whole operations, nothing awaited inside (architecture.md 10). One winner by
 * `UPDATE … WHERE state = 'pending'`, in whatever process. One text serves both engines. Must not know HTTP.
 */
import type { ApprovalDecision, ApprovalReport } from '../../contracts/approvals/approval.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { ApprovalRow } from './model.ts';

export interface ApprovalOwner {
  readonly userId: string;
  readonly computerId: string;
}

export interface Answer {
  readonly id: string;
  readonly userId: string;
  readonly decision: ApprovalDecision;
  readonly note: string | null;
  readonly surface: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface ApprovalListing {
  readonly userId: string;
  readonly state?: 'pending' | 'resolved' | undefined;
  readonly limit?: number | undefined;
  readonly now: number;
}

export interface ApprovalStore {
  /**
   * Writes what a runtime says of its approval, as often as it says it. `foreign`: the id is another computer's.
   * `change` says what it did: nothing when it was known already. `changed` runs in its transaction.
   */
  put(
    id: string,
    report: ApprovalReport,
    owner: ApprovalOwner,
    changed?: (tx: Tx, row: ApprovalRow, change: 'requested' | 'resolved') => void,
  ): Promise<{ row: ApprovalRow; change: 'requested' | 'resolved' | 'nothing' } | 'foreign'>;
  /** The first answer to a pending, unexpired approval of this user wins; `won` runs in its transaction. */
  resolve(answer: Answer, won: (tx: Tx, row: ApprovalRow) => void): Promise<{ won: boolean; row: ApprovalRow } | null>;
  /** The computer acted on the answer. Idempotent. */
  applied(tx: Tx, id: string, at: number): void;
  /** Removes what expired before, however it ended. */
  forget(before: number): Promise<void>;
  get(id: string): Promise<ApprovalRow | null>;
  find(tx: Pick<Tx, 'get'>, id: string): ApprovalRow | null;
  /** Newest first. `pending` leaves out what has expired. */
  list(listing: ApprovalListing): Promise<ApprovalRow[]>;
}

const columns = `id, user_id AS userId, computer_id AS computerId, engine_id AS engineId, ledger_id AS ledgerId,
  kind, title, summary, risk, source, agent_id AS agentId, bot_name AS botName, dag_id AS dagId, node_id AS nodeId, run_id AS runId,
  requested_at AS requestedAt, expires_at AS expiresAt, state, decision, resolved_at AS resolvedAt,
  resolved_user AS resolvedUser, resolved_surface AS resolvedSurface, note, applied_at AS appliedAt`;
const insert = `INSERT INTO approval (id, user_id, computer_id, engine_id, ledger_id, kind, title, summary, risk, source,
  agent_id, bot_name, dag_id, node_id, run_id, requested_at, expires_at, state)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending') ON CONFLICT (id) DO NOTHING`;
const selectOne = `SELECT ${columns} FROM approval WHERE id = ?`;
const answerIt = `UPDATE approval SET state = 'resolved', decision = ?, note = ?, resolved_at = ?, resolved_user = ?,
  resolved_surface = ? WHERE id = ? AND user_id = ? AND state = 'pending' AND expires_at > ?`;
const withdrawIt = `UPDATE approval SET state = 'resolved', resolved_at = ?, resolved_user = ?, resolved_surface = ?
  WHERE id = ? AND state = 'pending'`;
const newestFirst = 'ORDER BY requested_at DESC, id DESC';
/** A list without a limit still ends. */
const most = 1000;

type Reader = Pick<Tx, 'get'>;
const read = (tx: Reader, id: string): ApprovalRow | null => tx.get<ApprovalRow>(selectOne, id) ?? null;

export function createApprovalStore(store: Store): ApprovalStore {
  return {
    find: read,
    put: (id, report, owner, changed = () => {}) =>
      store.write((tx) => {
        const added = add(tx, id, report, owner);
        const row = read(tx, id)!;
        if (row.userId !== owner.userId || row.computerId !== owner.computerId) return 'foreign';
        const { withdrawn } = report;
        if (withdrawn === undefined) {
          if (added) changed(tx, row, 'requested');
          return { row, change: added ? 'requested' : 'nothing' };
        }
        const ended = tx.run(withdrawIt, Date.parse(withdrawn.at), row.userId, withdrawn.surface, id).changes === 1;
        const now = read(tx, id)!;
        if (ended) changed(tx, now, 'resolved');
        return { row: now, change: ended ? 'resolved' : 'nothing' };
      }),
    resolve: ({ id, userId, decision, note, surface, now }, won) =>
      store.write((tx) => {
        const first = tx.run(answerIt, decision, note, now, userId, surface, id, userId, now).changes === 1;
        const row = read(tx, id);
        if (row === null || row.userId !== userId) return null;
        if (first) won(tx, row);
        return { won: first, row };
      }),
    applied(tx, id, at) {
      tx.run('UPDATE approval SET applied_at = ? WHERE id = ? AND applied_at IS NULL', at, id);
    },
    forget: (before) =>
      store.write((tx) => {
        tx.run('DELETE FROM approval WHERE expires_at < ?', before);
      }),
    get: (id) => store.read((tx) => read(tx, id)),
    list: ({ userId, state, limit = most, now }) =>
      store.read((tx) => {
        if (state === undefined) {
          const sql = `SELECT ${columns} FROM approval WHERE user_id = ? ${newestFirst} LIMIT ?`;
          return tx.all<ApprovalRow>(sql, userId, limit);
        }
        const sql = `SELECT ${columns} FROM approval WHERE user_id = ? AND state = ? AND (state = 'resolved' OR expires_at > ?)
          ${newestFirst} LIMIT ?`;
        return tx.all<ApprovalRow>(sql, userId, state, now, limit);
      }),
  };
}

/** False: the id was there already. */
function add(tx: Tx, id: string, report: ApprovalReport, { userId, computerId }: ApprovalOwner): boolean {
  const { engineId, ledgerId, kind, title, summary, risk, source, agentId } = report;
  const about = [report.dagId ?? null, report.nodeId ?? null, report.runId ?? null];
  const times = [Date.parse(report.requestedAt), Date.parse(report.expiresAt)];
  const asked = [kind, title, summary, risk, source, agentId, report.botName ?? null];
  return tx.run(insert, id, userId, computerId, engineId, ledgerId, ...asked, ...about, ...times).changes === 1;
}
