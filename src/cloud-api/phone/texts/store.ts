/** Texts in the database: parts of operations, data in, data out. One SQL text serves both engines. */
import type { Asked, Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { Value } from '../../../kit/store/store.ts';
import { exemptKinds, statusesBefore, type TextRow, type TextStatus } from './model.ts';

const columns = `id, number_id AS "numberId", user_id AS "userId", ours, peer, direction, text, media, parts, status, reason, code,
  by_whom AS "by", kind, bot_id AS "botId", bot_name AS "botName", computer_id AS "computerId", carrier_key AS "carrierKey",
  unclear, at, said_at AS "saidAt", left_at AS "leftAt", relayed_at AS "relayedAt"`;
const insert = `INSERT INTO phone_text (id, number_id, user_id, ours, peer, direction, text, media, parts, status, reason, code,
  by_whom, kind, bot_id, bot_name, computer_id, carrier_key, unclear, at, said_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const touch = `INSERT INTO phone_contact (number_id, peer, last_id, last_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (number_id, peer) DO UPDATE SET last_id = excluded.last_id, last_at = excluded.last_at`;

/** False: the carrier delivered it before. */
export function* addText(tx: SharedTx, row: Omit<TextRow, 'leftAt' | 'relayedAt'>): Op<boolean> {
  const about = [row.id, row.numberId, row.userId, row.ours, row.peer, row.direction, row.text, row.media, row.parts];
  const state = [row.status, row.reason, row.code, row.by, row.kind, row.botId, row.botName, row.computerId];
  const added = yield* tx.run(insert, ...about, ...state, row.carrierKey, row.unclear, row.at, row.saidAt);
  if (added.changes === 0) return false;
  yield* tx.run(touch, row.numberId, row.peer, row.id, row.at);
  return true;
}

export function* findText(tx: SharedReader, id: string): Op<TextRow | null> {
  return (yield* tx.get<TextRow>(`SELECT ${columns} FROM phone_text WHERE id = ?`, id)) ?? null;
}

export function* findByCarrier(tx: SharedReader, carrierKey: string): Op<TextRow | null> {
  return (yield* tx.get<TextRow>(`SELECT ${columns} FROM phone_text WHERE carrier_key = ?`, carrierKey)) ?? null;
}

interface Changes {
  readonly reason?: string | null;
  readonly code?: string | null;
  readonly parts?: number;
  readonly carrierKey?: string;
  readonly leftAt?: number;
}

const columnOf: Readonly<Record<keyof Changes, string>> = {
  reason: 'reason',
  code: 'code',
  parts: 'parts',
  carrierKey: 'carrier_key',
  leftAt: 'left_at',
};

/** False: its status does not allow the move. */
export function* moveText(tx: SharedTx, id: string, to: TextStatus, changes: Changes = {}): Op<boolean> {
  const from = statusesBefore(to);
  if (from.length === 0) return false;
  const set = ['status = ?', ...fieldsOf(changes).map(([column]) => `${column} = ?`)].join(', ');
  const places = from.map(() => '?').join(', ');
  const sql = `UPDATE phone_text SET ${set} WHERE id = ? AND status IN (${places})`;
  return (yield* tx.run(sql, to, ...fieldsOf(changes).map(([, value]) => value), id, ...from)).changes === 1;
}

/** Without a move. */
export function* noteOnText(tx: SharedTx, id: string, changes: Changes): Op<void> {
  const fields = fieldsOf(changes);
  const set = fields.map(([column]) => `${column} = ?`).join(', ');
  yield* tx.run(`UPDATE phone_text SET ${set} WHERE id = ?`, ...fields.map(([, value]) => value), id);
}

function fieldsOf(changes: Changes): [string, Value][] {
  return (Object.keys(columnOf) as (keyof Changes)[]).flatMap((name) => {
    const value = changes[name];
    return value === undefined ? [] : [[columnOf[name], value] as [string, Value]];
  });
}

const exempt = exemptKinds.map((kind) => `'${kind}'`).join(', ');

/** Texts that wait for that pair, except answers to STOP and HELP; `peer` null: all that wait for the number. Returns how many. */
export function* cancelWaiting(tx: SharedTx, numberId: string, peer: string | null, reason: string): Op<number> {
  const sql = `UPDATE phone_text SET status = 'cancelled', reason = ? WHERE number_id = ? AND status = 'queued'`;
  if (peer === null) return (yield* tx.run(sql, reason, numberId)).changes;
  const pair = `${sql} AND peer = ? AND (kind IS NULL OR kind NOT IN (${exempt}))`;
  return (yield* tx.run(pair, reason, numberId, peer)).changes;
}

/** Counted towards the day: texts accepted for sending, except answers of the service. The newest first. */
const counted = `number_id = ? AND direction = 'out' AND (kind IS NULL OR kind = 'approval') AND at > ? AND status <> 'cancelled'
  AND NOT (status = 'failed' AND carrier_key IS NULL)`;

export function* countSince(tx: SharedReader, numberId: string, since: number): Op<number> {
  const sql = `SELECT count(*) AS n FROM phone_text WHERE ${counted}`;
  return (yield* tx.get<{ n: number }>(sql, numberId, since))?.n ?? 0;
}

/** When the n-th newest of them came; null: there are fewer. */
export function* nthSince(tx: SharedReader, numberId: string, since: number, n: number): Op<number | null> {
  const sql = `SELECT at FROM phone_text WHERE ${counted} ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?`;
  return (yield* tx.get<{ at: number }>(sql, numberId, since, n - 1))?.at ?? null;
}

/** When the n-th newest was sent; null: fewer were since. */
export function* nthLeftSince(tx: SharedReader, numberId: string, since: number, n: number): Op<number | null> {
  const sql = `SELECT left_at AS at FROM phone_text WHERE number_id = ? AND left_at > ? AND left_at IS NOT NULL
    ORDER BY left_at DESC LIMIT 1 OFFSET ?`;
  return (yield* tx.get<{ at: number }>(sql, numberId, since, n - 1))?.at ?? null;
}

/** Whether the service sent them this since. */
export function* saidSince(tx: SharedReader, numberId: string, peer: string, kind: string, since: number): Op<boolean> {
  const sql = `SELECT 1 AS found FROM phone_text WHERE number_id = ? AND peer = ? AND kind = ? AND at > ? LIMIT 1`;
  return (yield* tx.get(sql, numberId, peer, kind, since)) !== undefined;
}

export const relayed = (tx: SharedTx, id: string, at: number): Asked<unknown> =>
  tx.run('UPDATE phone_text SET relayed_at = ? WHERE id = ?', at, id);

interface Place {
  readonly at: number;
  readonly id: string;
}

/** Newest first, after `place`. */
export function* listTexts(
  tx: SharedReader,
  asked: {
    readonly numberId: string;
    readonly peer: string | null;
    readonly after: Place | null;
    readonly limit: number;
  },
): Op<TextRow[]> {
  const { numberId, peer, after, limit } = asked;
  const filters = [
    'number_id = ?',
    ...(peer === null ? [] : ['peer = ?']),
    ...(after === null ? [] : [older('at', 'id')]),
  ];
  const values = [
    numberId,
    ...(peer === null ? [] : [peer]),
    ...(after === null ? [] : [after.at, after.at, after.id]),
  ];
  const sql = `SELECT ${columns} FROM phone_text WHERE ${filters.join(' AND ')} ORDER BY at DESC, id DESC LIMIT ?`;
  return yield* tx.all<TextRow>(sql, ...values, limit);
}

export interface ConversationRow {
  readonly peer: string;
  readonly optedOut: number;
  readonly firstTextAt: number | null;
  readonly lastId: string;
  readonly lastAt: number;
}

export function* listContacts(
  tx: SharedReader,
  asked: { readonly numberId: string; readonly after: Place | null; readonly limit: number },
): Op<ConversationRow[]> {
  const { numberId, after, limit } = asked;
  const sql = `SELECT peer, opted_out AS "optedOut", first_text_at AS "firstTextAt", last_id AS "lastId", last_at AS "lastAt"
    FROM phone_contact WHERE number_id = ? AND last_id IS NOT NULL ${after === null ? '' : `AND ${older('last_at', 'last_id')}`}
    ORDER BY last_at DESC, last_id DESC LIMIT ?`;
  const values = [numberId, ...(after === null ? [] : [after.at, after.at, after.id])];
  return yield* tx.all<ConversationRow>(sql, ...values, limit);
}

const older = (at: string, id: string) => `(${at} < ? OR (${at} = ? AND ${id} < ?))`;
