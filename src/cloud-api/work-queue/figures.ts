/** Figures of the whole queue for its operator: from the kept counts, never from the tasks. */
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { added, type Count, stepAt } from './counts.ts';
import type { Move } from './history.ts';

/** A scrape reads no more rows of either table: with more, the figures are too low. */
const maxRows = 20_000;
const states = ['queued', 'later', 'leased', 'running', 'failed'] as const;
const countsSql = `SELECT kind, since, n FROM work_count LIMIT ${maxRows}`;
const movesSql = `SELECT 1 AS times, user_id, was, was_since / 1000 AS was_since, became, became_since / 1000 AS became_since
  FROM work_move LIMIT ${maxRows}`;

export function queueFigures(store: Pick<SharedStore, 'read'>, now: number) {
  return store.read(function* (tx) {
    const sums = yield* tx.all<Count>(countsSql);
    const moves = yield* tx.all<Move>(movesSql);
    const all = [...sums, ...added(moves)];
    const bySecond = new Map<number, number>();
    for (const { kind, since, n } of all) {
      if (kind !== 'queued') continue;
      // Older rows may be added up to larger steps already, and what was taken of them not yet.
      const step = stepAt(since, now / 1000);
      bySecond.set(step, (bySecond.get(step) ?? 0) + n);
    }
    const waiting = [...bySecond].filter(([, n]) => n > 0).map(([since]) => since);
    return {
      states: states.map((state) => ({
        labels: { state },
        value: all.reduce((sum, { kind, n }) => (kind === state ? sum + n : sum), 0),
      })),
      /** Seconds since the epoch; null: nothing waits. */
      oldest: waiting.reduce<number | null>((oldest, since) => Math.min(oldest ?? since, since), null),
    };
  });
}
