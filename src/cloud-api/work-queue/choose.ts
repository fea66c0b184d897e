/**
 * Which task of the line goes next: the oldest, or the one whose turn it is among those with a fairness key; for a worker that says what it has, of those
 * that it can run. Parts of operations; must not know how a task is leased.
 */
import type { Op, SharedTx } from '../../kit/store/shared-store.ts';
import { lapsedWithNeedsSql, mine } from './lease-sql.ts';
import { type Can, canRun, type Needs } from './needs.ts';
import { readOptions, type TaskRow } from './rows.ts';

/** Where a task stands among those that may be leased. */
export interface Place {
  readonly rank: number;
  readonly queued_at: number;
  readonly seq: number;
  readonly id: string;
}
interface Head extends Place {
  readonly needs: string;
  readonly fair: number;
}
/** A task, and the one whose place in the line it takes: the oldest, or itself. */
interface Choice {
  readonly task: Place;
  readonly oldest: Place;
  readonly lapsed: boolean;
}

interface Chooser {
  /** For a call that says nothing. `hidden`: others hold what could be chosen for a moment. */
  any(tx: SharedTx, userId: string): Op<Choice | 'hidden' | undefined>;
  /** For a worker that says what it has; also of held tasks with needs whose lease has ended. */
  runnable(tx: SharedTx, userId: string, can: Can, at: number): Op<Choice | 'hidden' | undefined>;
}

/** A caller that says what it can run chooses among so many different needs. */
const maxNeeds = 1_000;
const maxKnownNeeds = 10_000;

const isReady = `${mine} AND parked = ''`;
const place = 'rank, queued_at, seq, id';
const columns = 'id, needs, rank, queued_at, seq, fair';
const locking = (sql: string) => ({ sqlite: sql, postgres: `${sql} FOR UPDATE SKIP LOCKED` });
const oldestSql = `SELECT ${columns} FROM work_line WHERE ${isReady} ORDER BY ${place} LIMIT 1`;
const oldestFreeSql = locking(oldestSql);
const nextInTurnSql = locking(
  `SELECT ${columns} FROM work_line WHERE ${isReady} AND fair = 1 AND rank = ? ORDER BY round, queued_at, seq, id LIMIT 1`,
);
const nextOfNeedsSql = `SELECT ${columns}, round FROM work_line WHERE ${isReady} AND fair + 0 = 1 AND needs = ? AND rank = ?
  ORDER BY round, queued_at, seq, id LIMIT 1`;
const freeSql = locking(`SELECT id FROM work_line WHERE id = ? AND parked = ''`);
/** The oldest of each kind of needs: each found after the previous one. */
const kinds = `WITH RECURSIVE kinds(needs) AS (SELECT min(needs) FROM work_line WHERE ${isReady} UNION ALL
  SELECT (SELECT min(needs) FROM work_line WHERE ${isReady} AND needs > kinds.needs) FROM kinds WHERE needs IS NOT NULL)`;
const heads = 'head.id, head.needs, head.rank, head.queued_at, head.seq, head.fair';
const oldestOfKind = (
  what: string,
) => `SELECT ${what} FROM work_line AS one WHERE one.user_id = ? AND one.parked = '' AND one.needs = kinds.needs
    ORDER BY one.rank, one.queued_at, one.seq, one.id LIMIT 1`;
const headsSql = {
  sqlite: `${kinds} SELECT ${heads} FROM kinds, work_line AS head WHERE kinds.needs IS NOT NULL
    AND head.id = (${oldestOfKind('one.id')}) LIMIT ${maxNeeds}`,
  postgres: `${kinds} SELECT ${heads} FROM kinds CROSS JOIN LATERAL (${oldestOfKind('one.*')}) AS head
    WHERE kinds.needs IS NOT NULL LIMIT ${maxNeeds}`,
};
const needsSql = 'SELECT sandbox_image, options FROM work_task WHERE id = ?';

export function isBefore(one: Place, other: Place): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  if (one.queued_at !== other.queued_at) return one.queued_at < other.queued_at;
  if (one.seq !== other.seq) return one.seq < other.seq;
  return one.id < other.id;
}
const first = <T extends Place>(places: readonly T[]): T | undefined =>
  places.reduce<T | undefined>((best, one) => (best === undefined || isBefore(one, best) ? one : best), undefined);

export function createChooser(): Chooser {
  const knownNeeds = new Map<string, Needs>();

  function* meets(tx: SharedTx, can: Can, { id, needs }: { readonly id: string; readonly needs: string }): Op<boolean> {
    if (needs === '') return true;
    const known = knownNeeds.get(needs);
    if (known !== undefined) return canRun(can, known);
    const row = yield* tx.get<Pick<TaskRow, 'sandbox_image' | 'options'>>(needsSql, id);
    if (row === undefined) return false;
    const read = { image: row.sandbox_image, labels: readOptions(row).labels ?? {} };
    if (knownNeeds.size >= maxKnownNeeds) knownNeeds.clear();
    knownNeeds.set(needs, read);
    return canRun(can, read);
  }

  /** For a call that says nothing: the oldest decides whose turn it is; among those with a fairness key their turns decide. */
  function* any(tx: SharedTx, userId: string): Op<Choice | 'hidden' | undefined> {
    const oldest = yield* tx.get<Head>(oldestSql, userId);
    if (oldest === undefined) return undefined;
    if (oldest.fair === 1) {
      const next = yield* tx.get<Head>(nextInTurnSql, userId, oldest.rank);
      return next === undefined ? 'hidden' : { task: next, oldest, lapsed: false };
    }
    const free = yield* tx.get<Head>(oldestFreeSql, userId);
    // Another may have taken the oldest meanwhile; one whose turns decide is chosen in the other way.
    return free === undefined || free.fair === 1 ? 'hidden' : { task: free, oldest: free, lapsed: false };
  }

  /** The same among the needs that this worker meets, and held tasks with needs whose lease has ended. */
  function* runnable(tx: SharedTx, userId: string, can: Can, at: number): Op<Choice | 'hidden' | undefined> {
    const heads: Head[] = [];
    for (const head of yield* tx.all<Head>(headsSql, userId, userId, userId)) {
      if (yield* meets(tx, can, head)) heads.push(head);
    }
    const lapsed: Place[] = [];
    for (const row of yield* tx.all<Place & { needs: string }>(lapsedWithNeedsSql, userId, at)) {
      if (yield* meets(tx, can, row)) lapsed.push(row);
    }
    const oldest = first(heads);
    const ended = first(lapsed);
    if (ended !== undefined && (oldest === undefined || isBefore(ended, oldest)))
      return { task: ended, oldest: ended, lapsed: true };
    if (oldest === undefined) return undefined;
    let task: Place = oldest;
    if (oldest.fair === 1) {
      let best: (Head & { round: number }) | undefined;
      for (const { needs } of heads) {
        const next = yield* tx.get<Head & { round: number }>(nextOfNeedsSql, userId, needs, oldest.rank);
        if (next === undefined) continue;
        if (best === undefined || next.round < best.round || (next.round === best.round && isBefore(next, best)))
          best = next;
      }
      task = best ?? task;
    }
    const free = yield* tx.get(freeSql, task.id);
    return free === undefined ? 'hidden' : { task, oldest, lapsed: false };
  }

  return { any, runnable };
}
