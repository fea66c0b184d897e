/** The outcome of each event for its person: `sent`, `off`, `unreachable` or `skipped`. Owns `notification`; must not know an event's content. */
import type { NotifiableEvent } from '../../contracts/events/registry.ts';
import type { NotificationOutcome } from '../../contracts/notifications/routes.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Asked, Op, SharedTx } from '../../kit/store/shared-store.ts';
import { addChanges, type Counted, counted } from './counts.ts';

export interface Outcomes {
  /** False: another sink has it. Only the sink that claimed an event pushes it. */
  claim(tx: SharedTx, event: EventName): Op<boolean>;
  /** It ends here. An event that the person turned off counts as read. */
  settle(tx: SharedTx, eventId: string, outcome: Exclude<NotificationOutcome, 'claimed'>): Op<void>;
  /** Queued for this many devices. */
  sending(tx: SharedTx, eventId: string, devices: number): Asked<unknown>;
  /** A device accepted it, at any attempt. */
  took(tx: SharedTx, eventId: string): Asked<unknown>;
  /** The first push to one of its devices failed: once all have, nobody was reached. */
  failed(tx: SharedTx, eventId: string): Asked<unknown>;
  /** The person knows of it already. */
  read(tx: SharedTx, eventId: string): Op<void>;
}

/** An event and its person. */
export interface EventName {
  readonly id: string;
  /** Its place among all events. */
  readonly seq: number;
  readonly user_id: string;
  readonly type: NotifiableEvent;
}

/** Events of approvals, which the inbox shows as cards. */
export const questions = ['approval.requested', 'approval.resolved'] as const satisfies readonly NotifiableEvent[];

export function createOutcomes({ clock }: { clock: Clock }): Outcomes {
  function* read(tx: SharedTx, eventId: string): Op<void> {
    const sql = `UPDATE notification SET read_at = ? WHERE event_id = ? AND read_at IS NULL RETURNING ${counted}`;
    const row = yield* tx.get<Counted>(sql, clock.now(), eventId);
    if (row !== undefined) yield* addChanges(tx, [[{ ...row, read_at: null }, row]]);
  }

  return {
    *claim(tx, { id, seq, user_id, type }) {
      const sql = `INSERT INTO notification (event_id, seq, user_id, claimed_at, outcome, question)
        VALUES (?, ?, ?, ?, 'claimed', ?) ON CONFLICT (event_id) DO NOTHING`;
      const question = questions.some((one) => one === type) ? 1 : 0;
      if ((yield* tx.run(sql, id, seq, user_id, clock.now(), question)).changes === 0) return false;
      yield* addChanges(tx, [[null, { user_id, question, read_at: null }]]);
      return true;
    },
    *settle(tx, eventId, outcome) {
      yield* tx.run('UPDATE notification SET outcome = ? WHERE event_id = ?', outcome, eventId);
      if (outcome === 'off') yield* read(tx, eventId);
    },
    sending: (tx, eventId, devices) =>
      tx.run('UPDATE notification SET pending = ? WHERE event_id = ?', devices, eventId),
    took: (tx, eventId) =>
      tx.run("UPDATE notification SET outcome = 'sent', pending = pending - 1 WHERE event_id = ?", eventId),
    failed(tx, eventId) {
      const sql = `UPDATE notification SET pending = pending - 1,
        outcome = CASE WHEN outcome = 'claimed' AND pending <= 1 THEN 'unreachable' ELSE outcome END WHERE event_id = ?`;
      return tx.run(sql, eventId);
    },
    read,
  };
}
