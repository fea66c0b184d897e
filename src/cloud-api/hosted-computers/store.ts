/**
 * Hosted computers in the database: whole operations, one SQL text for both engines. Every change of a phase goes through {@link ComputerStore.move},
 * which counts the minutes that end with it and appends its event. Must not know drivers or HTTP.
 */
import type { HostedEvent, HostedStatus } from '../../contracts/hosted-computers/computer.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { Value } from '../../kit/store/store.ts';
import type { Meters, Prices } from './meters.ts';
import { awake, type ComputerRow, kept, type Move, moves, phaseIn, poolFull, tooMany } from './model.ts';

export type NewComputer = Omit<
  ComputerRow,
  'phase' | 'starts' | 'createdAt' | 'startedAt' | 'usedAt' | 'meteredAt' | 'nextEvent'
>;

/** How many may be awake, in total and for one key. */
export interface Room {
  readonly running: number;
  readonly ofKey: number;
}

export interface MoveFacts {
  readonly prices: Prices;
  /** Until when its minutes count, if not now. Milliseconds. */
  readonly until?: number;
  /** Payload of the event. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** It needs a place: throws 429 or 503 if none is free. */
  readonly room?: Room;
}

interface ListFilter {
  readonly projectId: string;
  readonly status?: HostedStatus | undefined;
  readonly after: { readonly at: number; readonly id: string } | null;
  readonly limit: number;
}

export interface ComputerStore {
  find(tx: SharedReader, id: string): Op<ComputerRow | null>;
  get(id: string): Promise<ComputerRow | null>;
  /** Newest first, without deleted ones. */
  list(filter: ListFilter): Promise<ComputerRow[]>;
  /** All that a driver should have. */
  there(): Promise<ComputerRow[]>;
  /** Running computers without a call since then and with none under way. */
  idle(since: number): Promise<ComputerRow[]>;
  /** Whether a call to it is under way, in any process. */
  underWay(tx: SharedReader, id: string): Op<boolean>;
  /** Computers deleted here that their driver may still have. */
  left(): Promise<string[]>;
  /** Its driver has removed all of it. */
  removed(id: string): Promise<void>;
  countAwake(): Promise<number>;
  create(computer: NewComputer, room: Room): Promise<ComputerRow>;
  /** Null: its phase does not allow the move. */
  move(tx: SharedTx, id: string, move: Move, facts: MoveFacts): Op<ComputerRow | null>;
  append(tx: SharedTx, id: string, type: HostedEvent['type'], data: Readonly<Record<string, unknown>>): Op<void>;
  events(id: string, after: number, limit: number): Promise<HostedEvent[]>;
  /** Removes its records that are older than the retention. */
  forget(before: number): Promise<void>;
}

export const topicOf = (computerId: string) => `hosted:${computerId}`;

const columns = `id, project_id AS "projectId", user_id AS "userId", key_id AS "keyId", account_id AS "accountId", name, metadata,
  toolset, egress, image, memory, processes, lifetime, sleep_keeps AS "sleepKeeps", phase, starts, created_at AS "createdAt", started_at AS "startedAt", used_at AS "usedAt", metered_at AS "meteredAt",
  next_event AS "nextEvent"`;
const selectOne = `SELECT ${columns} FROM hosted_computer WHERE id = ?`;
/** Only deleted ones; their cost stays in the usage of their person. */
const forgetBatch = 50;

export function createComputerStore({
  store,
  now,
  meters,
}: {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly meters: Meters;
}): ComputerStore {
  function* find(tx: SharedReader, id: string): Op<ComputerRow | null> {
    return (yield* tx.get<ComputerRow>(selectOne, id)) ?? null;
  }

  function* append(
    tx: SharedTx,
    id: string,
    type: HostedEvent['type'],
    data: Readonly<Record<string, unknown>>,
  ): Op<void> {
    yield* tx.run('UPDATE hosted_computer SET next_event = next_event + 1 WHERE id = ?', id);
    const next = (yield* tx.get<{ next: number }>('SELECT next_event AS next FROM hosted_computer WHERE id = ?', id))!;
    const insert = 'INSERT INTO hosted_event (computer_id, event_index, type, at, data) VALUES (?, ?, ?, ?, ?)';
    yield* tx.run(insert, id, next.next - 1, type, now(), JSON.stringify(data));
    tx.afterCommit(() => store.wake.signal(topicOf(id)));
  }

  function* makeRoom(tx: SharedReader, keyId: string | null, room: Room): Op<void> {
    const count = `SELECT count(*) AS n FROM hosted_computer WHERE ${phaseIn(awake)}`;
    const all = (yield* tx.get<{ n: number }>(count))!;
    const ofKey = keyId === null ? null : (yield* tx.get<{ n: number }>(`${count} AND key_id = ?`, keyId))!;
    if (ofKey !== null && ofKey.n >= room.ofKey) throw tooMany('computers awake', room.ofKey);
    if (all.n >= room.running) throw poolFull(room.running);
  }

  return {
    find,
    append,
    get: (id) => store.read((tx) => find(tx, id)),
    list: ({ projectId, status, after, limit }) => {
      const phases = status === undefined ? kept : status === 'running' ? (['running', 'sleeping'] as const) : [status];
      const behind = after === null ? '' : 'AND (created_at, id) < (?, ?)';
      // The expression hides the phases from the planner, which would otherwise use an index over everybody's.
      const inPhases = phaseIn(phases).replace('phase', "phase || ''");
      const sql = `SELECT ${columns} FROM hosted_computer WHERE project_id = ? AND ${inPhases} ${behind}
        AND phase <> 'deleted' ORDER BY created_at DESC, id DESC LIMIT ?`;
      const place: Value[] = after === null ? [] : [after.at, after.id];
      return store.all<ComputerRow>(sql, projectId, ...place, limit);
    },
    there: () => store.all<ComputerRow>(`SELECT ${columns} FROM hosted_computer WHERE phase <> 'deleted' ORDER BY id`),
    idle: (since) =>
      store.all<ComputerRow>(
        `SELECT ${columns} FROM hosted_computer AS computer WHERE phase = 'running' AND used_at <= ?
          AND NOT EXISTS (SELECT 1 FROM hosted_call WHERE computer_id = computer.id AND until > ?)`,
        since,
        now(),
      ),
    *underWay(tx, id) {
      const sql = 'SELECT 1 AS one FROM hosted_call WHERE computer_id = ? AND until > ? LIMIT 1';
      return (yield* tx.get(sql, id, now())) !== undefined;
    },
    left: async () => {
      const sql = `SELECT id FROM hosted_computer WHERE phase = 'deleted' AND removed_at IS NULL ORDER BY id`;
      return (await store.all<{ id: string }>(sql)).map(({ id }) => id);
    },
    async removed(id) {
      const sql = `UPDATE hosted_computer SET removed_at = ? WHERE id = ? AND phase = 'deleted'`;
      await store.write((tx) => tx.run(sql, now(), id));
    },
    countAwake: async () =>
      (await store.get<{ n: number }>(
        // By the index of those that are there: deleted ones are many more.
        `SELECT count(*) AS n FROM hosted_computer WHERE phase <> 'deleted' AND ${phaseIn(awake)}`,
      ))!.n,
    create: (computer, room) =>
      store.write(function* (tx) {
        const { id, keyId, name, toolset, egress, image, memory, processes, lifetime } = computer;
        yield* makeRoom(tx, keyId, room);
        const at = now();
        yield* tx.run(
          `INSERT INTO hosted_computer (id, project_id, user_id, key_id, account_id, name, metadata, toolset, egress, image, memory,
            processes, lifetime, sleep_keeps, phase, starts, created_at, used_at, next_event)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'provisioning', 0, ?, ?, 0)`,
          ...[id, computer.projectId, computer.userId, keyId, computer.accountId, name, computer.metadata],
          ...[toolset, egress, image, memory, processes, lifetime, computer.sleepKeeps, at, at],
        );
        yield* append(tx, id, 'computer.created', { name, key_id: keyId });
        return (yield* find(tx, id))!;
      }),
    *move(tx, id, name, { prices, until, data = {}, room }) {
      const { from, to, event } = moves[name];
      const before = yield* find(tx, id);
      if (before === null || !from.includes(before.phase)) return null;
      if (room !== undefined) yield* makeRoom(tx, before.keyId, room);
      const at = now();
      if (before.phase === 'running') yield* meters.minutes(tx, before, Math.min(at, until ?? at), prices, 'last');
      const runs = to === 'running';
      // Matches the phase that was read: PostgreSQL evaluates this again if somebody else moved it in the meantime.
      yield* tx.run(
        `UPDATE hosted_computer SET phase = ?, metered_at = ?, used_at = CASE WHEN ? = 1 THEN ? ELSE used_at END,
          starts = starts + ?, started_at = CASE WHEN ? = 1 THEN ? ELSE started_at END,
          ended_at = CASE WHEN ? = 1 THEN ? ELSE ended_at END WHERE id = ? AND ${phaseIn(from)}`,
        ...[to, runs ? at : null, runs ? 1 : 0, at, name === 'ready' ? 1 : 0, name === 'ready' ? 1 : 0, at],
        ...[name === 'delete' ? 1 : 0, at, id],
      );
      if (event !== null) yield* append(tx, id, event, data);
      return yield* find(tx, id);
    },
    events: async (id, after, limit) => {
      const sql = `SELECT event_index AS "index", type, at, data FROM hosted_event
        WHERE computer_id = ? AND event_index > ? ORDER BY event_index LIMIT ?`;
      const rows = await store.all<{ index: number; type: HostedEvent['type']; at: number; data: string }>(
        ...([sql, id, after, limit] as const),
      );
      return rows.map(({ index, type, at, data }) => ({
        index,
        type,
        computer_id: id,
        at: iso(at),
        data: JSON.parse(data) as Record<string, unknown>,
      }));
    },
    async forget(before) {
      for (;;) {
        // Keeps one that its driver may still have: nobody else would remove it.
        const sql = `SELECT id FROM hosted_computer WHERE phase = 'deleted' AND removed_at IS NOT NULL AND ended_at < ?
          LIMIT ${forgetBatch}`;
        const gone = await store.all<{ id: string }>(sql, before);
        for (const { id } of gone) {
          await store.write(function* (tx) {
            for (const table of ['hosted_event', 'hosted_meter', 'hosted_approval', 'hosted_call']) {
              yield* tx.run(`DELETE FROM ${table} WHERE computer_id = ?`, id);
            }
            yield* tx.run('DELETE FROM hosted_computer WHERE id = ?', id);
          });
        }
        if (gone.length < forgetBatch) return;
      }
    },
  };
}
