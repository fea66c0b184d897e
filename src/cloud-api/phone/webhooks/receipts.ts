/**
 * The marks by which an event of the carrier that comes again is known for seven days after it was last posted. Must not know events or
 * signatures.
 */
import { portion } from '../../../kit/store/remove-portions.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';

/** From when it was last posted. */
const keptMs = 7 * 24 * 60 * 60_000;

/** False: it came before. */
export function* noteReceipt(tx: SharedTx, id: string, now: number): Op<boolean> {
  const insert = 'INSERT INTO phone_webhook_receipt (id, seen_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING';
  if ((yield* tx.run(insert, id, now)).changes === 1) return true;
  yield* tx.run('UPDATE phone_webhook_receipt SET seen_at = ? WHERE id = ?', now, id);
  return false;
}

export function* forgetReceipt(tx: SharedTx, id: string): Op<void> {
  yield* tx.run('DELETE FROM phone_webhook_receipt WHERE id = ?', id);
}

interface Old {
  readonly id: string;
  readonly seenAt: number;
}

const oldest = `SELECT id, seen_at AS "seenAt" FROM phone_webhook_receipt
  WHERE (seen_at, id) > (?, ?) AND seen_at < ? ORDER BY seen_at, id LIMIT ${portion}`;

/**
 * What nobody has posted for seven days. What waits stays, also where nothing ran for so long: until its lane has given it up, an event
 * that is posted again must not count as a first one, as its lane holds its id and would not take it.
 */
export async function forgetReceipts(
  store: SharedStore,
  now: number,
  waiting: (tx: SharedReader, ids: readonly string[]) => Op<ReadonlySet<string>>,
): Promise<void> {
  const before = now - keptMs;
  /** The portion after this one; null: it was the last. */
  const forget = (after: Old) =>
    store.write(
      function* (tx): Op<Old | null> {
        const old = yield* tx.all<Old>(oldest, after.seenAt, after.id, before);
        const ids = old.map(({ id }) => id);
        const held = yield* waiting(tx, ids);
        for (const id of ids.filter((one) => !held.has(one))) {
          yield* tx.run('DELETE FROM phone_webhook_receipt WHERE id = ? AND seen_at < ?', id, before);
        }
        return old.length < portion ? null : (old.at(-1) ?? null);
      },
      { isolation: 'rows' },
    );
  let last: Old | null = { id: '', seenAt: Number.MIN_SAFE_INTEGER };
  while (last !== null) last = await forget(last);
}
