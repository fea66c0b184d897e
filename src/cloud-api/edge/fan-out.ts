/**
 * Queues events for subscriptions: each event once for each subscription that is owed it, over all replicas, claimed in the transaction that queues
 * it, so that none is lost when a replica dies. Owns `edge_claim` and `edge_position`; must not know what a delivery is.
 */

import type { NotifiableEvent } from '../../contracts/events/registry.ts';
import { runWordsIn } from '../../contracts/events/run-words.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { JsonObject } from '../../kit/mcp/service.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { Deliveries } from './deliveries.ts';
import { concerns } from './offered-events.ts';
import type { SubscriptionRow } from './subscriptions.ts';

interface FanOut {
  start(): void;
  close(): Promise<void>;
}

interface Owed {
  readonly seq: number;
  readonly event: string;
  readonly type: NotifiableEvent;
  readonly occurred_at: number;
  readonly stored_at: number;
  readonly data: string;
  readonly subscription: string;
  readonly epoch: string;
  readonly user_id: string;
  readonly server: string;
  readonly arguments: string;
  readonly gap: SubscriptionRow['gap'];
}

/** The delay that a lost wake causes. A SQLite file has one process, which gets every wake itself. */
const pollMs = { sqlite: 60_000, postgres: 3_000 } as const;
const afterFaultMs = 3_000;
/** Longer than any transaction lives and any two replicas' clocks differ: everything stored before that is visible. */
const settledMs = 2 * 60_000;
const batch = 100;
const through = "COALESCE((SELECT through FROM edge_position WHERE name = 'fan-out'), 0)";

export function createFanOut(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  readonly events: { onEmit(listener: () => void): () => void };
  readonly deliveries: Pick<Deliveries, 'queue'>;
}): FanOut {
  const { store, clock, timers, log } = deps;
  let started = false;
  let closed = false;
  let woken = false;
  let running: Promise<void> | null = null;
  let cancelTimer = () => {};

  function look(): void {
    if (!started || closed) return;
    if (running !== null) {
      woken = true;
      return;
    }
    cancelTimer();
    woken = false;
    running = drain()
      .then(
        () => pollMs[store.engine],
        (fault: unknown) => {
          log.warn('Events could not be queued for apps.', { fault: String(fault) });
          return afterFaultMs;
        },
      )
      .then((wait) => {
        running = null;
        if (woken) look();
        else if (!closed) cancelTimer = timers.after(wait, look);
      });
  }

  async function drain(): Promise<void> {
    const began = clock.now();
    // PostgreSQL plans well for a position passed as a value; for one read in the same statement it expects a third of all rows.
    const place = await store.get<{ through: number }>(`SELECT ${through} AS through`);
    // The plus signs keep planners from walking through all stored events.
    const first = 'SELECT min(+seq) AS seq FROM user_event WHERE stored_at > ?';
    let from = (await store.get<{ seq: number | null }>(first, place?.through ?? 0))?.seq ?? null;
    while (from !== null && !closed) {
      const start = from;
      // Claims need no serializable order: of two at once, the second waits for the first and then finds the row taken.
      from = await store.write((tx) => queueFrom(tx, start), { isolation: 'rows' });
    }
    if (!closed) await advance(began - settledMs);
  }

  /**
   * Queues the next unclaimed batch; returns where it ended, or null if nothing was left. The next look finds events that are stored late at a lower
   * place.
   */
  function* queueFrom(tx: SharedTx, place: number): Op<number | null> {
    const rows = yield* tx.all<Owed>(
      `SELECT e.seq, e.id AS event, e.type, e.occurred_at, e.stored_at, e.data, s.id AS subscription, s.epoch,
          s.user_id, s.server, s.arguments, s.gap
        FROM user_event e JOIN edge_subscription s
          ON s.user_id = e.user_id AND s.event = e.type AND s.since <= e.stored_at AND s.expires_at > e.stored_at
        WHERE e.seq >= ? AND +e.stored_at > ${through} AND s.ended_at IS NULL AND NOT EXISTS
          (SELECT 1 FROM edge_claim c WHERE c.subscription_id = s.id AND c.event_id = e.id)
        ORDER BY e.seq, s.id LIMIT ${batch}`,
      place,
    );
    for (const row of rows) yield* queue(tx, row);
    return rows.length < batch ? null : rows.at(-1)!.seq;
  }

  function* queue(tx: SharedTx, row: Owed): Op<void> {
    const claim = `INSERT INTO edge_claim (subscription_id, event_id, stored_at) VALUES (?, ?, ?)
      ON CONFLICT (subscription_id, event_id) DO NOTHING`;
    if ((yield* tx.run(claim, row.subscription, row.event, row.stored_at)).changes === 0) return;
    const data = JSON.parse(row.data) as Record<string, unknown> & { botId?: string };
    if (!concerns({ server: row.server, arguments: JSON.parse(row.arguments) as JsonObject }, data)) return;
    // Says which run it was and how it ended; only its person may see why.
    if (row.type === 'agent.run.completed') data.title = runWordsIn(String(data.title)).name;
    const event = { eventId: row.event, name: row.type, timestamp: iso(row.occurred_at), data };
    const to = { id: row.subscription, epoch: row.epoch, user_id: row.user_id, gap: row.gap };
    yield* deps.deliveries.queue(tx, to, event);
  }

  /** Everything stored until then is queued and not looked at again; its claims are removed a little later. Writes only if something happened. */
  async function advance(to: number): Promise<void> {
    const happened = `SELECT 1 AS found FROM user_event WHERE stored_at > ${through} AND stored_at <= ? LIMIT 1`;
    if ((await store.get(happened, to)) !== undefined) {
      const move = `INSERT INTO edge_position (name, through) VALUES ('fan-out', ?)
        ON CONFLICT (name) DO UPDATE SET through = excluded.through WHERE edge_position.through < excluded.through`;
      await store.write((tx) => tx.run(move, to), { isolation: 'statement' });
    }
    const before = to - settledMs;
    if ((await store.get(`SELECT 1 AS found FROM edge_claim WHERE stored_at <= ? LIMIT 1`, before)) === undefined)
      return;
    const which = `SELECT subscription_id, event_id FROM edge_claim WHERE stored_at <= ? LIMIT ${portion}`;
    const sql = `DELETE FROM edge_claim WHERE (subscription_id, event_id) IN (${which})`;
    await removePortions(store, sql, before);
  }

  const stopListening = deps.events.onEmit(look);
  return {
    start() {
      started = true;
      look();
    },
    async close() {
      closed = true;
      stopListening();
      cancelTimer();
      await running;
    },
  };
}
