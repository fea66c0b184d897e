/**
 * Calls and their legs in the database, whole operations for both engines. Every change of a state goes through {@link moveCall} and
 * {@link moveLeg}. Must not know the carrier or HTTP.
 */
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { Value } from '../../../kit/store/store.ts';
import { type CallMove, type CallRow, callMoves, type LegMove, type LegRow, legMoves } from './model.ts';

const callColumns = `id, number_id AS "numberId", user_id AS "userId", ours, peer, direction, bot_id AS "botId", bot_name AS "botName",
  status, muted, basis, purpose, session_id AS "sessionId", attestation, transfer_to AS "transferTo", transfer_mode AS "transferMode",
  transfer_state AS "transferState", transfer_at AS "transferAt", started_at AS "startedAt", answered_at AS "answeredAt", ended_at AS "endedAt",
  ended_because AS "endedBecause", look_at AS "lookAt"`;
const legColumns = `id, call_id AS "callId", role, e164, carrier_leg AS "carrierLeg", state, ended_because AS "endedBecause",
  asked_at AS "askedAt", at`;
const selectCall = `SELECT ${callColumns} FROM phone_call`;
const selectLeg = `SELECT ${legColumns} FROM phone_call_leg`;

interface NewCall
  extends Pick<
    CallRow,
    | 'id'
    | 'numberId'
    | 'userId'
    | 'ours'
    | 'peer'
    | 'direction'
    | 'botId'
    | 'botName'
    | 'basis'
    | 'purpose'
    | 'sessionId'
    | 'attestation'
    | 'startedAt'
    | 'lookAt'
  > {
  /** Hash of the reference that allowed it; one call each. */
  readonly ref: string | null;
}

export function* addCall(tx: SharedTx, call: NewCall): Op<CallRow> {
  const { id, numberId, userId, ours, peer, direction, botId, botName, basis, purpose, ref, sessionId } = call;
  yield* tx.run(
    `INSERT INTO phone_call (id, number_id, user_id, ours, peer, direction, bot_id, bot_name, status, basis, purpose, ref, session_id,
      attestation, started_at, look_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'ringing', ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, numberId, userId, ours, peer, direction, botId, botName, basis, purpose, ref, sessionId],
    ...[call.attestation, call.startedAt, call.lookAt],
  );
  return (yield* findCall(tx, id))!;
}

export function* addLeg(
  tx: SharedTx,
  leg: Pick<LegRow, 'id' | 'callId' | 'role' | 'e164' | 'carrierLeg' | 'at'>,
): Op<LegRow> {
  const { id, callId, role, e164, carrierLeg, at } = leg;
  const sql = `INSERT INTO phone_call_leg (id, call_id, role, e164, carrier_leg, state, at) VALUES (?, ?, ?, ?, ?, 'ringing', ?)`;
  yield* tx.run(sql, id, callId, role, e164, carrierLeg, at);
  return (yield* findLeg(tx, id))!;
}

export function* findCall(tx: SharedReader, id: string): Op<CallRow | null> {
  return (yield* tx.get<CallRow>(`${selectCall} WHERE id = ?`, id)) ?? null;
}

/** The newest leg of a session of the carrier's. */
export function* callOfSession(tx: SharedReader, sessionId: string): Op<CallRow | null> {
  const sql = `${selectCall} WHERE session_id = ? ORDER BY started_at DESC LIMIT 1`;
  return (yield* tx.get<CallRow>(sql, sessionId)) ?? null;
}

export function* findLeg(tx: SharedReader, id: string): Op<LegRow | null> {
  return (yield* tx.get<LegRow>(`${selectLeg} WHERE id = ?`, id)) ?? null;
}

export function* legByCarrier(tx: SharedReader, carrierLeg: string): Op<LegRow | null> {
  return (yield* tx.get<LegRow>(`${selectLeg} WHERE carrier_leg = ?`, carrierLeg)) ?? null;
}

export function* legsOf(tx: SharedReader, callId: string): Op<LegRow[]> {
  return yield* tx.all<LegRow>(`${selectLeg} WHERE call_id = ? ORDER BY at, id`, callId);
}

/** The other party; null: damaged. */
export function* personOf(tx: SharedReader, callId: string): Op<LegRow | null> {
  return (yield* tx.get<LegRow>(`${selectLeg} WHERE call_id = ? AND role = 'person'`, callId)) ?? null;
}

/** The leg that is being asked, or was asked last and still exists. */
export function* consultOf(tx: SharedReader, callId: string): Op<LegRow | null> {
  const sql = `${selectLeg} WHERE call_id = ? AND role = 'consult' AND state <> 'ended' ORDER BY at DESC, id DESC LIMIT 1`;
  return (yield* tx.get<LegRow>(sql, callId)) ?? null;
}

type CallFacts = Partial<
  Pick<
    CallRow,
    | 'muted'
    | 'sessionId'
    | 'transferTo'
    | 'transferMode'
    | 'transferState'
    | 'transferAt'
    | 'answeredAt'
    | 'endedAt'
    | 'endedBecause'
    | 'lookAt'
  >
>;
const callColumnOf: Readonly<Record<keyof CallFacts, string>> = {
  muted: 'muted',
  sessionId: 'session_id',
  transferTo: 'transfer_to',
  transferMode: 'transfer_mode',
  transferState: 'transfer_state',
  transferAt: 'transfer_at',
  answeredAt: 'answered_at',
  endedAt: 'ended_at',
  endedBecause: 'ended_because',
  lookAt: 'look_at',
};
type LegFacts = Partial<Pick<LegRow, 'carrierLeg' | 'endedBecause' | 'askedAt'>>;
const legColumnOf: Readonly<Record<keyof LegFacts, string>> = {
  carrierLeg: 'carrier_leg',
  endedBecause: 'ended_because',
  askedAt: 'asked_at',
};

function setsOf<T extends object>(columnOf: Readonly<Record<keyof T, string>>, facts: T) {
  const names = Object.keys(facts) as (keyof T)[];
  return {
    sets: names.map((name) => `${columnOf[name]} = ?`),
    values: names.map((name) => (facts[name] ?? null) as Value),
  };
}

const listed = (words: readonly string[]) => words.map((word) => `'${word}'`).join(', ');

/** False: its state does not allow the move. */
export function* moveCall(tx: SharedTx, id: string, move: CallMove, facts: CallFacts = {}): Op<boolean> {
  const { from, to } = callMoves[move];
  const { sets, values } = setsOf(callColumnOf, facts);
  const sql = `UPDATE phone_call SET ${[`status = '${to}'`, ...sets].join(', ')} WHERE id = ? AND status IN (${listed(from)})`;
  return (yield* tx.run(sql, ...values, id)).changes === 1;
}

export function* noteOnCall(tx: SharedTx, id: string, facts: CallFacts): Op<void> {
  const { sets, values } = setsOf(callColumnOf, facts);
  yield* tx.run(`UPDATE phone_call SET ${sets.join(', ')} WHERE id = ?`, ...values, id);
}

/** False: its state does not allow the move. */
export function* moveLeg(tx: SharedTx, id: string, move: LegMove, facts: LegFacts = {}): Op<boolean> {
  const { from, to } = legMoves[move];
  const { sets, values } = setsOf(legColumnOf, facts);
  const sql = `UPDATE phone_call_leg SET ${[`state = '${to}'`, ...sets].join(', ')} WHERE id = ? AND state IN (${listed(from)})`;
  return (yield* tx.run(sql, ...values, id)).changes === 1;
}

export function* noteOnLeg(tx: SharedTx, id: string, facts: LegFacts): Op<void> {
  const { sets, values } = setsOf(legColumnOf, facts);
  yield* tx.run(`UPDATE phone_call_leg SET ${sets.join(', ')} WHERE id = ?`, ...values, id);
}

/** Newest first, after a place. */
export function* listCalls(
  tx: SharedReader,
  asked: {
    readonly numberId: string;
    readonly after: { readonly at: number; readonly id: string } | null;
    readonly limit: number;
  },
): Op<CallRow[]> {
  const { numberId, after, limit } = asked;
  const older = after === null ? '' : 'AND (started_at, id) < (?, ?)';
  const values = after === null ? [] : [after.at, after.id];
  const sql = `${selectCall} WHERE number_id = ? ${older} ORDER BY started_at DESC, id DESC LIMIT ?`;
  return yield* tx.all<CallRow>(sql, numberId, ...values, limit);
}

export function* countLive(tx: SharedReader, userId: string): Op<number> {
  const sql = 'SELECT count(*) AS n FROM phone_call WHERE user_id = ? AND ended_at IS NULL';
  return Number((yield* tx.get<{ n: number }>(sql, userId))?.n ?? 0);
}

/** No call lasts longer. */
const maxMs = 24 * 60 * 60_000;

/** When somebody was called from this number since, by a call or a transfer; the newest first. */
export function* dialledSince(tx: SharedReader, numberId: string, since: number, max: number): Op<number[]> {
  const calls = `SELECT started_at AS at FROM phone_call WHERE number_id = ? AND direction = 'out' AND started_at > ?`;
  const transfers = `SELECT asked.at FROM phone_call_leg asked JOIN phone_call of_call ON of_call.id = asked.call_id
    WHERE of_call.number_id = ? AND of_call.started_at > ? AND asked.role = 'consult' AND asked.at > ?`;
  const sql = `SELECT at FROM (${calls} UNION ALL ${transfers}) AS rung ORDER BY at DESC LIMIT ?`;
  const values = [numberId, since, numberId, since - maxMs, since, max];
  return (yield* tx.all<{ at: number }>(sql, ...values)).map(({ at }) => at);
}

export function* liveOf(tx: SharedReader, numberId: string): Op<CallRow[]> {
  return yield* tx.all<CallRow>(
    `${selectCall} WHERE number_id = ? AND ended_at IS NULL ORDER BY started_at, id`,
    numberId,
  );
}

/** Calls that are due for a check; each is this caller's only until `next`. */
export function* claimDue(tx: SharedTx, now: number, max: number, next: (call: CallRow) => number): Op<CallRow[]> {
  const sql = `${selectCall} WHERE ended_at IS NULL AND look_at <= ? ORDER BY look_at LIMIT ?`;
  const due = yield* tx.all<CallRow>(sql, now, max);
  for (const call of due) yield* noteOnCall(tx, call.id, { lookAt: next(call) });
  return due;
}
