/**
 * The line of queued tasks that name an image, labels or a key (`work_line`): how a task enters it, passes its gates and becomes ready. A gate lets
 * through as many tasks of a key as may run at once, or one after the other at a rate. It counts by slots, and a slot counts only while its task has a
 * right to it: whoever passes a gate corrects what a crash left behind. Parts of operations; must not know who leases.
 */
import type { Op, SharedTx } from '../../kit/store/shared-store.ts';
import { held, statusIn, waits } from './model.ts';
import { readOptions, type TaskOptions, type TaskRow } from './rows.ts';

/** `parked` of a task whose time has not come. */
export const parkedByTime = 'time';
const slotsGate = 'slots:';
const rateGate = 'rate:';
const minuteMs = 60_000;

/** In the order in which a task passes them. */
export function gatesOf({ concurrency_key: key, rate }: TaskOptions): string[] {
  return [...(key === undefined ? [] : [slotsGate + key]), ...(rate === undefined ? [] : [rateGate + rate.key])];
}

/** Those that it passes later. */
export function gatesAfter(gate: string, options: TaskOptions): string[] {
  const gates = gatesOf(options);
  return gates.slice(gates.indexOf(gate) + 1);
}

/** Why a task with these options is parked there, as a sentence. */
export function parkedInWords(parked: string, { concurrency_limit: limit, rate }: TaskOptions): string | null {
  if (parked.startsWith(slotsGate)) {
    const others = limit === 1 ? 'another task' : `one of ${limit} other tasks`;
    return `It starts when ${others} with the concurrency key "${parked.slice(slotsGate.length)}" ends.`;
  }
  if (!parked.startsWith(rateGate)) return null;
  return `It waits for its turn: at most ${rate?.per_minute} tasks with the rate key "${parked.slice(rateGate.length)}" start per minute.`;
}

const isWaiting = `work_task.status = 'queued' AND work_task.waits = ${waits.listed}`;
/** Which tasks have a right to their slots: of a rate until they start, of a concurrency key until they end. */
const holdsSlot = {
  rate: isWaiting,
  slots: `(work_task.${statusIn(held)} OR (${isWaiting}))`,
};
/** Slots that their tasks left without passing the gate. */
export const leftSlotsSql = `SELECT DISTINCT work_slot.user_id, work_slot.gate FROM work_slot LEFT JOIN work_task ON work_task.id = work_slot.id
  WHERE work_task.id IS NULL OR NOT CASE WHEN work_slot.gate LIKE '${rateGate}%' THEN (${holdsSlot.rate}) ELSE ${holdsSlot.slots} END LIMIT ?`;
const dropLeftSql = (still: string) => `DELETE FROM work_slot WHERE user_id = ? AND gate = ?
  AND NOT EXISTS (SELECT 1 FROM work_task WHERE work_task.id = work_slot.id AND ${still}) RETURNING id`;
const dropLeft = { rate: dropLeftSql(holdsSlot.rate), slots: dropLeftSql(holdsSlot.slots) };
const gateSql = 'SELECT due_at FROM work_gate WHERE user_id = ? AND gate = ?';
const lockGateSql = { sqlite: gateSql, postgres: `${gateSql} FOR UPDATE` };
const firstParkedSql = `SELECT one.id, one.rank, work_task.status, work_task.options FROM work_line AS one JOIN work_task ON work_task.id = one.id
  WHERE one.user_id = ? AND one.parked = ? AND one.parked <> '' ORDER BY one.rank, one.queued_at, one.seq, one.id LIMIT 1`;
const enterSql = `INSERT INTO work_line (id, user_id, needs, rank, fair, round, queued_at, seq, parked)
  VALUES (?, ?, ?, ?, 0, 0, ?, (SELECT seq FROM work_task WHERE id = ?), ?)
  ON CONFLICT (id) DO UPDATE SET rank = excluded.rank, queued_at = excluded.queued_at, seq = excluded.seq, parked = excluded.parked`;
const readySql = `UPDATE work_line SET parked = '', fair = ?, round = ? WHERE id = ?`;
const currentRoundSql = `SELECT round FROM work_line WHERE user_id = ? AND rank = ? AND parked = '' AND fair = 1
  ORDER BY round, queued_at, seq, id LIMIT 1`;
/** In one statement: between two of them the first task of a new line may have come, and its turn would be taken twice. */
const beginAnewSql = `DELETE FROM work_turn WHERE user_id = ? AND rank = ? AND (${currentRoundSql}) IS NULL`;
/** Of tasks of a key that come at once each gets a round of its own. */
const turnSql = `INSERT INTO work_turn (user_id, rank, fairness_key, round) VALUES (?, ?, ?, ?)
  ON CONFLICT (user_id, rank, fairness_key) DO UPDATE SET
  round = CASE WHEN work_turn.round + 1 > excluded.round THEN work_turn.round + 1 ELSE excluded.round END RETURNING round`;

/** A task that was just queued enters the line. True: somebody may be leased who could not before. */
export function* entering(tx: SharedTx, row: TaskRow, at: number): Op<boolean> {
  const [gate] = gatesOf(readOptions(row));
  const parked = row.waits === waits.listedLater ? parkedByTime : (gate ?? parkedByTime);
  // Slots of an earlier time in the queue.
  if (gate !== undefined) yield* tx.run('DELETE FROM work_slot WHERE id = ?', row.id);
  yield* tx.run(enterSql, row.id, row.user_id, row.needs ?? '', row.rank, row.queued_at, row.id, parked);
  if (row.waits === waits.listedLater) return false;
  if (gate !== undefined) return yield* passing(tx, row.user_id, gate, at);
  yield* becomingReady(tx, row);
  return true;
}

/** A task that was given back is ready at once: it has passed its gates. */
export function* reentering(tx: SharedTx, row: TaskRow): Op<void> {
  yield* tx.run(enterSql, row.id, row.user_id, row.needs ?? '', row.rank, row.queued_at, row.id, parkedByTime);
  yield* becomingReady(tx, row);
}

/**
 * Keys with fairness take turns: each task of a key belongs to a later round than the one before, and a key that comes later begins with the current round. An empty
 * line begins anew.
 */
function* becomingReady(
  tx: SharedTx,
  { id, user_id: userId, rank, options }: Pick<TaskRow, 'id' | 'user_id' | 'rank' | 'options'>,
): Op<void> {
  const { fairness_key: key } = readOptions({ options });
  if (key === undefined) {
    yield* tx.run(readySql, 0, 0, id);
    return;
  }
  const current = yield* tx.get<{ round: number }>(currentRoundSql, userId, rank);
  if (current === undefined) yield* tx.run(beginAnewSql, userId, rank, userId, rank);
  const turn = yield* tx.get<{ round: number }>(turnSql, userId, rank, key, current?.round ?? 0);
  yield* tx.run(readySql, 1, turn?.round ?? 0, id);
}

/** Null: others removed it meanwhile, again and again. */
export function* lockedGate(tx: SharedTx, userId: string, gate: string): Op<number | null> {
  for (let tries = 0; tries < 5; tries += 1) {
    yield* tx.run(
      'INSERT INTO work_gate (user_id, gate, due_at) VALUES (?, ?, 0) ON CONFLICT (user_id, gate) DO NOTHING',
      ...[userId, gate],
    );
    const row = yield* tx.get<{ due_at: number }>(lockGateSql, userId, gate);
    if (row !== undefined) return row.due_at;
  }
  return null;
}

/** Lets tasks pass a gate that has room for them. True: a task may be leased now that could not be before. */
export function* passing(tx: SharedTx, userId: string, gate: string, at: number): Op<boolean> {
  const known = yield* lockedGate(tx, userId, gate);
  if (known === null) return false;
  const isRate = gate.startsWith(rateGate);
  let due = known;
  for (const { id } of yield* tx.all<{ id: string }>(isRate ? dropLeft.rate : dropLeft.slots, userId, gate)) {
    const left = yield* tx.get<Pick<TaskRow, 'options' | 'lease_worker_id'>>(
      'SELECT options, lease_worker_id FROM work_task WHERE id = ?',
      id,
    );
    const rate = left?.lease_worker_id == null ? undefined : readOptions(left).rate;
    // It has started; the next one starts a while later.
    if (isRate && rate !== undefined) due = Math.max(due, at + Math.ceil(minuteMs / rate.per_minute));
  }
  const counted = yield* tx.get<{ n: number }>(
    'SELECT count(*) AS n FROM work_slot WHERE user_id = ? AND gate = ?',
    ...[userId, gate],
  );
  let out = counted?.n ?? 0;
  let ready = false;
  while (!isRate || (out === 0 && due <= at)) {
    const next = yield* tx.get<Pick<TaskRow, 'id' | 'rank' | 'status' | 'options'>>(firstParkedSql, userId, gate);
    if (next === undefined) break;
    if (next.status !== 'queued') {
      yield* tx.run('DELETE FROM work_line WHERE id = ?', next.id);
      continue;
    }
    const options = readOptions(next);
    if (!isRate && out >= (options.concurrency_limit ?? 1)) break;
    out += 1;
    if (yield* lettingThrough(tx, { ...next, user_id: userId }, gate, at)) ready = true;
  }
  yield* closing(tx, userId, gate, { out, due, at, known });
  return ready;
}

/** The task gets a slot of the gate and waits at the next one, or is ready. True: a task may be leased now that could not be before. */
export function* lettingThrough(
  tx: SharedTx,
  task: Pick<TaskRow, 'id' | 'user_id' | 'rank' | 'options'>,
  gate: string,
  at: number,
): Op<boolean> {
  yield* tx.run(
    'INSERT INTO work_slot (id, gate, user_id) VALUES (?, ?, ?) ON CONFLICT (id, gate) DO NOTHING',
    ...[task.id, gate, task.user_id],
  );
  const [further] = gatesAfter(gate, readOptions(task));
  if (further === undefined) {
    yield* becomingReady(tx, task);
    return true;
  }
  yield* tx.run('UPDATE work_line SET parked = ? WHERE id = ?', further, task.id);
  return yield* passing(tx, task.user_id, further, at);
}

/** A gate that nobody waits at and nobody has passed is forgotten. One that has a task on its way has no time at which to look again. */
function* closing(
  tx: SharedTx,
  userId: string,
  gate: string,
  { out, due, at, known }: { out: number; due: number; at: number; known: number },
): Op<void> {
  const next = out > 0 ? 0 : due;
  if (out === 0 && due <= at) yield* tx.run('DELETE FROM work_gate WHERE user_id = ? AND gate = ?', userId, gate);
  else if (next !== known)
    yield* tx.run('UPDATE work_gate SET due_at = ? WHERE user_id = ? AND gate = ?', next, userId, gate);
}

/** Removes a row of the line whose task is not queued there: somebody ended it who does not know the line. */
export function* dropIfGone(tx: SharedTx, id: string): Op<void> {
  yield* tx.run(
    `DELETE FROM work_line WHERE id = ? AND NOT EXISTS (SELECT 1 FROM work_task WHERE id = ? AND status = 'queued' AND waits >= ${waits.listed})`,
    ...[id, id],
  );
}

/** The gates that a task leaves when it starts. */
export function rateGatesOf(row: TaskRow): string[] {
  return gatesOf(readOptions(row)).filter((gate) => gate.startsWith(rateGate));
}
