/** SQL of deliveries. A move is applied only from a state that allows it (`model.ts`, deliveryMoves). */
import type { DeliveryEvidence, DeliveryState, DeliveryVia } from '../../../contracts/factory/delivery.ts';
import { deliveryStates } from '../../../contracts/factory/delivery.ts';
import type { Tx, Value } from '../../../kit/store/store.ts';
import { type DeliveryRecord, deliveryMoves } from '../model.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface DeliveryRow {
  id: string;
  agent_id: string | null;
  recipient: string;
  via: DeliveryVia;
  state: DeliveryState;
  evidence: DeliveryEvidence | null;
  detail: string | null;
  ticket: string | null;
  message_id: string | null;
  thread_id: string | null;
  dag_id: string | null;
  node_id: string | null;
  at: number;
  caller: string;
  surface: string;
  idem_key: string | null;
  sender: string | null;
  first_words: string | null;
}

const toRecord = (row: DeliveryRow): DeliveryRecord => ({
  id: row.id,
  agentId: row.agent_id,
  to: row.recipient,
  via: row.via,
  state: row.state,
  evidence: row.evidence,
  detail: row.detail,
  ticket: row.ticket,
  messageId: row.message_id,
  threadId: row.thread_id,
  dagId: row.dag_id,
  nodeId: row.node_id,
  at: row.at,
  caller: row.caller,
  surface: row.surface,
  idempotencyKey: row.idem_key,
  sender: row.sender,
  firstWords: row.first_words,
});

export function insertDelivery(tx: Tx, delivery: DeliveryRecord): void {
  tx.run(
    `INSERT INTO factory_delivery (id, agent_id, recipient, via, state, evidence, detail, ticket, message_id, thread_id,
       dag_id, node_id, at, caller, surface, idem_key, sender, first_words)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    delivery.id,
    delivery.agentId,
    delivery.to,
    delivery.via,
    delivery.state,
    delivery.evidence,
    delivery.detail,
    delivery.ticket,
    delivery.messageId,
    delivery.threadId,
    delivery.dagId,
    delivery.nodeId,
    delivery.at,
    delivery.caller,
    delivery.surface,
    delivery.idempotencyKey,
    delivery.sender,
    delivery.firstWords,
  );
}

export interface DeliveryMove {
  readonly state: DeliveryState;
  readonly via: DeliveryVia;
  readonly evidence: DeliveryEvidence | null;
  readonly detail: string | null;
  readonly at: number;
}

const sources = (to: DeliveryState) => deliveryStates.filter((from) => deliveryMoves[from].includes(to));

/** The record after the move, or null when its state does not allow it (any more). */
export function moveDelivery(tx: Tx, id: string, move: DeliveryMove): DeliveryRecord | null {
  const from = sources(move.state);
  const { changes } = tx.run(
    `UPDATE factory_delivery SET state = ?, via = ?, evidence = ?, detail = ?, at = ?
     WHERE id = ? AND state IN (${from.map(() => '?').join(', ')})`,
    move.state,
    move.via,
    move.evidence,
    move.detail,
    move.at,
    id,
    ...from,
  );
  return changes === 0 ? null : readDelivery(tx, id);
}

export function readDelivery(tx: Read, id: string): DeliveryRecord | null {
  const row = tx.get<DeliveryRow>('SELECT * FROM factory_delivery WHERE id = ?', id);
  return row === undefined ? null : toRecord(row);
}

export function findByKey(tx: Read, caller: string, key: string): DeliveryRecord | null {
  const row = tx.get<DeliveryRow>('SELECT * FROM factory_delivery WHERE caller = ? AND idem_key = ?', caller, key);
  return row === undefined ? null : toRecord(row);
}

interface DeliveryFilter {
  readonly agentId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly nodeId?: string | undefined;
  /** Only older than this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export function listDeliveries(tx: Read, filter: DeliveryFilter): DeliveryRecord[] {
  const wanted: [string, Value | undefined][] = [
    ['agent_id = ?', filter.agentId],
    ['thread_id = ?', filter.threadId],
    ['node_id = ?', filter.nodeId],
    ['id < ?', filter.before],
  ];
  const given = wanted.filter((entry): entry is [string, Value] => entry[1] !== undefined);
  const where = given.length === 0 ? '' : `WHERE ${given.map(([condition]) => condition).join(' AND ')}`;
  return tx
    .all<DeliveryRow>(
      `SELECT * FROM factory_delivery ${where} ORDER BY id DESC LIMIT ?`,
      ...given.map(([, value]) => value),
      filter.limit,
    )
    .map(toRecord);
}
