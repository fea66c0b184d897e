/**
 * How many tasks of each kind a person has, by the second since which they wait. Each change of a task leaves a row that nobody else writes to
 * (migrations.ts); here they are added up, so that a figure costs a few rows however many tasks there are, and no two changes wait for each other.
 * Must not know the purpose of the kinds.
 */
import type { Op, SharedReader, SharedStore } from '../../kit/store/shared-store.ts';
import { coarserSamples, type Move, recordMoves } from './history.ts';

export interface Count {
  readonly kind: string;
  /** Seconds since the epoch: waiting tasks wait since then, or a little later. 0 for other kinds. */
  readonly since: number;
  readonly n: number;
}

interface Counts {
  /** Reports one more change; now and then they are added up. */
  readonly moved: () => void;
  fold(): Promise<void>;
}

/** How many changes are added up at once, and at most read beside the sums. */
const foldEvery = 500;
const portion = 2_000;

/** Older waiting tasks are counted in larger steps, seconds, so that a person has at most some thousand rows, however long the queue is. */
const steps = [
  { older: 600, step: 10 },
  { older: 3_600, step: 60 },
  { older: 21_600, step: 600 },
  { older: 2 * 86_400, step: 86_400 },
] as const;
/** The step at which waiting since then is counted by now; both in seconds since the epoch. */
export function stepAt(since: number, now: number): number {
  const step = steps.findLast(({ older }) => now - since > older)?.step ?? 1;
  return Math.floor(since / step) * step;
}
const coarsenEveryMs = 60_000;
const maxRemembered = 10_000;

/** Equal moves of one second share a row. */
const grouped = (from: string) => `SELECT count(*) AS times, user_id, was, was_since / 1000 AS was_since, became,
  became_since / 1000 AS became_since FROM ${from} GROUP BY 2, 3, 4, 5, 6`;
const movesSql = grouped('work_move WHERE user_id = ?');
const sumsSql = 'SELECT kind, since, n FROM work_count WHERE user_id = ?';
/** PostgreSQL: in portions that nobody else adds up at the same time. */
const takeSql = `WITH gone AS (DELETE FROM work_move WHERE (user_id, n) IN (SELECT user_id, n FROM work_move ORDER BY user_id, n
  LIMIT ${portion} FOR UPDATE SKIP LOCKED) RETURNING user_id, was, was_since, became, became_since) ${grouped('gone')}`;
/** SQLite, where nobody else writes: all of them. Emptying a table costs nothing. */
const allSql = grouped('work_move');
const emptySql = 'DELETE FROM work_move';
const addSql = `INSERT INTO work_count (user_id, kind, since, n) VALUES (?, ?, ?, ?)
  ON CONFLICT (user_id, kind, since) DO UPDATE SET n = work_count.n + excluded.n`;
const dropSql = 'DELETE FROM work_count WHERE user_id = ? AND kind = ? AND since = ? AND n = 0';
const fineSql = `DELETE FROM work_count WHERE user_id = ? AND kind = 'queued' AND since < ? AND since % ? <> 0 RETURNING kind, since, n`;

/** The sum of the changes, without those that cancel out. */
export function added(moves: readonly Move[]): (Count & { readonly userId: string })[] {
  const sums = new Map<string, Count & { userId: string }>();
  const add = (userId: string, kind: string, second: number, by: number) => {
    if (kind === '' || kind === 'succeeded' || kind === 'cancelled') return;
    const since = kind === 'queued' ? second : 0;
    const key = `${userId} ${kind} ${since}`;
    sums.set(key, { userId, kind, since, n: (sums.get(key)?.n ?? 0) + by });
  };
  for (const move of moves) {
    add(move.user_id, move.was, move.was_since, -move.times);
    add(move.user_id, move.became, move.became_since, move.times);
  }
  // Always in the same order, so that two transactions do not deadlock.
  return [...sums.entries()]
    .filter(([, sum]) => sum.n !== 0)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, sum]) => sum);
}

/** The counts of a person as they are now, and the changes among them that were not added up yet. */
export function* countsOf(tx: SharedReader, userId: string): Op<{ counts: Count[]; moves: Move[] }> {
  const sums = yield* tx.all<Count>(sumsSql, userId);
  const moves = yield* tx.all<Move>(movesSql, userId);
  return { counts: [...sums, ...added(moves)], moves };
}

export function createCounts(store: SharedStore, now: () => number): Counts {
  const rows = { isolation: 'rows' } as const;
  const coarsened = new Map<string, number>();
  let count = 0;
  let folding: Promise<void> | null = null;

  /** Moves older counts by the second to the next larger step. */
  async function coarsen(userId: string): Promise<void> {
    const at = now();
    if ((coarsened.get(userId) ?? 0) > at - coarsenEveryMs) return;
    if (coarsened.size >= maxRemembered) coarsened.clear();
    coarsened.set(userId, at);
    for (const { older, step } of steps) {
      await store.write(function* (tx) {
        const before = Math.floor((at / 1000 - older) / step) * step;
        const fine = yield* tx.all<Count>(fineSql, userId, before, step);
        const sums = new Map<number, number>();
        for (const { since, n } of fine) {
          const from = Math.floor(since / step) * step;
          sums.set(from, (sums.get(from) ?? 0) + n);
        }
        for (const [since, n] of [...sums].sort(([one], [other]) => one - other)) {
          yield* tx.run(addSql, userId, 'queued', since, n);
          yield* tx.run(dropSql, userId, 'queued', since);
        }
      }, rows);
    }
    await store.write((tx) => coarserSamples(tx, userId, at), rows);
  }

  async function foldAll(): Promise<void> {
    count = 0;
    for (let more = true; more; ) {
      const users = await store.write(function* (tx) {
        const moves = yield* tx.all<Move>({ sqlite: allSql, postgres: takeSql });
        if (store.engine === 'sqlite') yield* tx.run(emptySql);
        for (const { userId, kind, since, n } of added(moves)) {
          yield* tx.run(addSql, userId, kind, since, n);
          if (n < 0) yield* tx.run(dropSql, userId, kind, since);
        }
        yield* recordMoves(tx, moves, now());
        more = store.engine === 'postgres' && moves.reduce((sum, { times }) => sum + times, 0) === portion;
        return new Set(moves.map((move) => move.user_id));
      }, rows);
      for (const userId of users) await coarsen(userId);
    }
  }

  function fold(): Promise<void> {
    folding ??= foldAll().finally(() => {
      folding = null;
    });
    return folding;
  }

  return {
    moved() {
      count += 1;
      // Rows that could not be added up stay, and still count.
      if (count >= foldEvery) void fold().catch(() => {});
    },
    fold,
  };
}
