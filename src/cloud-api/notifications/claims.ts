/**
 * The steps of the sink for one batch of events, in one transaction: claim, age, preference, message limits, quiet hours, build,
 * send. Reads the backbone's rows; must not know timers.
 */
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Op, SharedTx } from '../../kit/store/shared-store.ts';
import type { Answerable } from '../approvals/index.ts';
import { buildNotification, messageTag } from './build.ts';
import { addChanges, type Counted, counted } from './counts.ts';
import { type EventName, type Outcomes, questions } from './outcomes.ts';
import type { Pace } from './pace.ts';
import type { PreferenceStore } from './preferences.ts';
import type { OpenApproval, PushQueue } from './push-queue.ts';
import type { QuietStore } from './quiet.ts';

export interface Claims {
  /**
   * Up to a batch after this place; returns the place of its last event, or null if there were no more. `handling` gets each event before it is
   * handled.
   */
  next(tx: SharedTx, after: number, handling: (event: EventName) => void): Op<number | null>;
  /** An event that cannot be handled is listed all the same. */
  skip(tx: SharedTx, event: EventName): Op<void>;
  /** Older events are not pushed, but the list shows them. */
  missed(tx: SharedTx): Op<void>;
}

const lookBackMs = 10 * 60_000;
const oldestMs = 12 * 60 * 60_000;
const deviceRetentionMs = 24 * 60 * 60_000;
const batch = 100;
/** A permission that the person answers in the harness: never pushed from here. */
const neverPushedSource = 'gizzi-permission';

interface EventRow {
  readonly seq: number;
  readonly id: string;
  readonly user_id: string;
  readonly type: NotifiableEvent;
  readonly source_id: string;
  readonly occurred_at: number;
  readonly data: string;
}

interface Event extends Omit<EventRow, 'data'> {
  readonly data: EventData<NotifiableEvent>;
}

export function createClaims(deps: {
  readonly clock: Clock;
  readonly outcomes: Outcomes;
  readonly preferences: Pick<PreferenceStore, 'enabled'>;
  readonly quiet: Pick<QuietStore, 'holdsBack'>;
  readonly pace: Pace;
  readonly pushQueue: Pick<PushQueue, 'queue'>;
  readonly openApproval: OpenApproval;
  readonly pushConfigured: boolean;
}): Claims {
  const { clock, outcomes, preferences, pace, pushQueue } = deps;

  function* handle(tx: SharedTx, event: Event): Op<void> {
    if (event.type === 'approval.resolved') yield* readQuestion(tx, event);
    const kept = (yield* withheld(tx, event)) ?? ((yield* heldBack(tx, event)) ? 'skipped' : null);
    if (kept !== null) yield* outcomes.settle(tx, event.id, kept);
    else if (event.type === 'message.received') yield* sendMessage(tx, event);
    else yield* send(tx, event, yield* latestOf(tx, event));
  }

  /** The reason not to send it; null to send it. */
  function* withheld(tx: SharedTx, event: Event): Op<'off' | 'skipped' | null> {
    if (event.occurred_at < clock.now() - oldestMs) return 'skipped';
    if (!(yield* preferences.enabled(tx, event.user_id, event.type))) return 'off';
    if (event.type === 'approval.requested') {
      const { source } = event.data as EventData<'approval.requested'>;
      return source === neverPushedSource || (yield* latestOf(tx, event)) === 'closed' ? 'skipped' : null;
    }
    if (event.type !== 'message.received') return null;
    if (yield* pace.toldDirectly(tx, event.user_id)) return 'skipped';
    return (yield* pace.allows(tx, event.user_id, conversationOf(event))) ? null : 'skipped';
  }

  /** In quiet hours, or about a muted bot; the list shows it all the same. */
  function* heldBack(tx: SharedTx, { user_id, type, data }: Event): Op<boolean> {
    return yield* deps.quiet.holdsBack(tx, { userId: user_id, type, botId: data.botId ?? null });
  }

  function* sendMessage(tx: SharedTx, event: Event): Op<void> {
    if (yield* send(tx, event, 'unknown')) yield* pace.told(tx, event.user_id, conversationOf(event), false);
  }

  /** Until when a question can be answered. */
  function* latestOf(tx: SharedTx, event: Event): Op<Answerable> {
    if (event.type !== 'approval.requested') return 'unknown';
    const { approvalId } = event.data as EventData<'approval.requested'>;
    return yield* deps.openApproval(tx, approvalId, event.user_id);
  }

  /** Queues it for every device; false without a device. It expires at `answerable`. */
  function* send(tx: SharedTx, event: Event, answerable: Answerable): Op<boolean> {
    const latest = typeof answerable === 'string' ? Number.POSITIVE_INFINITY : answerable.until;
    const payload = buildNotification(event);
    const until = Math.min(clock.now() + deviceRetentionMs, latest);
    const deadline = Math.min(event.occurred_at + oldestMs, latest);
    const push = { id: event.id, eventId: event.id, userId: event.user_id, payload, until, deadline };
    const devices = deps.pushConfigured ? yield* pushQueue.queue(tx, push) : 0;
    if (devices === 0) yield* outcomes.settle(tx, event.id, 'unreachable');
    else yield* outcomes.sending(tx, event.id, devices);
    return devices > 0;
  }

  /** Marks a question as read once it is answered. */
  function* readQuestion(tx: SharedTx, event: Event): Op<void> {
    const sql = "SELECT id FROM user_event WHERE user_id = ? AND type = 'approval.requested' AND source_id = ?";
    const question = yield* tx.get<{ id: string }>(sql, event.user_id, event.source_id);
    if (question !== undefined) yield* outcomes.read(tx, question.id);
  }

  return {
    *next(tx, after, handling) {
      const rows = yield* tx.all<EventRow>(
        `SELECT seq, id, user_id, type, source_id, occurred_at, data FROM user_event e
          WHERE stored_at > ? AND seq > ? AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.event_id = e.id)
          ORDER BY seq LIMIT ?`,
        clock.now() - lookBackMs,
        after,
        batch,
      );
      for (const row of rows) {
        handling(row);
        if (!(yield* outcomes.claim(tx, row))) continue;
        yield* handle(tx, { ...row, data: JSON.parse(row.data) as Event['data'] });
      }
      return rows.at(-1)?.seq ?? null;
    },
    *skip(tx, event) {
      if (yield* outcomes.claim(tx, event)) yield* outcomes.settle(tx, event.id, 'skipped');
    },
    *missed(tx) {
      const added = yield* tx.all<Counted>(
        `INSERT INTO notification (event_id, seq, user_id, claimed_at, outcome, question)
          SELECT id, seq, user_id, CAST(? AS BIGINT), 'skipped', CASE WHEN type IN (${questions.map((type) => `'${type}'`)}) THEN 1 ELSE 0 END
          FROM user_event e WHERE stored_at <= ?
            AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.event_id = e.id)
          ON CONFLICT (event_id) DO NOTHING RETURNING ${counted}`,
        clock.now(),
        clock.now() - lookBackMs,
      );
      yield* addChanges(
        tx,
        added.map((row) => [null, row]),
      );
    },
  };
}

function conversationOf(event: Event): string {
  return messageTag(event.data as EventData<'message.received'>);
}
