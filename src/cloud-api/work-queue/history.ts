/**
 * How a person's queue went over the last week: how many tasks were added and ended in each step of time, how many waited, and since when the oldest
 * did. Only changes are kept, with the counts (counts.ts): a step in which nothing changed has no row, and how many waited then is counted back from now.
 * Older steps are merged, so that a person has at most some hundred rows. Must not know statements that change a task.
 */
import type { HistoryRange } from '../../contracts/work-queue/task.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';

/** A row written by a trigger, with its count. */
export interface Move {
  readonly times: number;
  readonly user_id: string;
  readonly was: string;
  readonly was_since: number;
  readonly became: string;
  readonly became_since: number;
}

interface Moment {
  /** Start of the step, ms. */
  readonly at: number;
  /** At the end of the step. */
  readonly depth: number;
  readonly oldestSeconds: number | null;
  readonly added: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

export interface History {
  readonly stepSeconds: number;
  readonly moments: readonly Moment[];
}

/** What changed, and by how much the number of waiting tasks did. */
interface Sums {
  added: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  waiting: number;
}
type Sample = Sums & { readonly at: number; readonly oldest: number };

const hour = 3_600;
/** In seconds; each range is a whole number of its steps. */
const ranges = {
  hour: { step: 60, steps: 60 },
  day: { step: 600, steps: 144 },
  week: { step: hour, steps: 168 },
} as const satisfies Record<HistoryRange, unknown>;
/** From which age on, in seconds, samples are merged into which step: after the range that shows the smaller one, with an hour or more to spare. */
const merges = [
  { older: 2 * hour, step: ranges.day.step },
  { older: 26 * hour, step: ranges.week.step },
] as const;

const columns = 'at, added, succeeded, failed, cancelled, waiting, oldest';
const upsert = (
  oldest: string,
) => `INSERT INTO work_sample (user_id, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ${oldest})
  ON CONFLICT (user_id, at) DO UPDATE SET added = work_sample.added + excluded.added, succeeded = work_sample.succeeded + excluded.succeeded,
  failed = work_sample.failed + excluded.failed, cancelled = work_sample.cancelled + excluded.cancelled,
  waiting = work_sample.waiting + excluded.waiting, oldest = excluded.oldest`;
const recordSql = upsert(`COALESCE((SELECT since FROM work_count WHERE user_id = ? AND kind = 'queued' AND n > 0
  ORDER BY since LIMIT 1), 0)`);
const mergeSql = upsert('?');
const takeFineSql = `DELETE FROM work_sample WHERE user_id = ? AND at < ? AND at % ? <> 0 RETURNING ${columns}`;
const sinceSql = `SELECT ${columns} FROM work_sample WHERE user_id = ? AND at >= ? ORDER BY at`;
const forgetSql = `DELETE FROM work_sample WHERE (user_id, at) IN (SELECT user_id, at FROM work_sample WHERE at < ? ORDER BY at LIMIT ${portion})`;

const floor = (seconds: number, step: number) => Math.floor(seconds / step) * step;
const nothing = (): Sums => ({ added: 0, succeeded: 0, failed: 0, cancelled: 0, waiting: 0 });
const ends = ['succeeded', 'failed', 'cancelled'] as const;
const isEnd = (kind: string): kind is (typeof ends)[number] => (ends as readonly string[]).includes(kind);
const isFree = (kind: string) => kind === 'queued' || kind === 'later';

function addMove(sums: Sums, { times, was, became }: Move): void {
  if ((was === '' || isEnd(was)) && isFree(became)) sums.added += times;
  if (isEnd(became)) sums[became] += times;
  if (was === 'queued') sums.waiting -= times;
  if (became === 'queued') sums.waiting += times;
}

function addSample(sums: Sums, sample: Sums): void {
  for (const key of [...ends, 'added', 'waiting'] as const) sums[key] += sample[key];
}

const valuesOf = ({ added, succeeded, failed, cancelled, waiting }: Sums) => [
  added,
  succeeded,
  failed,
  cancelled,
  waiting,
];

/** Adds changes that were just added to the counts to the minute in which that happens: at most ten seconds after the change. */
export function* recordMoves(tx: SharedTx, moves: readonly Move[], now: number): Op<void> {
  const people = new Map<string, Sums>();
  for (const move of moves) {
    const sums = people.get(move.user_id) ?? nothing();
    addMove(sums, move);
    people.set(move.user_id, sums);
  }
  const at = floor(now / 1000, ranges.hour.step);
  // Always in the same order, so that two transactions do not deadlock.
  for (const [userId, sums] of [...people].sort(([one], [other]) => (one < other ? -1 : 1)))
    yield* tx.run(recordSql, userId, at, ...valuesOf(sums), userId);
}

/** Merges a person's older samples into larger steps. */
export function* coarserSamples(tx: SharedTx, userId: string, now: number): Op<void> {
  for (const { older, step } of merges) {
    const fine = yield* tx.all<Sample>(takeFineSql, userId, floor(now / 1000 - older, step), step);
    const merged = new Map<number, { sums: Sums; oldest: number }>();
    for (const sample of fine.sort((one, other) => one.at - other.at)) {
      const start = floor(sample.at, step);
      const one = merged.get(start) ?? { sums: nothing(), oldest: 0 };
      addSample(one.sums, sample);
      one.oldest = sample.oldest;
      merged.set(start, one);
    }
    for (const [start, { sums, oldest }] of merged) yield* tx.run(mergeSql, userId, start, ...valuesOf(sums), oldest);
  }
}

/** Removes everybody's samples from before the longest range. */
export async function forgetSamples(store: SharedStore, now: number): Promise<void> {
  const { step, steps } = ranges.week;
  await removePortions(store, forgetSql, floor(now / 1000, step) - step * steps);
}

/** `counts`, `moves`: of the person, as they are now. */
export function* momentsOf(
  tx: SharedReader,
  {
    userId,
    range,
    now,
    counts,
    moves,
  }: {
    readonly userId: string;
    readonly range: HistoryRange;
    readonly now: number;
    readonly counts: readonly { readonly kind: string; readonly since: number; readonly n: number }[];
    readonly moves: readonly Move[];
  },
): Op<History> {
  const { step, steps } = ranges[range];
  const first = floor(now / 1000, step) - (steps - 1) * step;
  const samples = yield* tx.all<Sample>(sinceSql, userId, first);
  const sums = Array.from({ length: steps }, nothing);
  const oldest = Array.from<number | undefined>({ length: steps });
  for (const sample of samples) {
    // A replica's clock may be a little ahead.
    const place = Math.min(steps - 1, Math.floor((sample.at - first) / step));
    addSample(sums[place] as Sums, sample);
    oldest[place] = sample.oldest;
  }
  for (const move of moves) addMove(sums[steps - 1] as Sums, move);

  const waiting = new Map<number, number>();
  for (const { kind, since, n } of counts) if (kind === 'queued') waiting.set(since, (waiting.get(since) ?? 0) + n);
  const sinces = [...waiting].filter(([, n]) => n > 0).map(([since]) => since);
  oldest[steps - 1] = sinces.length === 0 ? 0 : Math.min(...sinces);

  // Until the next change the same task is the oldest. Before the first one it is, as far as is known, whichever was the oldest then.
  let known = oldest.find((since) => since !== undefined) ?? 0;
  let depth = [...waiting.values()].reduce((all, n) => all + n, 0) - sums.reduce((all, one) => all + one.waiting, 0);
  return {
    stepSeconds: step,
    moments: sums.map(({ waiting: change, ...rest }, place) => {
      depth += change;
      known = oldest[place] ?? known;
      const end = Math.min(now / 1000, first + (place + 1) * step);
      const waits = depth > 0 && known > 0;
      return {
        at: (first + place * step) * 1000,
        depth: Math.max(0, depth),
        oldestSeconds: waits ? Math.max(0, Math.floor(end - known)) : null,
        ...rest,
      };
    }),
  };
}
