/**
 * Types and pure rules of the factory: which moves a delivery may make, what an agent shows without a live bot, lane names.
 * Must not know SQL, HTTP or panes.
 */
import type { AgentState } from '../../contracts/factory/agent.ts';
import type { Delivery, DeliveryEvidence, DeliveryState, DeliveryVia } from '../../contracts/factory/delivery.ts';
import type { BotSpec } from './harness/harness.ts';

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
  /** Whose idempotency keys it belongs to: user id, or agent id of a bot. */
  readonly caller: string;
  readonly surface: string;
  readonly idempotencyKey: string | null;
}

/** The wire form: optional members are absent rather than null. */
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

/** What waits in a bot's lane. */
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

/** How many sends may wait for one bot, and for how long: a bot that nobody serves must not collect them without end. */
export const queueLimit = 100;
export const queueLifeMs = 24 * 3600 * 1000;

/** How an agent looks. */
export interface Shown {
  readonly state: AgentState;
  readonly reason: string | null;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** A row of `factory_agent` with its panes, oldest first. */
export interface AgentRecord {
  readonly id: string;
  readonly workspace: string;
  readonly team: string;
  readonly slug: string;
  readonly createdAt: number;
  /** As it was last started; null when it never was. */
  readonly spec: BotSpec | null;
  readonly shown: Shown;
  readonly panes: readonly PaneRecord[];
}

export interface PaneRecord {
  readonly id: string;
  readonly agentId: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/**
 * What an agent shows once its program has ended. An exit code or a signal that means an error is `failed`; every other end is
 * `offline`.
 */
export function shownAfterExit(
  exit: { code: number | null; signal: string | null; reason: string | null },
  since: number,
): Shown {
  if (exit.reason !== null) return { state: 'offline', reason: exit.reason, since };
  if (exit.code === 0) return { state: 'offline', reason: 'the program ended', since };
  if (exit.code !== null) return { state: 'failed', reason: `the program ended with exit code ${exit.code}`, since };
  if (exit.signal !== null) return { state: 'failed', reason: `the program was ended by ${exit.signal}`, since };
  return { state: 'offline', reason: 'the program ended; how is not known', since };
}

export const addressOf = (slug: string, team: string): string => `${slug}@${team}`;
