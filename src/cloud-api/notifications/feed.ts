/**
 * Notifications as a person reads them in the app: events that a sink has taken up, with the words of a push. Read state is theirs
 * alone. Joins the backbone's rows with what became of them; must not know pushes.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import type { Notification, NotificationOutcome } from '../../contracts/notifications/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Op, SharedReader, SharedStore } from '../../kit/store/shared-store.ts';
import { buildNotification } from './build.ts';

export interface Feed {
  list(query: { userId: string; unread: boolean; limit: number; cursor?: string | undefined }): Promise<{
    notifications: Notification[];
    total: number;
    unread: number;
    /** Of both, those of approvals. */
    questions: { total: number; unread: number };
    nextCursor: string | null;
  }>;
  /** Null: all. What is not the person's own is passed over. */
  read(userId: string, ids: readonly string[] | null): Promise<{ read: number; unread: number; at: string }>;
  /** What was marked at that moment is unread again. */
  undo(userId: string, at: string): Promise<{ read: number; unread: number; at: string }>;
  latest(userId: string): Promise<{ event: string; outcome: NotificationOutcome; at: string } | null>;
  forget(before: number): Promise<void>;
}

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly type: NotifiableEvent;
  readonly occurred_at: number;
  readonly data: string;
  readonly outcome: NotificationOutcome;
  readonly read_at: number | null;
}

/** A list shows the beginning of a long message; the thread has it whole. */
const longestBody = 500;
const joined = `SELECT e.seq, e.id, e.type, e.occurred_at, e.data, n.outcome, n.read_at
  FROM user_event e JOIN notification n ON n.event_id = e.id WHERE e.user_id = ?`;

export function createFeed({ store, clock }: { store: SharedStore; clock: Clock }): Feed {
  function* unreadOf(tx: SharedReader, userId: string): Op<number> {
    const sql = 'SELECT count(*) AS n FROM notification WHERE user_id = ? AND read_at IS NULL';
    return (yield* tx.get<{ n: number }>(sql, userId))?.n ?? 0;
  }

  function* countsOf(tx: SharedReader, userId: string) {
    const sql = `SELECT question, count(*) AS total, count(*) - count(read_at) AS unread FROM notification
      WHERE user_id = ? GROUP BY question`;
    const rows = yield* tx.all<{ question: number; total: number; unread: number }>(sql, userId);
    const of = (question: number) => rows.find((row) => row.question === question) ?? { total: 0, unread: 0 };
    const [rest, asked] = [of(0), of(1)];
    const questions = { total: asked.total, unread: asked.unread };
    return { total: rest.total + asked.total, unread: rest.unread + asked.unread, questions };
  }

  return {
    list({ userId, unread, limit, cursor }) {
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : placeOf(cursor);
      return store.read(function* (tx) {
        const only = unread ? 'AND n.read_at IS NULL' : '';
        const sql = `${joined} AND e.seq < ? ${only} ORDER BY e.seq DESC LIMIT ?`;
        const rows = yield* tx.all<Row>(sql, userId, before, limit + 1);
        const shown = rows.slice(0, limit);
        const last = shown.at(-1);
        const nextCursor = rows.length > limit && last !== undefined ? cursorOf(last.seq) : null;
        return { notifications: shown.map(wire), ...(yield* countsOf(tx, userId)), nextCursor };
      });
    },
    read: (userId, ids) =>
      store.write(function* (tx) {
        const all = 'UPDATE notification SET read_at = ? WHERE user_id = ? AND read_at IS NULL';
        const now = clock.now();
        let read = 0;
        if (ids === null) read = (yield* tx.run(all, now, userId)).changes;
        else for (const id of ids) read += (yield* tx.run(`${all} AND event_id = ?`, now, userId, id)).changes;
        return { read, unread: yield* unreadOf(tx, userId), at: iso(now) };
      }),
    undo: (userId, at) =>
      store.write(function* (tx) {
        yield* tx.run(
          'UPDATE notification SET read_at = NULL WHERE user_id = ? AND read_at = ?',
          userId,
          Date.parse(at),
        );
        return { read: 0, unread: yield* unreadOf(tx, userId), at };
      }),
    async latest(userId) {
      const row = await store.get<Row>(`${joined} ORDER BY e.seq DESC LIMIT 1`, userId);
      return row === undefined ? null : { event: row.type, outcome: row.outcome, at: iso(row.occurred_at) };
    },
    async forget(before) {
      const sql = `DELETE FROM notification WHERE event_id IN (SELECT n.event_id FROM user_event e
        JOIN notification n ON n.event_id = e.id WHERE e.stored_at < ? ORDER BY e.stored_at LIMIT ${portion})`;
      await removePortions(store, sql, before);
    },
  };
}

function wire(row: Row): Notification {
  const built = buildNotification({ type: row.type, data: JSON.parse(row.data) as EventData<NotifiableEvent> });
  return {
    id: row.id,
    event: row.type,
    title: built.title,
    body: built.body.length > longestBody ? `${built.body.slice(0, longestBody - 1)}…` : built.body,
    url: built.url,
    at: iso(row.occurred_at),
    readAt: row.read_at === null ? null : iso(row.read_at),
    outcome: row.outcome,
  };
}

function cursorOf(seq: number): string {
  return Buffer.from(String(seq)).toString('base64url');
}

function placeOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  const fact = `${JSON.stringify(cursor.slice(0, 60))} is no cursor of this list.`;
  throw new AppError('usage', fact, 'Use `nextCursor` of an answer.', { wireCode: 'bad_request' });
}
