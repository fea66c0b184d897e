/**
 * What became of each event for its person: `sent`, `off`, `unreachable` or `skipped`. Owns `notification`; must not
 * know what an event says.
 */
import type { NotifiableEvent } from '../../contracts/events/registry.ts';
import type { NotificationOutcome } from '../../contracts/notifications/routes.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Asked, Op, SharedTx } from '../../kit/store/shared-store.ts';

export interface Outcomes {
  /** False: another sink has it. What is claimed is never pushed by anybody else. */
  claim(tx: SharedTx, event: EventName): Op<boolean>;
  /** It ends here. What the person does not want to be told of counts as read. */
  settle(tx: SharedTx, eventId: string, outcome: Exclude<NotificationOutcome, 'claimed'>): Asked<unknown>;
  /** It is on its way to so many devices. */
  sending(tx: SharedTx, eventId: string, devices: number): Asked<unknown>;
  /** A device took it, at whatever attempt. */
  took(tx: SharedTx, eventId: string): Asked<unknown>;
  /** The first push to one of its devices failed: once all have, nobody was reached. */
  failed(tx: SharedTx, eventId: string): Asked<unknown>;
  /** The person knows. */
  read(tx: SharedTx, eventId: string): Asked<unknown>;
}

/** An event, and whose it is. */
export interface EventName {
  readonly id: string;
  readonly user_id: string;
  readonly type: NotifiableEvent;
}

/** Events of approvals, which the inbox shows as their cards. */
export const questions = ['approval.requested', 'approval.resolved'] as const satisfies readonly NotifiableEvent[];

export function createOutcomes({ clock }: { clock: Clock }): Outcomes {
  return {
    *claim(tx, { id, user_id, type }) {
      const sql = `INSERT INTO notification (event_id, user_id, claimed_at, outcome, question) VALUES (?, ?, ?, 'claimed', ?)
        ON CONFLICT (event_id) DO NOTHING`;
      const question = questions.some((one) => one === type) ? 1 : 0;
      return (yield* tx.run(sql, id, user_id, clock.now(), question)).changes === 1;
    },
    settle(tx, eventId, outcome) {
      const readAt = outcome === 'off' ? clock.now() : null;
      const sql = 'UPDATE notification SET outcome = ?, read_at = COALESCE(read_at, ?) WHERE event_id = ?';
      return tx.run(sql, outcome, readAt, eventId);
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
    read: (tx, eventId) =>
      tx.run('UPDATE notification SET read_at = ? WHERE event_id = ? AND read_at IS NULL', clock.now(), eventId),
  };
}
