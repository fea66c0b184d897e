/**
 * Notifications as a person reads them in the app: events that a sink has claimed, in the words of a push. Owns only the read state. Joins the
 * backbone's rows with their outcomes; must not know pushes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import {
  getReach,
  listNotifications,
  type Notification,
  type NotificationOutcome,
  readNotifications,
} from '../../contracts/notifications/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { portion } from '../../kit/store/remove-portions.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';
import { buildNotification } from './build.ts';
import { addChanges, type Counted, counted, countsOf } from './counts.ts';
import type { DeviceStore } from './devices.ts';

interface Feed {
  list(query: { userId: string; unread: boolean; limit: number; cursor?: string | undefined }): Promise<{
    notifications: Notification[];
    total: number;
    unread: number;
    /** Approvals among both. */
    questions: { total: number; unread: number };
    nextCursor: string | null;
  }>;
  /** Null: all. Ignores ids that are not the person's. */
  read(userId: string, ids: readonly string[] | null): Promise<{ read: number; unread: number; at: string }>;
  /** Marks those that were read at that moment as unread again. */
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

/** The list shows the beginning of a long message; the thread has all of it. */
const maxBodyLength = 500;
/** Reads along an index of the person's own rows, newest first, so that it touches only the page. */
const page = (
  only: '' | 'AND n.read_at IS NULL',
) => `SELECT n.seq, e.id, e.type, e.occurred_at, e.data, n.outcome, n.read_at
  FROM notification n JOIN user_event e ON e.id = n.event_id
  WHERE n.user_id = ? AND n.seq < ? ${only} ORDER BY n.seq DESC LIMIT ?`;
const first = Number.MAX_SAFE_INTEGER;

export function createFeed({ store, clock }: { store: SharedStore; clock: Clock }): Feed {
  /** Marks matching rows read at that time, or unread again; returns how many. */
  function* mark(tx: SharedTx, userId: string, at: number | null, where: string, ...values: Value[]): Op<number> {
    const sql = `UPDATE notification SET read_at = ? WHERE user_id = ? AND ${where} RETURNING ${counted}`;
    const rows = yield* tx.all<Counted>(sql, at, userId, ...values);
    const was = at === null ? 0 : null;
    yield* addChanges(
      tx,
      rows.map((row) => [{ ...row, read_at: was }, row]),
    );
    return rows.length;
  }

  return {
    list({ userId, unread, limit, cursor }) {
      const before = cursor === undefined ? first : placeOf(cursor);
      return store.read(function* (tx) {
        const rows = yield* tx.all<Row>(page(unread ? 'AND n.read_at IS NULL' : ''), userId, before, limit + 1);
        const shown = rows.slice(0, limit);
        const last = shown.at(-1);
        const nextCursor = rows.length > limit && last !== undefined ? cursorOf(last.seq) : null;
        return { notifications: shown.map(wire), ...(yield* countsOf(tx, userId)), nextCursor };
      });
    },
    read: (userId, ids) =>
      store.write(function* (tx) {
        const now = clock.now();
        let read = 0;
        if (ids === null) read = yield* mark(tx, userId, now, 'read_at IS NULL');
        else for (const id of ids) read += yield* mark(tx, userId, now, 'read_at IS NULL AND event_id = ?', id);
        return { read, unread: (yield* countsOf(tx, userId)).unread, at: iso(now) };
      }),
    undo: (userId, at) =>
      store.write(function* (tx) {
        yield* mark(tx, userId, null, 'read_at = ?', Date.parse(at));
        return { read: 0, unread: (yield* countsOf(tx, userId)).unread, at };
      }),
    async latest(userId) {
      const row = await store.get<Row>(page(''), userId, first, 1);
      return row === undefined ? null : { event: row.type, outcome: row.outcome, at: iso(row.occurred_at) };
    },
    async forget(before) {
      const sql = `DELETE FROM notification WHERE event_id IN (SELECT n.event_id FROM user_event e
        JOIN notification n ON n.event_id = e.id WHERE e.stored_at < ? ORDER BY e.stored_at LIMIT ${portion}) RETURNING ${counted}`;
      const forgetSome = () =>
        store.write(function* (tx) {
          const rows = yield* tx.all<Counted>(sql, before);
          yield* addChanges(
            tx,
            rows.map((row) => [row, null]),
          );
          return rows.length;
        });
      while ((await forgetSome()) >= portion);
    },
  };
}

function wire(row: Row): Notification {
  const data = JSON.parse(row.data) as EventData<NotifiableEvent>;
  const built = buildNotification({ type: row.type, data });
  return {
    id: row.id,
    event: row.type,
    title: built.title,
    body: built.body.length > maxBodyLength ? `${built.body.slice(0, maxBodyLength - 1)}…` : built.body,
    url: built.url,
    at: iso(row.occurred_at),
    readAt: row.read_at === null ? null : iso(row.read_at),
    outcome: row.outcome,
    ...(built.data.approvalId === undefined ? {} : { approvalId: built.data.approvalId }),
    ...('itemId' in data ? { mailId: data.itemId } : {}),
  };
}

function cursorOf(seq: number): string {
  return Buffer.from(String(seq)).toString('base64url');
}

function placeOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  const fact = `${JSON.stringify(cursor.slice(0, 60))} is not a cursor of this list.`;
  throw new AppError('usage', fact, 'Use `nextCursor` of an answer.', { wireCode: 'bad_request' });
}

/** The person's computers, and since when each is linked or away. */
export type ComputerReach = (
  userId: string,
) => Promise<
  readonly { readonly id: string; readonly name: string; readonly state: 'linked' | 'away'; readonly since: string }[]
>;

const defaultLimit = 50;

export function feedRoutes({
  feed,
  devices,
  computers,
  pushConfigured,
  sinkWorks,
}: {
  readonly feed: Feed;
  readonly devices: Pick<DeviceStore, 'list'>;
  readonly computers: ComputerReach;
  readonly pushConfigured: boolean;
  readonly sinkWorks: () => boolean;
}): BoundRoute[] {
  return [
    bind(listNotifications, async ({ principal, query: { unread = false, limit = defaultLimit, cursor } }) => ({
      body: await feed.list({ userId: principal.userId, unread, limit, cursor }),
    })),
    bind(readNotifications, async ({ principal, body }) => ({
      body: await ('undo' in body
        ? feed.undo(principal.userId, body.undo)
        : feed.read(principal.userId, 'ids' in body ? body.ids : null)),
    })),
    bind(getReach, async ({ principal: { userId } }) => {
      const all = await devices.list(userId);
      const reachable = all.filter(({ lastOutcome }) => lastOutcome === null || lastOutcome === 'sent');
      const away = (await computers(userId)).filter(({ state }) => state === 'away');
      return {
        body: {
          pushConfigured,
          working: sinkWorks(),
          devices: all.length,
          reachable: reachable.length,
          lastOutcome: await feed.latest(userId),
          away: away.map(({ id, name, since }) => ({ id, name, since })),
        },
      };
    }),
  ];
}
