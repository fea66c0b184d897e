/** SQL of hosted bots' turns and conversations. Each call is one step of an operation and decides nothing. */
import type { Tx } from '../../kit/store/store.ts';
import type { Message, ToolResult } from '../models/model.ts';

type Read = Pick<Tx, 'get' | 'all'>;

/**
 * asked: the model has not taken it yet · running · waiting: for the model's service · the others: how it ended; interrupted: Gantry ended, and
 * nothing of it is repeated automatically.
 */
export type TurnStatus =
  | 'asked'
  | 'running'
  | 'waiting'
  | 'done'
  | 'refused'
  | 'limit'
  | 'stopped'
  | 'failed'
  | 'interrupted';

export interface TurnRecord {
  readonly id: string;
  readonly agentId: string;
  readonly deliveryId: string;
  readonly threadId: string | null;
  readonly dagId: string | null;
  readonly nodeId: string | null;
  /** The bot's duty at the node. */
  readonly duty: 'work' | 'review' | null;
  readonly status: TurnStatus;
  readonly reason: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

interface TurnRow {
  id: string;
  agent_id: string;
  delivery_id: string;
  thread_id: string | null;
  dag_id: string | null;
  node_id: string | null;
  duty: 'work' | 'review' | null;
  status: TurnStatus;
  reason: string | null;
  started_at: number;
  ended_at: number | null;
}

const toTurn = (row: TurnRow): TurnRecord => ({
  id: row.id,
  agentId: row.agent_id,
  deliveryId: row.delivery_id,
  threadId: row.thread_id,
  dagId: row.dag_id,
  nodeId: row.node_id,
  duty: row.duty,
  status: row.status,
  reason: row.reason,
  startedAt: row.started_at,
  endedAt: row.ended_at,
});

export function insertTurn(tx: Tx, turn: TurnRecord): void {
  tx.run(
    `INSERT INTO hosted_turn (id, agent_id, delivery_id, thread_id, dag_id, node_id, duty, status, reason, started_at, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    turn.id,
    turn.agentId,
    turn.deliveryId,
    turn.threadId,
    turn.dagId,
    turn.nodeId,
    turn.duty,
    turn.status,
    turn.reason,
    turn.startedAt,
    turn.endedAt,
  );
}

export function moveTurn(tx: Tx, id: string, status: TurnStatus, reason: string | null, endedAt: number | null): void {
  tx.run('UPDATE hosted_turn SET status = ?, reason = ?, ended_at = ? WHERE id = ?', status, reason, endedAt, id);
}

/** A turn that no model has taken counts as never begun. */
export function dropTurn(tx: Tx, id: string): void {
  tx.run('DELETE FROM hosted_message WHERE turn_id = ?', id);
  tx.run('DELETE FROM hosted_turn WHERE id = ?', id);
}

export function turnOfDelivery(tx: Read, deliveryId: string): TurnRecord | null {
  const row = tx.get<TurnRow>('SELECT * FROM hosted_turn WHERE delivery_id = ?', deliveryId);
  return row === undefined ? null : toTurn(row);
}

export function lastTurn(tx: Read, agentId: string): TurnRecord | null {
  const row = tx.get<TurnRow>('SELECT * FROM hosted_turn WHERE agent_id = ? ORDER BY id DESC LIMIT 1', agentId);
  return row === undefined ? null : toTurn(row);
}

/** Turns that had not ended. */
export function openTurns(tx: Read): TurnRecord[] {
  return tx.all<TurnRow>('SELECT * FROM hosted_turn WHERE ended_at IS NULL ORDER BY id').map(toTurn);
}

/** One line of a conversation; results of tools are separate lines, so that each is stored at once. */
export type Line =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'assistant'; readonly message: Extract<Message, { role: 'assistant' }> }
  | { readonly kind: 'result'; readonly result: ToolResult };

export interface StoredLine {
  readonly seq: number;
  readonly at: number;
  readonly turnId: string;
  readonly line: Line;
}

export function addLine(tx: Tx, agentId: string, turnId: string, at: number, line: Line): void {
  tx.run(
    `INSERT INTO hosted_message (agent_id, seq, turn_id, at, body)
     VALUES (?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM hosted_message WHERE agent_id = ?), ?, ?, ?)`,
    agentId,
    agentId,
    turnId,
    at,
    JSON.stringify(line),
  );
}

interface LineRow {
  seq: number;
  at: number;
  turn_id: string;
  body: string;
}

const toLine = (row: LineRow): StoredLine => ({
  seq: row.seq,
  at: row.at,
  turnId: row.turn_id,
  line: JSON.parse(row.body) as Line,
});

/** Ascending, after `seq`. */
export function linesAfter(tx: Read, agentId: string, seq: number, limit: number): StoredLine[] {
  return tx
    .all<LineRow>(
      'SELECT * FROM hosted_message WHERE agent_id = ? AND seq > ? ORDER BY seq LIMIT ?',
      agentId,
      seq,
      limit,
    )
    .map(toLine);
}

/** The newest lines, ascending. */
export function lastLines(tx: Read, agentId: string, limit: number): StoredLine[] {
  return linesBefore(tx, agentId, undefined, limit);
}

/** The newest lines, or the newest before `seq`; ascending. */
export function linesBefore(tx: Read, agentId: string, seq: number | undefined, limit: number): StoredLine[] {
  return tx
    .all<LineRow>(
      'SELECT * FROM hosted_message WHERE agent_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
      agentId,
      seq ?? Number.MAX_SAFE_INTEGER,
      limit,
    )
    .map(toLine)
    .reverse();
}
