/**
 * Rows of the ledger about deliveries and messages, written in one operation with the state that they describe. Texts never enter the ledger, only
 * their hash, because nothing can be deleted from it. Must not know HTTP.
 */
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Tx } from '../../kit/store/store.ts';
import { type Actor, engineActor, sha256 } from '../base/actor.ts';
import { type DeliveryRecord, toDelivery } from './model.ts';

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
