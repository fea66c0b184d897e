/**
 * Receipts of events: the mark that identifies a repeated event for seven days after it was last seen, and the trail's entries for events that never
 * reached the computer. Never keeps their data. Must not know lanes or signatures.
 */
import { hash } from 'node:crypto';
import type { RelayedEvent } from '../../contracts/connectors/relay.ts';
import type { Receipt } from '../../kit/receipts/receipts.ts';
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';

/** A subscription and the computer it is on. */
export interface SubscriptionName {
  readonly computerId: string;
  readonly subscriptionId: string;
}

/** An event that the computer does not have. */
export interface LeftReceipt {
  readonly id: string;
  readonly eventId: string;
  readonly name: string | null;
  readonly status: 'waiting' | 'dead' | 'expired';
  readonly reason: string | null;
  readonly receivedAt: number;
}

/** Limit of events per lookup. */
const max = 200;

/** Identifies one event of one subscription; also the id of its item in the lanes. */
const receiptId = ({ computerId, subscriptionId }: SubscriptionName, eventId: string) =>
  hash('sha256', `${computerId}/${subscriptionId}/${eventId}`, 'base64url');

const left = `SELECT id, event_id AS "eventId", name, status, reason, received_at AS "receivedAt" FROM connector_receipt
  WHERE computer_id = ? AND subscription_id = ? AND status <> 'taken' AND kind = 'event'`;

/** The part of a server's post that goes to the computer. */
export type PostedItem =
  | { readonly kind: 'event'; readonly event: RelayedEvent; readonly receivedAt: string }
  | { readonly kind: 'gap'; readonly cursor: string | null }
  | { readonly kind: 'terminated'; readonly error: unknown };

/** `id`: the signed one. */
export interface Posted {
  readonly id: string;
  readonly name: string | null;
  readonly content: PostedItem;
}

export function receiptOf(to: SubscriptionName, { id, name, content }: Posted, now: number) {
  return {
    id: receiptId(to, id),
    computer_id: to.computerId,
    subscription_id: to.subscriptionId,
    event_id: id,
    kind: content.kind,
    name,
    said: saidOf(content),
    status: 'waiting',
    received_at: now,
    seen_at: now,
  } satisfies Receipt;
}

/** Hashes the event without `cursor` and `timestamp`, which may differ when the server sends it again. */
function saidOf(content: PostedItem): string {
  const said = content.kind === 'event' ? [content.event.name, content.event.data] : content;
  return hash('sha256', JSON.stringify(said), 'base64url');
}

/** An event that never reached the computer counts as new when it is sent again, as after a refresh from the stored cursor. */
export function* known(
  tx: SharedTx,
  { id, said, seen_at }: ReturnType<typeof receiptOf>,
): Op<'first' | 'again' | 'other'> {
  const found = yield* tx.get<{ said: string; status: string }>(
    'SELECT said, status FROM connector_receipt WHERE id = ?',
    id,
  );
  if (found?.said !== said) return 'other';
  if (found.status !== 'expired' && found.status !== 'dead') return 'again';
  const sql = `UPDATE connector_receipt SET seen_at = ?, received_at = ?, status = 'waiting', reason = NULL WHERE id = ?`;
  yield* tx.run(sql, seen_at, seen_at, id);
  return 'first';
}

export function* taken(tx: SharedTx, id: string, now: number): Op<void> {
  yield* tx.run("UPDATE connector_receipt SET status = 'taken', relayed_at = ? WHERE id = ?", now, id);
}

export function* lost(tx: SharedTx, id: string, status: 'dead' | 'expired', reason: string): Op<void> {
  yield* tx.run('UPDATE connector_receipt SET status = ?, reason = ? WHERE id = ?', status, reason, id);
}

/** Events that still wait for a removed subscription never arrived; the next subscription takes them as new. */
export function* dropWaiting(tx: SharedTx, { computerId, subscriptionId }: SubscriptionName): Op<void> {
  const sql = `DELETE FROM connector_receipt WHERE computer_id = ? AND subscription_id = ? AND status <> 'taken' AND status = 'waiting'`;
  yield* tx.run(sql, computerId, subscriptionId);
}

/** The entry after which a list continues; the entry itself is newer. */
export interface Place {
  readonly at: number;
  readonly id: string;
}

/** Events that the computer does not have, newest first. */
export function* leftBefore(
  tx: SharedReader,
  { computerId, subscriptionId }: SubscriptionName,
  before: Place | null,
  limit: number,
): Op<LeftReceipt[]> {
  const order = 'ORDER BY received_at DESC, id DESC LIMIT ?';
  if (before === null) return yield* tx.all<LeftReceipt>(`${left} ${order}`, computerId, subscriptionId, limit);
  return yield* tx.all<LeftReceipt>(
    `${left} AND (received_at, id) < (?, ?) ${order}`,
    ...[computerId, subscriptionId, before.at, before.id, limit],
  );
}

/** When these events came, by event id. */
export function* receivedAt(
  tx: SharedReader,
  name: SubscriptionName,
  eventIds: readonly string[],
): Op<ReadonlyMap<string, number>> {
  const ids = eventIds.slice(0, max).map((eventId) => receiptId(name, eventId));
  const found = new Map<string, number>();
  if (ids.length === 0) return found;
  // One placeholder per possible id, so that every page uses the same text in both engines.
  const places = Array.from({ length: max }, () => '?').join(', ');
  const rows = yield* tx.all<{ eventId: string; at: number }>(
    `SELECT event_id AS "eventId", received_at AS at FROM connector_receipt WHERE id IN (${places})`,
    ...Array.from({ length: max }, (_, index) => ids[index] ?? null),
  );
  for (const { eventId, at } of rows) found.set(eventId, at);
  return found;
}
