/**
 * What became of events for their person (interface.md "Notification events and web push", steps 1 and 6). Owns `notification`;
 * must not know what an event says.
 */
import type { NotificationOutcome } from '../../contracts/notifications/routes.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Tx } from '../../kit/store/store.ts';

export interface Outcomes {
  /** False: another sink has it. What is claimed is never pushed by anybody else. */
  claim(tx: Tx, eventId: string, userId: string): boolean;
  /** It ends here. What the person does not want to be told of counts as read. */
  settle(tx: Tx, eventId: string, outcome: Exclude<NotificationOutcome, 'claimed'>): void;
  /** It is on its way to so many devices. */
  sending(tx: Tx, eventId: string, devices: number): void;
  /** A device took it, at whatever attempt. */
  took(tx: Tx, eventId: string): void;
  /** The first push to one of its devices failed: once all have, nobody was reached. */
  failed(tx: Tx, eventId: string): void;
  /** The person knows. */
  read(tx: Tx, eventId: string): void;
}

export function createOutcomes({ clock }: { clock: Clock }): Outcomes {
  return {
    claim(tx, eventId, userId) {
      const sql = `INSERT INTO notification (event_id, user_id, claimed_at, outcome) VALUES (?, ?, ?, 'claimed')
        ON CONFLICT (event_id) DO NOTHING`;
      return tx.run(sql, eventId, userId, clock.now()).changes === 1;
    },
    settle(tx, eventId, outcome) {
      const readAt = outcome === 'off' ? clock.now() : null;
      const sql = 'UPDATE notification SET outcome = ?, read_at = COALESCE(read_at, ?) WHERE event_id = ?';
      tx.run(sql, outcome, readAt, eventId);
    },
    sending(tx, eventId, devices) {
      tx.run('UPDATE notification SET pending = ? WHERE event_id = ?', devices, eventId);
    },
    took(tx, eventId) {
      tx.run("UPDATE notification SET outcome = 'sent', pending = pending - 1 WHERE event_id = ?", eventId);
    },
    failed(tx, eventId) {
      const sql = `UPDATE notification SET pending = pending - 1,
        outcome = CASE WHEN outcome = 'claimed' AND pending <= 1 THEN 'unreachable' ELSE outcome END WHERE event_id = ?`;
      tx.run(sql, eventId);
    },
    read(tx, eventId) {
      tx.run('UPDATE notification SET read_at = ? WHERE event_id = ? AND read_at IS NULL', clock.now(), eventId);
    },
  };
}
