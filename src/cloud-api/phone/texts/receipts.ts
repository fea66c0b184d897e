/**
 * Receipts of a text after the carrier accepted it: webhooks that come late, twice and out of order. A final status never moves back (model.ts). Must
 * not know the carrier's payloads.
 */
import type { Op, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { Fees } from '../fees.ts';
import type { TextReceipt } from './carrier-events.ts';
import { deliveryReason } from './delivery-errors.ts';
import type { TextRow } from './model.ts';
import { textsTopic } from './outbound.ts';
import { findByCarrier, findText, moveText, noteOnText } from './store.ts';

interface ReceiptsDeps {
  readonly store: SharedStore;
  readonly fees: Pick<Fees, 'text'>;
  /** The carrier's own opt-out list has them, since `at`. */
  readonly blocked: (tx: SharedTx, row: TextRow, said: string, at: number) => Op<unknown>;
}

/** `numberId`: the number that it was posted to. False: no text of ours. */
export function takeReceipt(
  { store, fees, blocked }: ReceiptsDeps,
  receipt: TextReceipt,
  numberId: string | null,
): Promise<boolean> {
  return store.write(function* (tx) {
    const row = yield* textOf(tx, receipt, numberId);
    if (row === null) return false;
    const { status, code, said, parts } = receipt;
    // It settles a text whose sending got no answer.
    if (row.carrierKey === null) yield* noteOnText(tx, row.id, { carrierKey: `out:${receipt.carrierId}` });
    const failed = status === 'failed' ? { code, reason: deliveryReason(code, said) } : {};
    const unconfirmed = status === 'unconfirmed' ? { reason: 'Their carrier does not say whether it arrived.' } : {};
    const good = status === 'sent' || status === 'delivered' ? { reason: null } : {};
    const changes = { ...failed, ...unconfirmed, ...good, ...(parts === null ? {} : { parts }) };
    if (receipt.microUsd !== null) {
      const of = { ...row, e164: row.ours };
      yield* fees.text(tx, of, { id: row.id, at: row.at, microUsd: receipt.microUsd });
    }
    const moved = yield* moveText(tx, row.id, status, changes);
    if (moved && receipt.isBlocked) yield* blocked(tx, row, said, receipt.at);
    tx.afterCommit(() => store.wake.signal(textsTopic));
    return true;
  });
}

function* textOf(tx: SharedTx, { carrierId, tags }: TextReceipt, numberId: string | null): Op<TextRow | null> {
  const known = yield* findByCarrier(tx, `out:${carrierId}`);
  if (known !== null) return isOf(known, numberId) ? known : null;
  for (const tag of tags) {
    const tagged = yield* findText(tx, tag);
    // Queued: nothing of it was sent yet.
    const fits = tagged?.direction === 'out' && tagged.carrierKey === null && tagged.status !== 'queued';
    if (tagged !== null && fits && isOf(tagged, numberId)) return tagged;
  }
  return null;
}

const isOf = (row: TextRow, numberId: string | null) => numberId === null || row.numberId === numberId;
