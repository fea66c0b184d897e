/**
 * Leases and changes of the tasks in the line (`line.ts`), whole operations beside those of the store. A person who has none there pays a look now and
 * then; whoever asks for a task gets the oldest of all, in the line or not. Must not know HTTP.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import { createChooser, isBefore, type Place } from './choose.ts';
import { givingWay, maxGates, waitedGatesSql } from './give-way.ts';
import { headSql, isLapsed, mine, taken } from './lease-sql.ts';
import { dropIfGone, entering, gatesOf, leftSlotsSql, parkedByTime, passing, rateGatesOf, reentering } from './line.ts';
import { isListed, waits } from './model.ts';
import type { Can } from './needs.ts';
import { readOptions, type TaskRow, tasks } from './rows.ts';

/** Who asks for a task; `can` null: the call says nothing about its worker. */
export interface Asker {
  readonly userId: string;
  readonly workerId: string;
  readonly leaseId: string;
  readonly can: Can | null;
}

interface Listed {
  /** Whether it is known without a look that the person has no tasks in the line. */
  hasNone(userId: string): boolean;
  /** Whether the person may have tasks in the line. */
  mayHave(userId: string): Promise<boolean>;
  /** The person's tasks in the line changed: part of the commit that changes them. */
  changed(tx: SharedTx, userId: string): void;
  /** `elsewhere`: a task outside of the line goes first. Null: this caller can lease nothing in the line. */
  take(asker: Asker): Promise<TaskRow | 'elsewhere' | null>;
  /** Puts a task that its worker cannot run into the line: it came from a version that does not know the line. */
  sortIn(row: TaskRow, needs: string): Promise<void>;
  /** After a change of a task: lets those through that waited for it. */
  left(row: TaskRow): Promise<void>;
  /** Queues what is due, and corrects what a crash or another version left behind. */
  sweep(): Promise<void>;
  /** Removes the turns of keys that have nothing in the line. */
  forgetTurns(): Promise<void>;
}

const perRow = { isolation: 'rows' } as const;
const portion = 500;
/** On PostgreSQL somebody else may have added to the line: this old an answer still counts, ms. */
const knownMs = 1_000;
const maxPeople = 10_000;
/** A call that always finds its choice taken by others gives up; each time somebody got a task. */
const maxTries = 100;
const hiddenMs = 5;
/** How often a worker that finds other tasks looks for places that it could take over, ms. */
const lookMs = 1_000;
const maxLookers = 10_000;
/** Each is a write: the next look continues after them. */
const maxTriedGates = 20;

const hasSql = `SELECT id FROM work_line WHERE ${mine} ORDER BY queued_at + 0 LIMIT 1`;
const swapSql = {
  sqlite: 'UPDATE work_line SET queued_at = ?, seq = ? WHERE id = ?',
  postgres:
    'UPDATE work_line SET queued_at = ?, seq = ? WHERE id = (SELECT id FROM work_line WHERE id = ? FOR UPDATE SKIP LOCKED)',
};
const takeSql = `${taken} WHERE id = ? AND ${mine} AND status = 'queued' AND waits = ${waits.listed} RETURNING ${tasks.columns}`;
const takeLapsedSql = `${taken} WHERE id = ? AND ${isLapsed} RETURNING ${tasks.columns}`;
const timesSql = `SELECT (SELECT min(queued_at) FROM work_line WHERE ${mine} AND parked = '${parkedByTime}') AS due_at,
  (SELECT min(due_at) FROM work_gate WHERE ${mine} AND due_at > 0) AS gate_at,
  (SELECT min(parked) FROM work_line WHERE ${mine} AND parked <> '') AS waited_at`;
const dueSql = `SELECT id FROM work_line WHERE ${mine} AND parked = '${parkedByTime}' AND queued_at <= ?
  ORDER BY queued_at LIMIT ${portion}`;
const dueOfAllSql = `SELECT id FROM work_line WHERE parked || '' = '${parkedByTime}' AND queued_at <= ? ORDER BY queued_at LIMIT ${portion}`;
const nowDueSql = `UPDATE work_task SET waits = ${waits.listed} WHERE id = ? AND status = 'queued' AND waits = ${waits.listedLater}
  RETURNING ${tasks.columns}`;
const dueGatesSql = `SELECT gate FROM work_gate WHERE ${mine} AND due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ${portion}`;
/** Gates that nobody has passed: due ones with tasks that wait there, or to be forgotten. */
const idleGatesSql = `SELECT user_id, gate FROM work_gate WHERE due_at <= ? AND NOT EXISTS
  (SELECT 1 FROM work_slot WHERE work_slot.user_id = work_gate.user_id AND work_slot.gate = work_gate.gate) LIMIT ?`;
const sortInSql = `UPDATE work_task SET status = 'queued', waits = ${waits.listed}, needs = ?, attempts = attempts - 1, lease_id = NULL,
  lease_worker_id = NULL, lease_until = NULL WHERE id = ? AND ${mine} AND status = 'leased' AND lease_id = ? RETURNING ${tasks.columns}`;
const forgetTurnsSql = `DELETE FROM work_turn WHERE NOT EXISTS (SELECT 1 FROM work_line WHERE work_line.user_id = work_turn.user_id
  AND work_line.rank = work_turn.rank AND work_line.parked = '' AND work_line.fair = 1 AND work_line.round <= work_turn.round)`;

export function createListed({
  store,
  now,
  leaseMs,
  timers,
  moved,
  tellReady,
}: {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly leaseMs: number;
  readonly timers: Timers;
  /** Reports a changed task, as part of its commit. */
  readonly moved: (tx: SharedTx, userId: string) => void;
  readonly tellReady: (tx: SharedTx, userId: string) => void;
}): Listed {
  /** People without tasks in the line, and until when that is known. */
  const without = new Map<string, number>();
  let changes = 0;
  /** When a worker last looked for places to take over, and after which gate its next look begins. */
  const looks = new Map<string, { readonly at: number; readonly last: string }>();
  const chooser = createChooser();

  function changed(tx: SharedTx, userId: string): void {
    tx.afterCommit(() => {
      changes += 1;
      without.delete(userId);
    });
  }

  const hasNone = (userId: string) => (without.get(userId) ?? 0) > now();

  async function mayHave(userId: string): Promise<boolean> {
    if (hasNone(userId)) return false;
    const before = changes;
    const found = await store.get(hasSql, userId);
    if (found !== undefined) return true;
    if (before !== changes) return true;
    if (without.size >= maxPeople) without.clear();
    without.set(userId, store.engine === 'sqlite' ? Number.POSITIVE_INFINITY : now() + knownMs);
    return false;
  }

  /** `again`: somebody else was faster. */
  function* taking(tx: SharedTx, asker: Asker): Op<TaskRow | 'elsewhere' | 'again' | null> {
    const { userId, workerId, leaseId, can } = asker;
    const at = now();
    const choice = can === null ? yield* chooser.any(tx, userId) : yield* chooser.runnable(tx, userId, can, at);
    if (choice === undefined) return null;
    if (choice === 'hidden') return 'again';
    const sql = can === null ? headSql.silent : headSql.telling;
    const head = yield* tx.get<Place>(sql, userId, userId, at, userId, at);
    if (head !== undefined && isBefore(head, choice.oldest)) return 'elsewhere';
    const { task, oldest, lapsed } = choice;
    const lease = [leaseId, workerId, at + leaseMs, at, task.id, userId];
    const row = lapsed
      ? yield* tx.get<TaskRow>(takeLapsedSql, ...lease, at)
      : yield* tx.get<TaskRow>(takeSql, ...lease);
    if (!lapsed) yield* dropIfGone(tx, task.id);
    if (row === undefined) return 'again';
    // The oldest has given its turn away, and has that of the other one now: what is outside of the line is passed over by neither.
    if (oldest.id !== task.id) yield* tx.run(swapSql, task.queued_at, task.seq, oldest.id);
    moved(tx, userId);
    return row;
  }

  const passOne = (userId: string, gate: string) =>
    store.write(function* (tx) {
      if (yield* passing(tx, userId, gate, now())) tellReady(tx, userId);
    }, perRow);

  /** Queues those of these tasks that are due, each by itself: together they would lock gates in any order. */
  async function queueDue(ids: readonly { readonly id: string }[]): Promise<void> {
    for (const { id } of ids) {
      await store.write(function* (tx) {
        const row = yield* tx.get<TaskRow>(nowDueSql, id);
        if (row === undefined) return yield* dropIfGone(tx, id);
        yield* entering(tx, row, now());
        changed(tx, row.user_id);
        tellReady(tx, row.user_id);
      }, perRow);
    }
  }

  /** The change itself was made: if this fails, the sweep lets the others through. */
  async function passAll(userId: string, gates: readonly string[]): Promise<void> {
    try {
      for (const gate of gates) await passOne(userId, gate);
    } catch {
      // See above.
    }
  }

  /** What is due by time: tasks before their time, and gates of a rate. True: tasks may wait at gates. */
  async function bring(userId: string): Promise<boolean> {
    const at = now();
    const times = await store.get<{ due_at: number | null; gate_at: number | null; waited_at: string | null }>(
      ...[timesSql, userId, userId, userId],
    );
    if ((times?.due_at ?? at + 1) <= at) await queueDue(await store.all<{ id: string }>(dueSql, userId, at));
    if ((times?.gate_at ?? at + 1) <= at)
      for (const { gate } of await store.all<{ gate: string }>(dueGatesSql, userId, at)) await passOne(userId, gate);
    return times?.waited_at != null;
  }

  /** Lets a task that this worker can run have the place of one that no connected worker can run. True: it may be leased now. */
  async function makeWay({ userId, workerId }: Asker, can: Can): Promise<boolean> {
    const looker = `${userId} ${workerId}`;
    const waited = (after: string) =>
      store.all<{ gate: string; held: number | boolean }>(waitedGatesSql, userId, after, userId, userId);
    let last = looks.get(looker)?.last ?? '';
    const gates = await waited(last);
    if (last !== '' && gates.length < maxGates) gates.push(...(await waited('')));
    let ready = false;
    let tried = 0;
    for (const { gate, held } of gates) {
      if (Number(held) > 0) {
        if (tried === maxTriedGates) break;
        tried += 1;
        ready = await store.write(function* (tx) {
          const some = yield* givingWay(tx, userId, gate, can, now());
          if (some) tellReady(tx, userId);
          return some;
        }, perRow);
        // The next look begins with it: there may be more.
        if (ready) break;
      }
      last = gate;
    }
    if (looks.size >= maxLookers) looks.clear();
    looks.set(looker, { at: now(), last });
    return ready;
  }

  async function takeNow(asker: Asker): Promise<TaskRow | 'elsewhere' | null> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const row = await store.write((tx) => taking(tx, asker), perRow);
      if (row === null || row === 'elsewhere') return row;
      if (row !== 'again') {
        await passAll(row.user_id, rateGatesOf(row));
        return row;
      }
      await new Promise<void>((resolve) => void timers.after(hiddenMs, resolve));
    }
    return null;
  }

  return {
    hasNone,
    mayHave,
    changed,
    async take(asker) {
      const { userId, workerId, can } = asker;
      const mayMakeWay = (await bring(userId)) && can !== null;
      const isLookDue = mayMakeWay && (looks.get(`${userId} ${workerId}`)?.at ?? 0) <= now() - lookMs;
      if (isLookDue) await makeWay(asker, can);
      const row = await takeNow(asker);
      if (row !== null || !mayMakeWay || isLookDue) return row;
      return (await makeWay(asker, can)) ? takeNow(asker) : null;
    },
    sortIn: (row, needs) =>
      store.write(function* (tx) {
        const sorted = yield* tx.get<TaskRow>(sortInSql, needs, row.id, row.user_id, row.lease_id);
        if (sorted === undefined) return;
        yield* reentering(tx, sorted);
        changed(tx, row.user_id);
        tellReady(tx, row.user_id);
      }, perRow),
    async left(row) {
      if (!isListed(row)) return;
      await store.write((tx) => dropIfGone(tx, row.id), perRow).catch(() => {});
      await passAll(row.user_id, gatesOf(readOptions(row)));
    },
    async sweep() {
      for (let more = true; more; ) {
        const due = await store.all<{ id: string }>(dueOfAllSql, now());
        await queueDue(due);
        more = due.length === portion;
      }
      const gates = [
        ...(await store.all<{ user_id: string; gate: string }>(leftSlotsSql, portion)),
        ...(await store.all<{ user_id: string; gate: string }>(idleGatesSql, now(), portion)),
      ];
      for (const { user_id: userId, gate } of gates) await passOne(userId, gate);
    },
    forgetTurns: () =>
      store.write(function* (tx) {
        yield* tx.run(forgetTurnsSql);
      }, perRow),
  };
}
