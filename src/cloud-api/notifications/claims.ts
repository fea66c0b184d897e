/**
 * The six steps of the sink for one batch of events, in one transaction (interface.md "Notification events and web push"): claim,
 * age, preference, build, message limits, send. Reads the backbone's rows; must not know timers.
 */
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Tx } from '../../kit/store/store.ts';
import { buildNotification, messageTag } from './build.ts';
import type { Letters, OpenApproval } from './letters.ts';
import type { Outcomes } from './outcomes.ts';
import type { Pace } from './pace.ts';
import type { PreferenceStore } from './preferences.ts';

export interface ClaimsDeps {
  readonly clock: Clock;
  readonly outcomes: Outcomes;
  readonly preferences: Pick<PreferenceStore, 'enabled'>;
  readonly pace: Pace;
  readonly letters: Pick<Letters, 'queue'>;
  readonly openApproval: OpenApproval;
  readonly pushConfigured: boolean;
}

/** An event, and whose it is. */
export type EventName = Pick<EventRow, 'id' | 'user_id'>;

export interface Claims {
  /**
   * Up to a batch after this place; answers the place of its last event, or null when nothing more was found. `handling` is told
   * of each event before it is handled.
   */
  next(tx: Tx, after: number, handling: (event: EventName) => void): number | null;
  /** It cannot be handled; it is listed all the same. */
  skip(tx: Tx, event: EventName): void;
  /** What was stored too long ago to be pushed shows in the list all the same. */
  missed(tx: Tx): void;
}

const lookBackMs = 10 * 60_000;
const oldestMs = 12 * 60 * 60_000;
const keptForDeviceMs = 24 * 60 * 60_000;
const batch = 100;
/** A permission that the person answers where the harness asks: never pushed from here. */
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

export function createClaims(deps: ClaimsDeps): Claims {
  const { clock, outcomes, preferences, pace, letters } = deps;

  function handle(tx: Tx, event: Event): void {
    if (event.type === 'approval.resolved') readQuestion(tx, event);
    const kept = keptBack(tx, event);
    if (kept !== null) outcomes.settle(tx, event.id, kept);
    else if (event.type === 'message.received') sendMessage(tx, event);
    else send(tx, event, latestOf(tx, event));
  }

  /** Why it is not sent; null when it is. */
  function keptBack(tx: Tx, event: Event): 'off' | 'skipped' | null {
    if (event.occurred_at < clock.now() - oldestMs) return 'skipped';
    if (!preferences.enabled(tx, event.user_id, event.type)) return 'off';
    if (event.type === 'approval.requested') {
      const { source } = event.data as EventData<'approval.requested'>;
      return source === neverPushedSource || latestOf(tx, event) === 'closed' ? 'skipped' : null;
    }
    if (event.type !== 'message.received') return null;
    const told = pace.toldDirectly(tx, event.user_id) || !pace.allows(tx, event.user_id, conversationOf(event));
    return told ? 'skipped' : null;
  }

  function sendMessage(tx: Tx, event: Event): void {
    if (send(tx, event, 'unknown')) pace.told(tx, event.user_id, conversationOf(event), false);
  }

  /** Until when a question can be answered. */
  function latestOf(tx: Tx, event: Event): ReturnType<OpenApproval> {
    if (event.type !== 'approval.requested') return 'unknown';
    const { approvalId } = event.data as EventData<'approval.requested'>;
    return deps.openApproval(tx, approvalId, event.user_id);
  }

  /** To every device; false when there is none. After `answerable` nobody needs to know any more. */
  function send(tx: Tx, event: Event, answerable: ReturnType<OpenApproval>): boolean {
    const latest = typeof answerable === 'string' ? Number.POSITIVE_INFINITY : answerable.until;
    const payload = buildNotification(event);
    const until = Math.min(clock.now() + keptForDeviceMs, latest);
    const deadline = Math.min(event.occurred_at + oldestMs, latest);
    const letter = { id: event.id, eventId: event.id, userId: event.user_id, payload, until, deadline };
    const devices = deps.pushConfigured ? letters.queue(tx, letter) : 0;
    if (devices === 0) outcomes.settle(tx, event.id, 'unreachable');
    else outcomes.sending(tx, event.id, devices);
    return devices > 0;
  }

  /** Nobody has to read a question that is answered. */
  function readQuestion(tx: Tx, event: Event): void {
    const sql = "SELECT id FROM user_event WHERE user_id = ? AND type = 'approval.requested' AND source_id = ?";
    const question = tx.get<{ id: string }>(sql, event.user_id, event.source_id);
    if (question !== undefined) outcomes.read(tx, question.id);
  }

  return {
    next(tx, after, handling) {
      const rows = tx.all<EventRow>(
        `SELECT seq, id, user_id, type, source_id, occurred_at, data FROM user_event e
          WHERE stored_at > ? AND seq > ? AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.event_id = e.id)
          ORDER BY seq LIMIT ?`,
        clock.now() - lookBackMs,
        after,
        batch,
      );
      for (const row of rows) {
        handling(row);
        if (!outcomes.claim(tx, row.id, row.user_id)) continue;
        handle(tx, { ...row, data: JSON.parse(row.data) as Event['data'] });
      }
      return rows.at(-1)?.seq ?? null;
    },
    skip(tx, event) {
      if (outcomes.claim(tx, event.id, event.user_id)) outcomes.settle(tx, event.id, 'skipped');
    },
    missed(tx) {
      tx.run(
        `INSERT INTO notification (event_id, user_id, claimed_at, outcome)
          SELECT id, user_id, ?, 'skipped' FROM user_event e WHERE stored_at <= ?
            AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.event_id = e.id)
          ON CONFLICT (event_id) DO NOTHING`,
        clock.now(),
        clock.now() - lookBackMs,
      );
    },
  };
}

function conversationOf(event: Event): string {
  return messageTag(event.data as EventData<'message.received'>);
}
