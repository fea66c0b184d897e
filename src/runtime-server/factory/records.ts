/**
 * What the factory writes into the ledger, and how those rows read as events. A row and the state it describes are written in one
 * operation. Texts never enter the ledger, only their hash, because nothing can be deleted from it. Must not know HTTP.
 */
import { createHash } from 'node:crypto';
import type { FactoryEventData, FactoryEventType } from '../../contracts/factory/events.ts';
import type { Ledger, LedgerRow } from '../../kit/ledger/ledger.ts';
import type { Tx } from '../../kit/store/store.ts';
import { type DeliveryRecord, toDelivery } from './model.ts';
import type { FileState } from './store/teams.ts';

/** By whom and through which door. */
export interface Actor {
  readonly actor: string;
  readonly surface: string;
}

export const engineActor: Actor = { actor: 'engine', surface: 'engine' };

export type TeamChange = FactoryEventData<'team.changed'>;

export type FactoryEvent = {
  readonly [T in LedgerEventType]: { readonly type: T; readonly at: string; readonly data: FactoryEventData<T> };
}[LedgerEventType];
/** States are live only, and approvals belong to the cloud API. */
type LedgerEventType = Exclude<FactoryEventType, 'agent.state' | 'approval.requested' | 'approval.resolved'>;

/** Ledger types that become events: the event they become, and its data in the row's body. */
const eventOf: Readonly<Record<string, { type: LedgerEventType; data: (body: LedgerRow['body']) => unknown }>> = {
  'delivery.accepted': { type: 'delivery', data: (body) => body.delivery },
  delivery: { type: 'delivery', data: (body) => body.delivery },
  'team.changed': { type: 'team.changed', data: (body) => body.change },
  'trust.changed': { type: 'trust.changed', data: (body) => body.change },
  'node.status': {
    type: 'node.status',
    data: ({ dagId, nodeId, cause, status }) => ({ dagId, nodeId, cause, status }),
  },
  'proof.recorded': { type: 'proof.recorded', data: ({ dagId, nodeId, outcome }) => ({ dagId, nodeId, outcome }) },
};
export const eventRowTypes: readonly string[] = Object.keys(eventOf);

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function recordAccepted(tx: Tx, ledger: Ledger, record: DeliveryRecord, text: string, by: Actor): void {
  ledger.append(tx, {
    type: 'delivery.accepted',
    ...by,
    subject: `delivery:${record.id}`,
    body: { v: 1, delivery: toDelivery(record), agentId: record.agentId, textSha256: sha256(text) },
  });
}

export function recordMove(tx: Tx, ledger: Ledger, record: DeliveryRecord, by: Actor = engineActor): void {
  ledger.append(tx, {
    type: 'delivery',
    ...by,
    subject: `delivery:${record.id}`,
    body: { v: 1, delivery: toDelivery(record), agentId: record.agentId },
  });
}

export function recordMessage(
  tx: Tx,
  ledger: Ledger,
  message: { id: string; threadId: string; text: string; direction: 'in' | 'out'; deliveryId: string },
  by: Actor,
): void {
  ledger.append(tx, {
    type: 'message.recorded',
    ...by,
    subject: `thread:${message.threadId}`,
    body: {
      v: 1,
      messageId: message.id,
      threadId: message.threadId,
      deliveryId: message.deliveryId,
      direction: message.direction,
      textSha256: sha256(message.text),
    },
  });
}

/** `state`: the team's row after the change, so that the rows can be rebuilt from the ledger. */
export function recordTeamChange(
  tx: Tx,
  ledger: Ledger,
  change: TeamChange,
  state: { workspace: string; file?: FileState; hash?: string | null; up?: boolean; preset?: string | null },
  by: Actor,
): void {
  ledger.append(tx, {
    type: 'team.changed',
    ...by,
    subject: `team:${change.team}`,
    body: { v: 1, change, state },
  });
}

/** The event of a ledger row, or null for a row that is none. The row was written by this program: its body is as it must be. */
export function eventOfRow(row: LedgerRow): FactoryEvent | null {
  const event = eventOf[row.type];
  return event === undefined ? null : ({ type: event.type, at: row.at, data: event.data(row.body) } as FactoryEvent);
}
