/** Types and pure rules of deliveries: their moves, and the items of a bot's outbox. Must not know SQL, HTTP or panes. */
import { visibleLine } from '../../contracts/approvals/visible.ts';
import type { Delivery, DeliveryEvidence, DeliveryState, DeliveryVia } from '../../contracts/factory/delivery.ts';

/** Moves of a delivery. `unconfirmed` may still be proven by a witness that comes late; everything else that ended stays. */
export const deliveryMoves: Readonly<Record<DeliveryState, readonly DeliveryState[]>> = {
  accepted: ['queued', 'verified', 'unconfirmed', 'best_effort', 'failed'],
  queued: ['queued', 'verified', 'unconfirmed', 'best_effort', 'failed'],
  unconfirmed: ['verified'],
  verified: [],
  best_effort: [],
  failed: [],
};

/** States in which a delivery waits for nothing any more. */
export function isSettled(state: DeliveryState): boolean {
  return state !== 'accepted' && state !== 'queued';
}

export interface DeliveryRecord {
  readonly id: string;
  readonly agentId: string | null;
  readonly to: string;
  readonly via: DeliveryVia;
  readonly state: DeliveryState;
  readonly evidence: DeliveryEvidence | null;
  readonly detail: string | null;
  readonly ticket: string | null;
  readonly messageId: string | null;
  readonly threadId: string | null;
  readonly dagId: string | null;
  readonly nodeId: string | null;
  /** When it entered its state, milliseconds since the epoch. */
  readonly at: number;
  /** The owner of its idempotency key: user id, or agent id of a bot. */
  readonly caller: string;
  readonly surface: string;
  readonly idempotencyKey: string | null;
  /** As the bot reads it. Null in rows of an earlier version, like the words. */
  readonly sender: string | null;
  readonly firstWords: string | null;
}

/** Characters of a message that a list shows. */
const maxFirstWordsLength = 160;

/** How a message begins, on one line. */
export function firstWordsOf(text: string): string {
  const line = visibleLine(text.trim().split('\n', 1)[0] ?? '');
  return line.length > maxFirstWordsLength ? `${line.slice(0, maxFirstWordsLength - 1)}…` : line;
}

/** With who sent what, for those who may read the message. */
export function shownDelivery(record: DeliveryRecord): Delivery {
  const { sender, firstWords } = record;
  return {
    ...toDelivery(record),
    ...(sender === null ? {} : { from: sender }),
    ...(firstWords === null ? {} : { firstWords }),
  };
}

/** The wire form without any text of the message: what the ledger keeps and events carry. Optional members are absent rather than null. */
export function toDelivery(record: DeliveryRecord): Delivery {
  const optional = {
    detail: record.detail,
    ticket: record.ticket,
    messageId: record.messageId,
    threadId: record.threadId,
    dagId: record.dagId,
    nodeId: record.nodeId,
  };
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null));
  return {
    id: record.id,
    to: record.to,
    via: record.via,
    state: record.state,
    evidence: record.evidence,
    ...present,
    at: new Date(record.at).toISOString(),
  };
}

/** One item of a bot's outbox. */
export interface QueuedSend {
  readonly deliveryId: string;
  readonly agentId: string;
  readonly senderLine: string;
  readonly text: string;
  readonly replyLine: string | null;
  readonly raw: boolean;
  /** False: the caller refused to wait; if the bot cannot take it after all, it fails. */
  readonly mayQueue: boolean;
}

export const laneOf = (agentId: string): string => `send:${agentId}`;
export const agentOfLane = (lane: string): string => lane.slice('send:'.length);

/** How many sends may wait for one bot, and for how long: an unattended bot must not collect them without end. */
export const queueLimit = 100;
export const queueLifeMs = 24 * 3600 * 1000;
