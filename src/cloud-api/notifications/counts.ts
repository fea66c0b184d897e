/**
 * The number of a person's notifications, and of the unread ones: kept beside them in the transaction that changes one, so that reading the list
 * counts nothing. Owns `notification_count`; must not know why one changes.
 */
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';

/** The fields that decide where a notification counts. `question`: 1 for events of approvals. */
export interface Counted {
  readonly user_id: string;
  readonly question: number;
  readonly read_at: number | null;
}

/** For RETURNING. */
export const counted = 'user_id, question, read_at';

/** The counters that a notification leaves and enters; null: it does not exist there. */
type Change = readonly [was: Counted | null, is: Counted | null];

interface Sum {
  readonly userId: string;
  readonly question: number;
  readonly total: number;
  readonly unread: number;
}

interface Counts {
  readonly total: number;
  readonly unread: number;
  /** Approvals among both. */
  readonly questions: { readonly total: number; readonly unread: number };
}

const addSql = `INSERT INTO notification_count (user_id, question, total, unread) VALUES (?, ?, ?, ?)
  ON CONFLICT (user_id, question) DO UPDATE SET
    total = notification_count.total + excluded.total, unread = notification_count.unread + excluded.unread`;

export function* addChanges(tx: SharedTx, changes: readonly Change[]): Op<void> {
  const sums = new Map<string, Sum>();
  const add = ({ user_id: userId, question, read_at: readAt }: Counted, by: 1 | -1) => {
    const key = `${userId} ${question}`;
    const { total, unread } = sums.get(key) ?? { total: 0, unread: 0 };
    sums.set(key, { userId, question, total: total + by, unread: unread + (readAt === null ? by : 0) });
  };
  for (const [was, is] of changes) {
    if (was !== null) add(was, -1);
    if (is !== null) add(is, 1);
  }
  // Always in the same order, so that two transactions do not deadlock.
  const sorted = [...sums.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
  for (const { userId, question, total, unread } of sorted) {
    if (total !== 0 || unread !== 0) yield* tx.run(addSql, userId, question, total, unread);
  }
}

export function* countsOf(tx: SharedReader, userId: string): Op<Counts> {
  const sql = 'SELECT question, total, unread FROM notification_count WHERE user_id = ?';
  const rows = yield* tx.all<{ question: number; total: number; unread: number }>(sql, userId);
  const of = (question: number) => rows.find((row) => row.question === question) ?? { total: 0, unread: 0 };
  const [rest, asked] = [of(0), of(1)];
  const questions = { total: asked.total, unread: asked.unread };
  return { total: rest.total + asked.total, unread: rest.unread + asked.unread, questions };
}
