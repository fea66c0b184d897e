/** Reads of the queue: lists, figures, changes since a time. The cost depends only on the result. Must not know HTTP. */
import { maxPageSize } from '../../contracts/common/values.ts';
import { ageEnds, type HistoryRange, type TaskStatus } from '../../contracts/work-queue/task.ts';
import { cursorOf, type Page, type Place, pageOf } from '../../kit/http/place.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { countsOf } from './counts.ts';
import { type PollerRow, pollersOf, pollersSql } from './give-way.ts';
import { type History, momentsOf } from './history.ts';
import { parkedByTime, parkedInWords } from './line.ts';
import { isListed, statusIn, waits } from './model.ts';
import { type Can, canRun, needsInWords } from './needs.ts';
import { readOptions, type TaskRow, tasks } from './rows.ts';

interface TaskFilter {
  readonly userId: string;
  readonly status?: TaskStatus | undefined;
  readonly sessionId?: string | undefined;
  readonly deploymentId?: string | undefined;
  readonly workerId?: string | undefined;
  readonly after: Place | null;
  readonly limit: number;
}

interface QueueStats {
  readonly depth: number;
  readonly leased: number;
  readonly running: number;
  readonly oldestQueuedAt: number | null;
  readonly workersPolling: number;
  readonly scheduled: number;
  readonly failed: number;
  /** One for each age boundary, and one for older tasks. */
  readonly ages: readonly number[];
}

interface SeenWorker {
  readonly worker_id: string;
  /** Null: not for a day, or never. */
  readonly seen_at: number | null;
  readonly draining: boolean;
  readonly holding: number;
  /** Null: it says nothing about itself. */
  readonly can: Can | null;
}

export interface ChangedTask {
  readonly id: string;
  readonly status: TaskStatus;
  readonly fence: number;
  readonly updated_at: number;
}

/** A change by its time, and by its task among those of one time; an empty id comes before all of them. */
export interface ChangePoint {
  readonly at: number;
  readonly id: string;
}

export interface WorkReads {
  list(filter: TaskFilter): Promise<Page<TaskRow>>;
  stats(userId: string, now: number, pollersSince: number): Promise<QueueStats>;
  /** How the queue went, in steps up to now. */
  history(userId: string, range: HistoryRange, now: number): Promise<History>;
  /** Workers that asked since, and those that hold something: the latter first. */
  workers(userId: string, since: number): Promise<SeenWorker[]>;
  /** Why queued ones among these tasks cannot be leased now, by id. `pollersSince`: which workers count. */
  waitingFor(userId: string, rows: readonly TaskRow[], pollersSince: number): Promise<ReadonlyMap<string, string>>;
  /** The changes after this point, ordered by time and id, at most this many. */
  changed(userId: string, after: ChangePoint, limit: number): Promise<ChangedTask[]>;
}

const held = statusIn(['leased', 'running']);
/** How many rows are checked against a second filter before a page ends early. */
const maxScanned = 2_000;
const few = 1_000;
const maxWorkers = 200;
/** Limit of a person's leases counted by worker: those that end last. */
const maxHeld = 10_000;
/** The fields of variable size; the rest of a task is small. */
const sizeColumns = `id, created_at, octet_length(payload) + octet_length(env) + COALESCE(octet_length(result), 0)
  + COALESCE(octet_length(error), 0) AS bytes`;
/** The limit is written into the text: without a value PostgreSQL assumes a tenth of the table, and sorts all of it. */
const endOfLook = `LIMIT 1 OFFSET ${maxScanned - 1}`;
const newest = `LIMIT ${maxPageSize + 1}`;

type Ended = Pick<TaskRow, 'created_at' | 'id'>;
/** Where a list begins, or ends. */
interface Within {
  readonly sign: '<' | '>=';
  readonly place: Ended;
}

/** Ranks are few: each is found after the previous one, and the first in its queue by the index that has it. */
const ofReady = `FROM work_task WHERE user_id = ? AND status = 'queued' AND waits = 0`;
const ranks = `WITH RECURSIVE ranks(rank) AS (SELECT min(rank) ${ofReady} UNION ALL
  SELECT (SELECT min(rank) ${ofReady} AND rank > ranks.rank) FROM ranks WHERE rank IS NOT NULL)`;
const ofDue = `FROM work_task WHERE user_id = ? AND status = 'queued' AND waits = 1 AND queued_at <= ?`;
const oldestSql = `${ranks} SELECT min(at) AS at FROM (
  SELECT (SELECT min(queued_at) ${ofReady} AND rank = ranks.rank) AS at FROM ranks WHERE rank IS NOT NULL UNION ALL
  SELECT min(queued_at) ${ofDue} UNION ALL
  SELECT min(queued_at + 0) FROM work_line WHERE user_id = ? AND queued_at + 0 <= ?) AS ends`;
/** Due tasks until they are queued, which takes only a moment: at most this many. */
const dueSql = `SELECT queued_at ${ofDue} ORDER BY queued_at LIMIT 10000`;
export function createWorkReads(store: SharedStore): WorkReads {
  /**
   * Reads the rows of one filter along its index; other conditions are hidden from the planner, which would use another index for them if it believes
   * that most rows match.
   */
  function listOf({ userId, status, sessionId, deploymentId, workerId }: TaskFilter) {
    const also: [column: string, value: string | undefined][] = [
      ['session_id', sessionId],
      ['deployment_id', deploymentId],
      ['lease_worker_id', workerId],
    ];
    const lead = also.findIndex(([, value]) => value !== undefined);
    const [column, value] = also[lead] ?? [];
    if (column === undefined || value === undefined) {
      const branch = status === undefined ? 'user_id = ?' : `user_id = ? AND status = '${status}'`;
      // The list of everything has an index that no other list can use.
      return { branch, made: status === undefined ? 'created_at + 0' : 'created_at', values: [userId], rest: [] };
    }
    const rest = [...also.slice(lead + 1), ['status', status] as const].flatMap(([name, wanted]) =>
      wanted === undefined ? [] : [{ sql: `COALESCE(${name}, '') = ?`, value: wanted }],
    );
    const branch =
      column === 'lease_worker_id' ? `user_id = ? AND ${column} = ?` : `COALESCE(user_id, '') = ? AND ${column} = ?`;
    return { branch, made: 'created_at', values: [userId, value], rest };
  }

  /** What the workers say that asked since and do not drain; null for one that says nothing. */
  async function pollers(userId: string, since: number): Promise<(Can | null)[]> {
    return pollersOf(await store.all<PollerRow>(pollersSql, userId, since));
  }

  return {
    async list(filter) {
      const { after, limit } = filter;
      const { branch, made, values, rest } = listOf(filter);
      const ask = <T>(columns: string, within: readonly Within[], also: typeof rest, limit: string) => {
        const where = [
          branch,
          ...within.map(({ sign }) => `(${made}, id) ${sign} (?, ?)`),
          ...also.map(({ sql }) => sql),
        ];
        const sql = `SELECT ${columns} FROM work_task WHERE ${where.join(' AND ')} ORDER BY ${made} DESC, id DESC ${limit}`;
        const places = within.flatMap(({ place }) => [place.created_at, place.id]);
        return store.all<T>(sql, ...values, ...places, ...also.map((one) => one.value));
      };
      const behind: Within[] = after === null ? [] : [{ sign: '<', place: { created_at: after.at, id: after.id } }];
      // With a second filter the rows read end somewhere, with or without matches, and the list continues from there.
      const end = rest.length === 0 ? undefined : (await ask<Ended>('created_at, id', behind, [], endOfLook))[0];
      const within: Within[] = end === undefined ? behind : [...behind, { sign: '>=', place: end }];
      let sizes: (Ended & { readonly bytes: number })[] = [];
      const page = await pageOf<TaskRow>(
        limit,
        async (max) => {
          sizes = await ask(sizeColumns, within, rest, newest);
          return sizes.slice(0, max);
        },
        (max) => ask(tasks.columns, [...within, { sign: '>=', place: sizes[max - 1] as Ended }], rest, newest),
      );
      return page.nextCursor === null && end !== undefined ? { ...page, nextCursor: cursorOf(end) } : page;
    },
    stats: (userId, now, pollersSince) =>
      store.read(function* (tx) {
        const { counts } = yield* countsOf(tx, userId);
        const due = yield* tx.all<{ queued_at: number }>(dueSql, userId, now);
        const oldest = yield* tx.get<{ at: number | null }>(
          oldestSql,
          userId,
          userId,
          userId,
          userId,
          now,
          userId,
          now,
        );
        const pollers = yield* tx.get<{ n: number }>(
          `SELECT count(*) AS n FROM (SELECT draining FROM work_poller WHERE user_id = ? AND seen_at >= ?
            ORDER BY seen_at DESC LIMIT ${few}) AS seen WHERE draining = 0`,
          userId,
          pollersSince,
        );
        const ages = [...ageEnds, null].map(() => 0);
        const wait = (since: number, n: number) => {
          const group = ageEnds.findIndex((seconds) => since > now - seconds * 1000);
          const at = group === -1 ? ageEnds.length : group;
          ages[at] = (ages[at] ?? 0) + n;
        };
        for (const { kind, since, n } of counts) if (kind === 'queued') wait(since * 1000, n);
        for (const { queued_at: at } of due) wait(at, 1);
        const ofKind = (kind: string) => counts.reduce((sum, row) => (row.kind === kind ? sum + row.n : sum), 0);
        return {
          depth: ages.reduce((sum, n) => sum + n, 0),
          leased: ofKind('leased'),
          running: ofKind('running'),
          oldestQueuedAt: oldest?.at ?? null,
          workersPolling: pollers?.n ?? 0,
          scheduled: ofKind('later') - due.length,
          failed: ofKind('failed'),
          ages,
        };
      }),
    history: (userId, range, now) =>
      store.read(function* (tx) {
        return yield* momentsOf(tx, { userId, range, now, ...(yield* countsOf(tx, userId)) });
      }),
    workers: (userId, since) =>
      store.read(function* (tx) {
        const holders = yield* tx.all<{ worker_id: string; n: number }>(
          `SELECT worker_id, count(*) AS n FROM (SELECT lease_worker_id AS worker_id FROM work_task WHERE user_id = ? AND ${held}
            ORDER BY lease_until DESC LIMIT ${maxHeld}) AS held GROUP BY worker_id ORDER BY n DESC, worker_id LIMIT ${maxWorkers}`,
          userId,
        );
        const seen = yield* tx.all<{ worker_id: string; seen_at: number; draining: number; can: string | null }>(
          `SELECT worker_id, seen_at, draining, can FROM work_poller WHERE user_id = ? ORDER BY seen_at DESC, worker_id DESC LIMIT ${few}`,
          userId,
        );
        const known = new Map(seen.map((row) => [row.worker_id, row]));
        const worker = (worker_id: string, holding: number): SeenWorker => {
          const row = known.get(worker_id);
          const can = row?.can == null ? null : (JSON.parse(row.can) as Can);
          return { worker_id, seen_at: row?.seen_at ?? null, draining: row?.draining === 1, holding, can };
        };
        const holding = new Set(holders.map((row) => row.worker_id));
        const idle = seen.filter((row) => row.seen_at >= since && !holding.has(row.worker_id));
        return [
          ...holders.map((row) => worker(row.worker_id, row.n)),
          ...idle.map((row) => worker(row.worker_id, 0)),
        ].slice(0, maxWorkers);
      }),
    async waitingFor(userId, rows, pollersSince) {
      const reasons = new Map<string, string>();
      const queued = rows.filter(({ status }) => status === 'queued');
      for (const row of queued) {
        const { last_failure: last } = readOptions(row);
        const isLater = row.waits === waits.later || row.waits === waits.listedLater;
        if (isLater && last !== undefined)
          reasons.set(row.id, `It failed with ${last.code} and waits to be tried again.`);
      }
      const listed = queued.filter((row) => isListed(row) && !reasons.has(row.id));
      if (listed.length === 0) return reasons;
      // Few texts, however many tasks a page has: each is prepared once.
      const ids = listed.map(({ id }) => id);
      while (ids.length > 1 && ids.length < maxPageSize) ids.push('');
      const sql = `SELECT id, parked FROM work_line WHERE id IN (${ids.map(() => '?').join(', ')})`;
      const places = await store.all<{ id: string; parked: string }>(sql, ...ids);
      const parked = new Map(places.map((row) => [row.id, row.parked]));
      const workers = listed.some(({ needs }) => needs !== null) ? await pollers(userId, pollersSince) : [];
      for (const row of listed) {
        const place = parked.get(row.id) ?? '';
        if (place === parkedByTime) continue;
        const options = readOptions(row);
        const needs = { image: row.sandbox_image, labels: options.labels ?? {} };
        const isMet = row.needs === null || workers.some((can) => can === null || canRun(can, needs));
        const reason = isMet ? parkedInWords(place, options) : `No connected worker ${needsInWords(needs)}.`;
        if (reason !== null) reasons.set(row.id, reason);
      }
      return reasons;
    },
    changed: (userId, { at, id }, limit) =>
      store.all<ChangedTask>(
        `SELECT id, status, fence, updated_at FROM work_task
          WHERE user_id = ? AND (updated_at, id) > (?, ?) ORDER BY updated_at, id LIMIT ?`,
        ...[userId, at, id, limit],
      ),
  };
}
