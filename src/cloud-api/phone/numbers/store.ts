/**
 * Numbers in the database: whole operations, one text for both engines. Every change of a phase goes through {@link NumberStore.move}.
 * Must not know the carrier or HTTP.
 */
import { hash } from 'node:crypto';
import type { SmsState } from '../../../contracts/phone/values.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { Value } from '../../../kit/store/store.ts';
import type { HeldNumber, Numbers } from '../ports.ts';
import { needsRegistration } from '../registration/needed.ts';
import {
  limitReached,
  live,
  type Move,
  moves,
  type NumberRow,
  numberTakenHere,
  phaseIn,
  shown,
  toHeld,
} from './model.ts';

export interface NewNumber
  extends Pick<
    NumberRow,
    | 'id'
    | 'userId'
    | 'e164'
    | 'type'
    | 'country'
    | 'locality'
    | 'monthlyCost'
    | 'carrier'
    | 'origin'
    | 'runtimeId'
    | 'botId'
    | 'portDetails'
  > {
  /** The carrier's, if it gave one. */
  readonly upfrontCost?: string | null;
  /** The person's, if they gave one. */
  readonly botName?: string | null;
  readonly addressHash: string;
  /** Sealed. */
  readonly address: string;
}

/** The fields that may be changed besides its phase. */
export type Facts = Partial<
  Pick<
    NumberRow,
    | 'problem'
    | 'fault'
    | 'orderId'
    | 'carrierNumberId'
    | 'profileId'
    | 'voiceState'
    | 'portState'
    | 'portMessaging'
    | 'monthlyCost'
    | 'portProblems'
    | 'portReadyOn'
    | 'portGiven'
    | 'portDetails'
    | 'lookedAt'
  >
>;

export interface NumberStore {
  readonly numbers: Numbers;
  get(id: string): Promise<NumberRow | null>;
  read(tx: SharedReader, id: string): Op<NumberRow | null>;
  /** By the carrier's order id, or by our own, which was its reference. */
  byOrder(orderId: string): Promise<NumberRow | null>;
  /** The numbers that the person sees, oldest first. */
  list(userId: string): Promise<NumberRow[]>;
  /** A computer's numbers, for as long as it is that person's. */
  ofComputer(userId: string, computerId: string): Promise<NumberRow[]>;
  /** How many count for their plan. */
  count(tx: SharedReader, userId: string): Op<{ readonly has: number; readonly coming: number }>;
  /** Throws 403 `number_limit`, 409 `number_taken`. */
  create(tx: SharedTx, number: NewNumber, limit: number): Op<NumberRow>;
  note(tx: SharedTx, id: string, facts: Facts): Op<void>;
  /** Null: its phase does not allow the move. */
  move(tx: SharedTx, id: string, move: Move, facts?: Facts): Op<NumberRow | null>;
  assign(tx: SharedTx, id: string, to: { runtimeId: string; botId: string; botName: string | null }): Op<void>;
  /** Its requester has received the failure: it is not shown again. */
  told(id: string): Promise<void>;
  /** Failed ones that nobody has dismissed since. */
  forget(before: number): Promise<void>;
}

const columns = `id, user_id AS "userId", e164, type, country, locality, monthly_cost AS "monthlyCost",
  upfront_cost AS "upfrontCost", held_at AS "heldAt", carrier, origin, phase, problem,
  fault, order_id AS "orderId", carrier_number_id AS "carrierNumberId", profile_id AS "profileId", sms_state AS "smsState",
  voice_state AS "voiceState", runtime_id AS "runtimeId", bot_id AS "botId", bot_name AS "botName", address,
  port_state AS "portState", port_messaging AS "portMessaging", port_problems AS "portProblems",
  port_ready_on AS "portReadyOn", port_given AS "portGiven", port_details AS "portDetails", looked_at AS "lookedAt", created_at AS "createdAt"`;
const select = `SELECT ${columns} FROM phone_number`;

const columnOf: Readonly<Record<keyof Facts, string>> = {
  problem: 'problem',
  fault: 'fault',
  orderId: 'order_id',
  carrierNumberId: 'carrier_number_id',
  profileId: 'profile_id',
  voiceState: 'voice_state',
  portState: 'port_state',
  portMessaging: 'port_messaging',
  monthlyCost: 'monthly_cost',
  portProblems: 'port_problems',
  portReadyOn: 'port_ready_on',
  portGiven: 'port_given',
  portDetails: 'port_details',
  lookedAt: 'looked_at',
};

export const hashOf = (secret: string) => hash('sha256', secret, 'hex');
/** Signalled after each change. */
export const topicOf = (id: string) => `phone number:${id}`;

export function createNumberStore(store: SharedStore, now: () => number): NumberStore {
  function* read(tx: SharedReader, id: string): Op<NumberRow | null> {
    return (yield* tx.get<NumberRow>(`${select} WHERE id = ?`, id)) ?? null;
  }

  function* held(tx: SharedReader, id: string): Op<HeldNumber | null> {
    const row = yield* tx.get<NumberRow>(`${select} WHERE id = ? AND ${phaseIn(live)}`, id);
    return row === undefined ? null : toHeld(row);
  }

  const many = async (rows: Promise<NumberRow[]>): Promise<HeldNumber[]> => (await rows).map(toHeld);
  const one = async (row: Promise<NumberRow | undefined>): Promise<HeldNumber | null> => {
    const found = await row;
    return found === undefined ? null : toHeld(found);
  };

  function* count(tx: SharedReader, userId: string) {
    const row = (yield* tx.get<{ has: number; coming: number }>(
      `SELECT count(*) AS has, count(CASE WHEN phase <> 'held' THEN 1 END) AS coming FROM phone_number
        WHERE user_id = ? AND ${phaseIn(live)}`,
      userId,
    ))!;
    return { has: Number(row.has), coming: Number(row.coming) };
  }

  function signal(tx: SharedTx, id: string): void {
    tx.afterCommit(() => store.wake.signal(topicOf(id)));
  }

  function* note(tx: SharedTx, id: string, facts: Facts): Op<void> {
    const names = Object.keys(facts) as (keyof Facts)[];
    const sets = names.map((name) => `${columnOf[name]} = ?, `).join('');
    const values = names.map((name) => (facts[name] ?? null) as Value);
    yield* tx.run(`UPDATE phone_number SET ${sets}updated_at = ? WHERE id = ?`, ...values, now(), id);
    signal(tx, id);
  }

  const numbers: Numbers = {
    find: (id) => store.read((tx) => held(tx, id)),
    read: held,
    byE164: (e164) => one(store.get<NumberRow>(`${select} WHERE e164 = ? AND ${phaseIn(live)}`, e164)),
    byAddress: (address) =>
      one(store.get<NumberRow>(`${select} WHERE address_hash = ? AND ${phaseIn(live)}`, hashOf(address))),
    *ofBot(tx, userId, botId) {
      const sql = `${select} WHERE user_id = ? AND bot_id = ? AND ${phaseIn(live)} ORDER BY created_at, id`;
      return (yield* tx.all<NumberRow>(sql, userId, botId)).map(toHeld);
    },
    ofComputer: (computerId) =>
      many(
        store.all<NumberRow>(`${select} WHERE runtime_id = ? AND ${phaseIn(live)} ORDER BY created_at, id`, computerId),
      ),
    *setSmsState(tx, id, state: SmsState) {
      yield* tx.run('UPDATE phone_number SET sms_state = ?, updated_at = ? WHERE id = ?', state, now(), id);
      signal(tx, id);
    },
    all: () => many(store.all<NumberRow>(`${select} WHERE ${phaseIn(live)} ORDER BY created_at, id`)),
  };

  return {
    numbers,
    read,
    count,
    note,
    get: (id) => store.read((tx) => read(tx, id)),
    byOrder: async (orderId) =>
      (await store.get<NumberRow>(
        `${select} WHERE (order_id = ? OR id = ?) AND ${phaseIn(live)} LIMIT 1`,
        orderId,
        orderId,
      )) ?? null,
    list: (userId) => {
      const sql = `${select} WHERE user_id = ? AND ${phaseIn(shown)} AND told = 0 ORDER BY created_at, id`;
      return store.all<NumberRow>(sql, userId);
    },
    ofComputer: (userId, computerId) => {
      const sql = `${select} WHERE runtime_id = ? AND user_id = ? AND ${phaseIn(live)} ORDER BY created_at, id`;
      return store.all<NumberRow>(sql, computerId, userId);
    },
    *create(tx, number, limit) {
      const { id, userId, e164, origin } = number;
      const { has, coming } = yield* count(tx, userId);
      if (has >= limit) throw limitReached(has, coming, limit);
      const bought = origin === 'bought';
      const added = yield* tx.run(
        `INSERT INTO phone_number (id, user_id, e164, type, country, locality, monthly_cost, upfront_cost, carrier, origin, phase, sms_state,
          voice_state, runtime_id, bot_id, bot_name, address_hash, address, port_state, port_messaging, port_details, created_at, updated_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT DO NOTHING`,
        ...[id, userId, e164, number.type, number.country, number.locality],
        ...[number.monthlyCost, number.upfrontCost ?? null, number.carrier, origin],
        ...[bought ? 'buying' : 'porting'],
        ...[needsRegistration(number) ? 'pending_registration' : 'active'],
        ...[number.runtimeId, number.botId, number.botName ?? null, number.addressHash, number.address],
        ...[bought ? null : 'draft', bought ? null : 'pending', number.portDetails, now(), now()],
      );
      if (added.changes === 0) throw numberTakenHere(e164);
      return (yield* read(tx, id))!;
    },
    *move(tx, id, name, facts = {}) {
      const { from, to } = moves[name];
      const before = yield* read(tx, id);
      if (before === null || !(from as readonly string[]).includes(before.phase)) return null;
      // A finished one needs no address, and none of the data meant for the other carrier.
      const over =
        to === 'held' ? ', held_at = ?' : ', ended_at = ?, address_hash = NULL, address = NULL, port_details = NULL';
      yield* tx.run(`UPDATE phone_number SET phase = ?${over} WHERE id = ? AND ${phaseIn(from)}`, ...[to, now(), id]);
      yield* note(tx, id, facts);
      return yield* read(tx, id);
    },
    *assign(tx, id, { runtimeId, botId, botName }) {
      const sql = 'UPDATE phone_number SET runtime_id = ?, bot_id = ?, bot_name = ?, updated_at = ? WHERE id = ?';
      yield* tx.run(sql, runtimeId, botId, botName, now(), id);
      signal(tx, id);
    },
    async told(id) {
      await store.write((tx) => tx.run("UPDATE phone_number SET told = 1 WHERE id = ? AND phase = 'failed'", id));
    },
    async forget(before) {
      await store.write((tx) =>
        tx.run("UPDATE phone_number SET phase = 'gone' WHERE phase = 'failed' AND ended_at < ?", before),
      );
    },
  };
}
