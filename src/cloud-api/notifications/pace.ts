/**
 * Limits how many messages a person is notified of: one every 20 seconds in a conversation, 40 an hour, and none within 2 minutes of a direct push.
 * Counts pushes queued for a device. Owns `push_message`.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';

export interface Pace {
  /** Whether a message of this conversation may be pushed now. */
  allows(tx: SharedReader, userId: string, conversation: string): Op<boolean>;
  /** Whether this person got a direct push a short while ago. */
  toldDirectly(tx: SharedReader, userId: string): Op<boolean>;
  told(tx: SharedTx, userId: string, conversation: string, direct: boolean): Op<void>;
}

const conversationMs = 20_000;
const directMs = 2 * 60_000;
const hourMs = 60 * 60_000;
const maxPerHour = 40;

export function createPace({ clock }: { clock: Clock }): Pace {
  return {
    *allows(tx, userId, conversation) {
      const now = clock.now();
      const sql = 'SELECT 1 AS found FROM push_message WHERE user_id = ? AND conversation = ? AND at > ? LIMIT 1';
      if ((yield* tx.get(sql, userId, conversation, now - conversationMs)) !== undefined) return false;
      const count = 'SELECT count(*) AS n FROM push_message WHERE user_id = ? AND at > ?';
      return ((yield* tx.get<{ n: number }>(count, userId, now - hourMs))?.n ?? 0) < maxPerHour;
    },
    *toldDirectly(tx, userId) {
      const sql = 'SELECT 1 AS found FROM push_message WHERE user_id = ? AND direct = 1 AND at > ? LIMIT 1';
      return (yield* tx.get(sql, userId, clock.now() - directMs)) !== undefined;
    },
    *told(tx, userId, conversation, direct) {
      const now = clock.now();
      yield* tx.run('DELETE FROM push_message WHERE user_id = ? AND at <= ?', userId, now - hourMs);
      const sql = 'INSERT INTO push_message (user_id, conversation, at, direct) VALUES (?, ?, ?, ?)';
      yield* tx.run(sql, userId, conversation, now, direct ? 1 : 0);
    },
  };
}
