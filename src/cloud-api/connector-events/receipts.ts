/**
 * What became of each event that came: the mark that identifies a repeated event for seven days after it was last seen,
 * and what the trail shows of events that never reached the computer. Never keeps their data. Must not know lanes or
 * signatures.
 */
import { hash } from 'node:crypto';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';

export type ReceiptKind = 'event' | 'gap' | 'terminated';

/** A subscription, and whose computer it is on. */
export interface SubscriptionName {
  readonly computerId: string;
  readonly subscriptionId: string;
}

export interface NewReceipt extends SubscriptionName {
  /** See {@link receiptId}. */
  readonly id: string;
  readonly eventId: string;
  readonly kind: ReceiptKind;
  readonly name: string | null;
  /** Hash of what it says: an id stands for one event. */
  readonly said: string;
}

/** A statement and what its signs stand for. */
export interface Asking {
  readonly sql: string;
  readonly values: readonly Value[];
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

/** `again`: it came before; `other`: another event did by this id. */
export type Seen = 'first' | 'again' | 'other';

const keptMs = 7 * 24 * 60 * 60_000;
/** Events looked up at once. */
const most = 200;

/** Of one event of one subscription; also the id of its item in the lanes. */
export const receiptId = ({ computerId, subscriptionId }: SubscriptionName, eventId: string) =>
  hash('sha256', `${computerId}/${subscriptionId}/${eventId}`, 'base64url');

const into = `INSERT INTO connector_receipt (id, computer_id, subscription_id, event_id, kind, name, said, status, received_at, seen_at)`;
const insert = `${into} VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?) ON CONFLICT (id) DO NOTHING`;
const left = `SELECT id, event_id AS "eventId", name, status, reason, received_at AS "receivedAt" FROM connector_receipt
  WHERE computer_id = ? AND subscription_id = ? AND status <> 'taken' AND kind = 'event'`;

/** Notes that it came. What never got to the computer and is sent again, as on a refresh from the stored cursor, is a first one. */
export function* note(tx: SharedTx, receipt: NewReceipt, now: number): Op<Seen> {
  const { id, computerId, subscriptionId, eventId, kind, name, said } = receipt;
  const added = yield* tx.run(insert, id, computerId, subscriptionId, eventId, kind, name, said, now, now);
  if (added.changes === 1) return 'first';
  const found = yield* tx.get<{ said: string; status: string }>(
    'SELECT said, status FROM connector_receipt WHERE id = ?',
    id,
  );
  if (found === undefined || found.said !== said) return 'other';
  const revived = found.status === 'expired' || found.status === 'dead';
  yield* revived
    ? tx.run(
        "UPDATE connector_receipt SET seen_at = ?, received_at = ?, status = 'waiting', reason = NULL WHERE id = ?",
        now,
        now,
        id,
      )
    : tx.run('UPDATE connector_receipt SET seen_at = ? WHERE id = ?', now, id);
  return revived ? 'first' : 'again';
}

/** {@link note} of a first one alone, as a statement of PostgreSQL that returns a row where it was one. `there`: what must be found. */
export function noteFirst(receipt: NewReceipt, now: number, there: Asking): Asking {
  const { id, computerId, subscriptionId, eventId, kind, name, said } = receipt;
  return {
    sql: `${into} SELECT ?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ? FROM (${there.sql}) there ON CONFLICT (id) DO NOTHING RETURNING id`,
    values: [id, computerId, subscriptionId, eventId, kind, name, said, now, now, ...there.values],
  };
}

export function* taken(tx: SharedTx, id: string, now: number): Op<void> {
  yield* tx.run("UPDATE connector_receipt SET status = 'taken', relayed_at = ? WHERE id = ?", now, id);
}

export function* lost(tx: SharedTx, id: string, status: 'dead' | 'expired', reason: string): Op<void> {
  yield* tx.run('UPDATE connector_receipt SET status = ?, reason = ? WHERE id = ?', status, reason, id);
}

/** What still waits for a subscription that is gone never came: sent again to the next one, it is a first one. */
export function* dropWaiting(tx: SharedTx, { computerId, subscriptionId }: SubscriptionName): Op<void> {
  const sql = `DELETE FROM connector_receipt WHERE computer_id = ? AND subscription_id = ? AND status <> 'taken' AND status = 'waiting'`;
  yield* tx.run(sql, computerId, subscriptionId);
}

/** Where a list goes on: after this one, which is newer. */
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
  const ids = eventIds.slice(0, most).map((eventId) => receiptId(name, eventId));
  const found = new Map<string, number>();
  if (ids.length === 0) return found;
  // As many places as there may be: one text for both engines, whatever the page.
  const places = Array.from({ length: most }, () => '?').join(', ');
  const rows = yield* tx.all<{ eventId: string; at: number }>(
    `SELECT event_id AS "eventId", received_at AS at FROM connector_receipt WHERE id IN (${places})`,
    ...Array.from({ length: most }, (_, index) => ids[index] ?? null),
  );
  for (const { eventId, at } of rows) found.set(eventId, at);
  return found;
}

/**
 * What nobody has sent for seven days. What waits stays, also where nothing ran for so long: its lane gives it up, and until it has, an
 * event that is sent again must not count as a first one, as its lane holds its id and would not take it.
 */
export function forgetSeen(store: SharedStore, now: number): Promise<void> {
  const sql = `DELETE FROM connector_receipt WHERE seen_at < ? AND id IN (SELECT id FROM connector_receipt
    WHERE seen_at < ? AND status <> 'waiting' ORDER BY seen_at LIMIT ${portion})`;
  return removePortions(store, sql, now - keptMs, now - keptMs);
}
