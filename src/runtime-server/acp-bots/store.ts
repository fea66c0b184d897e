/** SQL of sessions, turns and conversations over ACP. Each call is one step of an operation and decides nothing. */
import type { ConversationEntry } from '../../contracts/factory/conversation-routes.ts';
import type { Tx } from '../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface SessionRecord {
  readonly sessionId: string;
  /** The agent and folder that it belongs to: another agent does not know it. */
  readonly command: string;
  readonly cwd: string;
  /** As a person set it; null: the agent's own. */
  readonly mode: string | null;
}

export function readSession(tx: Read, agentId: string): SessionRecord | null {
  return (
    tx.get<SessionRecord & Record<string, string | null>>(
      'SELECT session_id AS sessionId, command, cwd, mode FROM acp_session WHERE agent_id = ?',
      agentId,
    ) ?? null
  );
}

export function saveSession(tx: Tx, agentId: string, session: SessionRecord): void {
  tx.run(
    `INSERT INTO acp_session (agent_id, session_id, command, cwd, mode) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (agent_id) DO UPDATE SET session_id = excluded.session_id, command = excluded.command, cwd = excluded.cwd, mode = excluded.mode`,
    agentId,
    session.sessionId,
    session.command,
    session.cwd,
    session.mode,
  );
}

/** asked: nothing shows yet that the agent has it · running · the others: how it ended; lost: Gantry ended while it was asked. */
export type TurnStatus =
  | 'asked'
  | 'running'
  | 'done'
  | 'refused'
  | 'limit'
  | 'stopped'
  | 'failed'
  | 'interrupted'
  | 'lost';

export interface TurnRecord {
  readonly id: string;
  readonly agentId: string;
  readonly deliveryId: string;
  readonly threadId: string | null;
  readonly status: TurnStatus;
  readonly reason: string | null;
  readonly startedAt: number;
}

interface TurnRow {
  id: string;
  agent_id: string;
  delivery_id: string;
  thread_id: string | null;
  status: TurnStatus;
  reason: string | null;
  started_at: number;
}

const toTurn = (row: TurnRow): TurnRecord => ({
  id: row.id,
  agentId: row.agent_id,
  deliveryId: row.delivery_id,
  threadId: row.thread_id,
  status: row.status,
  reason: row.reason,
  startedAt: row.started_at,
});

export function insertTurn(tx: Tx, turn: TurnRecord): void {
  tx.run(
    `INSERT INTO acp_turn (id, agent_id, delivery_id, thread_id, status, reason, started_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    turn.id,
    turn.agentId,
    turn.deliveryId,
    turn.threadId,
    turn.status,
    turn.reason,
    turn.startedAt,
  );
}

export function moveTurn(
  tx: Tx,
  id: string,
  to: {
    readonly status: TurnStatus;
    readonly reason?: string | null;
    readonly endedAt?: number;
    /** What its thread is to be told. */
    readonly answer?: string | null;
  },
): void {
  tx.run(
    'UPDATE acp_turn SET status = ?, reason = ?, ended_at = ?, answer = ? WHERE id = ?',
    to.status,
    to.reason ?? null,
    to.endedAt ?? null,
    to.answer ?? null,
    id,
  );
}

export function turnOfDelivery(tx: Read, deliveryId: string): TurnRecord | null {
  const row = tx.get<TurnRow>('SELECT * FROM acp_turn WHERE delivery_id = ?', deliveryId);
  return row === undefined ? null : toTurn(row);
}

/** Turns that had not ended. */
export function openTurns(tx: Read): TurnRecord[] {
  return tx.all<TurnRow>('SELECT * FROM acp_turn WHERE ended_at IS NULL ORDER BY id').map(toTurn);
}

interface UnansweredTurn {
  readonly id: string;
  readonly agentId: string;
  readonly threadId: string;
  readonly answer: string;
}

/** Turns whose thread was not told the answer yet. */
export function unanswered(tx: Read): UnansweredTurn[] {
  return tx.all<{ id: string; agentId: string; threadId: string; answer: string }>(
    `SELECT id, agent_id AS agentId, thread_id AS threadId, answer FROM acp_turn
     WHERE answer IS NOT NULL AND answered_at IS NULL AND thread_id IS NOT NULL ORDER BY id`,
  );
}

export function markAnswered(tx: Tx, id: string, at: number): void {
  tx.run('UPDATE acp_turn SET answered_at = ? WHERE id = ?', at, id);
}

/** What an entry says: everything of it that is not its place. */
export type EntryBody = Omit<ConversationEntry, 'seq' | 'rev' | 'at'>;

export interface StoredEntry {
  readonly seq: number;
  readonly rev: number;
  /** It does not change any more. */
  readonly settled: boolean;
  readonly at: number;
  readonly body: EntryBody;
}

interface EntryRow {
  seq: number;
  rev: number;
  settled: number;
  at: number;
  body: string;
}

const toEntry = (row: EntryRow): StoredEntry => ({
  ...row,
  settled: row.settled === 1,
  body: JSON.parse(row.body) as EntryBody,
});

export function saveEntry(tx: Tx, agentId: string, entry: StoredEntry): void {
  tx.run(
    `INSERT INTO acp_entry (agent_id, seq, rev, settled, at, body) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (agent_id, seq) DO UPDATE SET rev = excluded.rev, settled = excluded.settled, body = excluded.body`,
    agentId,
    entry.seq,
    entry.rev,
    entry.settled ? 1 : 0,
    entry.at,
    JSON.stringify(entry.body),
  );
}

export function lastNumbers(tx: Read, agentId: string): { seq: number; rev: number } {
  const row = tx.get<{ seq: number | null; rev: number | null }>(
    'SELECT MAX(seq) AS seq, MAX(rev) AS rev FROM acp_entry WHERE agent_id = ?',
    agentId,
  );
  return { seq: row?.seq ?? 0, rev: row?.rev ?? 0 };
}

export function unsettled(tx: Read, agentId: string): StoredEntry[] {
  return tx
    .all<EntryRow>('SELECT * FROM acp_entry WHERE agent_id = ? AND settled = 0 ORDER BY seq', agentId)
    .map(toEntry);
}

/** Settled ones that came after `rev`, in the order in which they settled. */
export function settledAfter(tx: Read, agentId: string, rev: number, limit: number): StoredEntry[] {
  return tx
    .all<EntryRow>(
      'SELECT * FROM acp_entry WHERE agent_id = ? AND rev > ? AND settled = 1 ORDER BY rev LIMIT ?',
      agentId,
      rev,
      limit,
    )
    .map(toEntry);
}

/** In the order of their changes. */
export function changedAfter(tx: Read, agentId: string, rev: number, limit: number): StoredEntry[] {
  return tx
    .all<EntryRow>('SELECT * FROM acp_entry WHERE agent_id = ? AND rev > ? ORDER BY rev LIMIT ?', agentId, rev, limit)
    .map(toEntry);
}

/** The newest, or the newest before `seq`; ascending. */
export function newest(tx: Read, agentId: string, before: number | undefined, limit: number): StoredEntry[] {
  return tx
    .all<EntryRow>(
      'SELECT * FROM acp_entry WHERE agent_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
      agentId,
      before ?? Number.MAX_SAFE_INTEGER,
      limit,
    )
    .map(toEntry)
    .reverse();
}

export function dropEntriesBefore(tx: Tx, agentId: string, seq: number): void {
  tx.run('DELETE FROM acp_entry WHERE agent_id = ? AND seq < ?', agentId, seq);
}
