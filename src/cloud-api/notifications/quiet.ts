/**
 * Quiet hours, muted bots, and the one push afterwards that says how much was held back. Only pushes are held back: the list in the app has every
 * event. Owns `notification_quiet` and `notification_muted_bot`; must not know devices.
 */
import type { NotifiableEvent } from '../../contracts/events/registry.ts';
import type { PushPayload } from '../../contracts/notifications/push.ts';
import { getQuiet, type Quiet, type QuietHours, setQuiet } from '../../contracts/notifications/quiet.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import { urgentEvents } from './build.ts';
import type { PushQueue } from './push-queue.ts';

interface Held {
  readonly userId: string;
  readonly type: NotifiableEvent;
  readonly botId: string | null;
}

export interface QuietStore {
  read(userId: string): Promise<Quiet>;
  change(userId: string, change: Partial<Quiet>): Promise<Quiet>;
  /** Whether it is not pushed now. Counts it for the digest. */
  holdsBack(tx: SharedTx, event: Held): Op<boolean>;
  /** Tells everybody whose quiet hours are over what was held back: once, however many sinks look. */
  tellEnded(pushQueue: Pick<PushQueue, 'queue'>): Promise<void>;
}

interface Row {
  readonly from_minute: number | null;
  readonly to_minute: number | null;
  readonly timezone: string;
  readonly questions: number;
  readonly digest: number;
  readonly held: number;
}
const columns = 'from_minute, to_minute, timezone, questions, digest, held';
const usual: Row = { from_minute: null, to_minute: null, timezone: 'UTC', questions: 1, digest: 1, held: 0 };

/** Nobody reads in the evening how many there were in the night. */
const digestTriedMs = 4 * 60 * 60_000;

export function createQuiet({ store, clock }: { readonly store: SharedStore; readonly clock: Clock }): QuietStore {
  function* rowOf(tx: SharedReader, userId: string): Op<Row> {
    return (yield* tx.get<Row>(`SELECT ${columns} FROM notification_quiet WHERE user_id = ?`, userId)) ?? usual;
  }

  function* readAll(tx: SharedReader, userId: string): Op<Quiet> {
    const row = yield* rowOf(tx, userId);
    const sql = 'SELECT bot_id FROM notification_muted_bot WHERE user_id = ? ORDER BY bot_id';
    const muted = yield* tx.all<{ bot_id: string }>(sql, userId);
    return {
      quietHours: hoursOf(row),
      questions: row.questions === 1,
      digest: row.digest === 1,
      mutedBots: muted.map((one) => one.bot_id),
    };
  }

  return {
    read: (userId) => store.read((tx) => readAll(tx, userId)),
    change: (userId, change) =>
      store.write(function* (tx) {
        const next = { ...(yield* readAll(tx, userId)), ...change };
        const { quietHours, questions, digest, mutedBots } = next;
        yield* tx.run(
          `INSERT INTO notification_quiet (user_id, from_minute, to_minute, timezone, questions, digest, held)
           VALUES (?, ?, ?, ?, ?, ?, 0)
           ON CONFLICT (user_id) DO UPDATE SET from_minute = excluded.from_minute, to_minute = excluded.to_minute,
             timezone = excluded.timezone, questions = excluded.questions, digest = excluded.digest`,
          userId,
          quietHours === null ? null : minuteOf(quietHours.from),
          quietHours === null ? null : minuteOf(quietHours.to),
          quietHours?.timezone ?? usual.timezone,
          questions ? 1 : 0,
          digest ? 1 : 0,
        );
        if (change.mutedBots !== undefined) {
          yield* tx.run('DELETE FROM notification_muted_bot WHERE user_id = ?', userId);
          for (const bot of new Set(mutedBots)) {
            yield* tx.run('INSERT INTO notification_muted_bot (user_id, bot_id) VALUES (?, ?)', userId, bot);
          }
        }
        return yield* readAll(tx, userId);
      }),
    *holdsBack(tx, { userId, type, botId }) {
      const sql = 'SELECT 1 AS found FROM notification_muted_bot WHERE user_id = ? AND bot_id = ?';
      if (botId !== null && (yield* tx.get(sql, userId, botId)) !== undefined) return true;
      const row = yield* rowOf(tx, userId);
      if (!isQuiet(row, clock.now()) || (row.questions === 1 && urgentEvents.has(type))) return false;
      if (row.digest === 1) yield* tx.run('UPDATE notification_quiet SET held = held + 1 WHERE user_id = ?', userId);
      return true;
    },
    async tellEnded(pushQueue) {
      const sql = `SELECT user_id, ${columns} FROM notification_quiet WHERE held > 0`;
      for (const row of await store.all<Row & { user_id: string }>(sql)) {
        if (isQuiet(row, clock.now())) continue;
        await store.write(function* (tx) {
          // Of several sinks, the one that sets it back tells.
          const taken = 'UPDATE notification_quiet SET held = 0 WHERE user_id = ? AND held = ?';
          const { changes } = yield* tx.run(taken, row.user_id, row.held);
          if (changes === 0 || row.digest === 0) return;
          const until = clock.now() + digestTriedMs;
          const id = `quiet:${row.user_id}:${clock.now()}`;
          const push = {
            id,
            eventId: null,
            userId: row.user_id,
            payload: digestOf(row.held),
            until,
            deadline: until,
          };
          yield* pushQueue.queue(tx, push);
        });
      }
    },
  };
}

export function quietRoutesOf(quiet: QuietStore): BoundRoute[] {
  return [
    bind(getQuiet, async ({ principal }) => ({ body: await quiet.read(principal.userId) })),
    bind(setQuiet, async ({ principal, body }) => ({ body: await quiet.change(principal.userId, defined(body)) })),
  ];
}

/** Without the fields that were left out. */
function defined(body: { readonly [K in keyof Quiet]?: Quiet[K] | undefined }): Partial<Quiet> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

function digestOf(held: number): PushPayload {
  const many = held === 1 ? '1 notification' : `${held} notifications`;
  return {
    type: 'event',
    title: `${many} in quiet hours`,
    body: 'They are in the inbox.',
    url: '/inbox',
    tag: 'quiet-hours',
    data: { event: 'quiet.ended', botId: null, threadId: null },
  };
}

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const timeOf = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

function hoursOf({ from_minute, to_minute, timezone }: Row): QuietHours | null {
  if (from_minute === null || to_minute === null) return null;
  return { from: timeOf(from_minute), to: timeOf(to_minute), timezone };
}

/** By the clocks of the time zone, so that a change of clocks moves quiet hours with it. `to` is no longer quiet. */
export function isQuiet(
  { from_minute, to_minute, timezone }: Pick<Row, 'from_minute' | 'to_minute' | 'timezone'>,
  now: number,
): boolean {
  if (from_minute === null || to_minute === null) return false;
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' }).format(
    now,
  );
  const minute = minuteOf(parts);
  return from_minute < to_minute
    ? from_minute <= minute && minute < to_minute
    : minute >= from_minute || minute < to_minute;
}
