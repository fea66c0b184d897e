/**
 * How many messages a person is told of (interface.md "Limits"): one a conversation and 20 seconds, 40 an hour; what a direct push
 * told is not told again for 2 minutes. Counts what was queued for a device. Owns `push_message`.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Tx } from '../../kit/store/store.ts';

export interface Pace {
  /** Whether a message of this conversation may be told now. */
  allows(tx: Pick<Tx, 'get'>, userId: string, conversation: string): boolean;
  /** Whether a direct push went to this person a short while ago. */
  toldDirectly(tx: Pick<Tx, 'get'>, userId: string): boolean;
  told(tx: Tx, userId: string, conversation: string, direct: boolean): void;
}

const conversationMs = 20_000;
const directMs = 2 * 60_000;
const hourMs = 60 * 60_000;
const mostAnHour = 40;

export function createPace({ clock }: { clock: Clock }): Pace {
  return {
    allows(tx, userId, conversation) {
      const now = clock.now();
      const sql = 'SELECT 1 FROM push_message WHERE user_id = ? AND conversation = ? AND at > ? LIMIT 1';
      if (tx.get(sql, userId, conversation, now - conversationMs) !== undefined) return false;
      const count = 'SELECT count(*) AS n FROM push_message WHERE user_id = ? AND at > ?';
      return (tx.get<{ n: number }>(count, userId, now - hourMs)?.n ?? 0) < mostAnHour;
    },
    toldDirectly(tx, userId) {
      const sql = 'SELECT 1 FROM push_message WHERE user_id = ? AND direct = 1 AND at > ? LIMIT 1';
      return tx.get(sql, userId, clock.now() - directMs) !== undefined;
    },
    told(tx, userId, conversation, direct) {
      const now = clock.now();
      tx.run('DELETE FROM push_message WHERE user_id = ? AND at <= ?', userId, now - hourMs);
      const sql = 'INSERT INTO push_message (user_id, conversation, at, direct) VALUES (?, ?, ?, ?)';
      tx.run(sql, userId, conversation, now, direct ? 1 : 0);
    },
  };
}
