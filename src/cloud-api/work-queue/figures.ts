/** Figures of the whole queue for its operator: from the kept counts, never from the tasks. */
import type { Clock } from '../../kit/clock/clock.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { added, type Count, stepAt } from './counts.ts';
import type { Move } from './history.ts';
import { readOptions, type TaskRow } from './rows.ts';

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

/** The label beside a task's own under which its state is. */
const stateLabel = 'gantry.dev/state';
/** A figure by label looks at no more kinds of needs of either state, nor at more tasks: with more, it is too low. */
const maxKinds = 200;
/** Tasks in the line that could be leased now, others that could, and those at work; each read along the index that its condition names. */
const kindsOf = (from: string, since: string) => `SELECT needs, count(*) AS n, min(since) AS since, min(id) AS id FROM
  (SELECT ${since} AS since, id, ${from} LIMIT ${maxRows}) AS task GROUP BY needs LIMIT ${maxKinds}`;
const kindsSql = {
  queued: [
    kindsOf("needs FROM work_line WHERE parked = ''", 'queued_at'),
    kindsOf("'' AS needs FROM work_task WHERE status = 'queued' AND waits = 0", 'queued_at'),
  ],
  running: [kindsOf("COALESCE(needs, '') AS needs FROM work_task WHERE status IN ('leased', 'running')", '0')],
} as const;
const labelsSql = 'SELECT options FROM work_task WHERE id = ?';

interface Kind {
  readonly needs: string;
  readonly n: number;
  readonly since: number;
  readonly id: string;
}

/**
 * The tasks that workers have to do, by the labels that they ask of a worker: for an autoscaler, which asks for the labels of its workers. Never part
 * of `GET /metrics`, because people choose these labels.
 */
export function byLabelMetrics(store: Pick<SharedStore, 'read'>, clock: Clock) {
  const kinds = () =>
    store.read(function* (tx) {
      const found: { state: string; kind: Kind; labels: Readonly<Record<string, string>> }[] = [];
      for (const [state, statements] of Object.entries(kindsSql)) {
        for (const sql of statements) {
          for (const kind of yield* tx.all<Kind>(sql)) {
            const row = kind.needs === '' ? undefined : yield* tx.get<Pick<TaskRow, 'options'>>(labelsSql, kind.id);
            const labels = row === undefined ? {} : (readOptions(row).labels ?? {});
            found.push({ state, kind, labels: { ...labels, [stateLabel]: state } });
          }
        }
      }
      return found;
    });
  return [
    {
      name: 'gantry_work_tasks_by_label',
      of: 'sum',
      read: async () => (await kinds()).map(({ kind, labels }) => ({ labels, value: kind.n })),
    },
    {
      name: 'gantry_work_oldest_seconds_by_label',
      of: 'largest',
      read: async () =>
        (await kinds())
          .filter(({ state }) => state === 'queued')
          .map(({ kind, labels }) => ({ labels, value: Math.max(0, (clock.now() - kind.since) / 1000) })),
    },
  ] as const;
}
