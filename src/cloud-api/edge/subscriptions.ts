/**
 * Rows of subscriptions at the edge: their derived id, life, secrets (sealed; a superseded one stays valid for an hour), and the state of their
 * deliveries. Owns `edge_subscription`; must not know methods, posts or lanes.
 */
import { hash } from 'node:crypto';
import type { EdgeSubscription } from '../../contracts/edge/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';
import type { JsonObject } from '../../kit/mcp/service.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import { webhookKey } from '../../kit/signing/webhook.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { EdgeServer } from './offered-events.ts';
import type { PostFault } from './post.ts';

export interface SubscriptionRow {
  readonly id: string;
  readonly epoch: string;
  readonly user_id: string;
  readonly client_id: string;
  readonly server: EdgeServer;
  readonly event: string;
  /** Canonical JSON. */
  readonly arguments: string;
  readonly url: string;
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly previous_until: number | null;
  readonly since: number;
  readonly expires_at: number;
  /** The message that reports its end is on its way. */
  readonly ended_at: number | null;
  readonly last_delivery_at: number | null;
  readonly last_error: PostFault | null;
  readonly failed_since: number | null;
  /** Attempts of the first message. */
  readonly failures: number;
  readonly given_up_at: number | null;
  /** Something was lost: the `gap` is being sent (`waiting`), or is due before the next event. */
  readonly gap: 'none' | 'waiting' | 'owed';
}

/** The identity of a subscription; no part of it ever changes. */
export interface SubscriptionKey {
  readonly userId: string;
  readonly clientId: string;
  readonly server: EdgeServer;
  readonly event: string;
  readonly arguments: JsonObject;
  readonly url: string;
}

type Life = Pick<SubscriptionRow, 'id' | 'epoch'>;
/** Null in a new subscription. */
type Kept = { readonly before: SubscriptionRow | null } | 'too_many';

export interface Subscriptions {
  get(id: string): Promise<SubscriptionRow | null>;
  find(tx: SharedReader, id: string): Op<SubscriptionRow | null>;
  /** A person's subscriptions, including expired ones and without ended ones. */
  of(userId: string): Promise<readonly SubscriptionRow[]>;
  /** How many other live ones an app has. */
  others(tx: SharedReader, key: SubscriptionKey): Op<number>;
  /** Begins or renews it; a superseded secret stays valid for an hour. */
  put(tx: SharedTx, key: SubscriptionKey, given: { secret: string; expiresAt: number }): Op<Kept>;
  /** The secrets that sign now, the newest first. Throws if the master key does not open them. */
  keysOf(row: SubscriptionRow): readonly Buffer[];
  remove(tx: SharedTx, life: Life): Op<boolean>;
  end(tx: SharedTx, life: Life): Op<void>;
  delivered(tx: SharedTx, life: Life): Op<void>;
  failed(tx: SharedTx, life: Life, fault: PostFault): Op<void>;
  givenUp(tx: SharedTx, life: Life): Op<void>;
  /** Another message is first: its attempts start at zero. */
  nextIsFirst(tx: SharedTx, life: Life): Op<void>;
  /** Notes that something was lost. False: a `gap` is on its way already. */
  lost(tx: SharedTx, life: Life): Op<boolean>;
  /** The outcome of sending the `gap`: `none` is owed any more, or it is due again. */
  toldOfLoss(tx: SharedTx, life: Life, gap: 'none' | 'owed'): Op<void>;
  forget(now: number): Promise<void>;
}

export const maxPerApp = 100;
const overlapMs = 60 * 60_000;
const retentionMs = 7 * 24 * 60 * 60_000;

/** The same whatever the order of the arguments' keys. */
export function subscriptionId({ userId, clientId, server, event, arguments: given, url }: SubscriptionKey): string {
  const text = canonicalJson([userId, clientId, server, url, event, given]);
  return `sub_${hash('sha256', text, 'hex').slice(0, 24)}`;
}

export function isLive({ ended_at, expires_at }: SubscriptionRow, now: number): boolean {
  return ended_at === null && expires_at > now;
}

export function toEdgeSubscription(row: SubscriptionRow, now: number): EdgeSubscription {
  const failing = row.given_up_at === null ? 'active' : 'failing';
  return {
    id: row.id,
    event: row.event,
    arguments: JSON.parse(row.arguments) as Record<string, unknown>,
    server: row.server,
    callbackHost: new URL(row.url).host,
    status: row.expires_at > now ? failing : 'expired',
    refreshBefore: iso(row.expires_at),
    lastDeliveryAt: row.last_delivery_at === null ? null : iso(row.last_delivery_at),
  };
}

export function createSubscriptions({
  store,
  clock,
  ids,
  sealer,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly sealer: Sealer;
}): Subscriptions {
  const byId = 'SELECT * FROM edge_subscription WHERE id = ?';
  const placeOf = (id: string, userId: string) => `edge_subscription|secret|${id}|${userId}`;

  function* find(tx: SharedReader, id: string): Op<SubscriptionRow | null> {
    return (yield* tx.get<SubscriptionRow>(byId, id)) ?? null;
  }

  function* others(tx: SharedReader, key: SubscriptionKey): Op<number> {
    const sql = `SELECT count(*) AS n FROM edge_subscription
      WHERE user_id = ? AND client_id = ? AND id <> ? AND ended_at IS NULL AND expires_at > ?`;
    return (yield* tx.get<{ n: number }>(sql, key.userId, key.clientId, subscriptionId(key), clock.now()))?.n ?? 0;
  }

  function* begin(tx: SharedTx, key: SubscriptionKey, id: string, secret: string, expiresAt: number): Op<void> {
    yield* tx.run('DELETE FROM edge_subscription WHERE id = ?', id);
    yield* tx.run(
      `INSERT INTO edge_subscription
        (id, epoch, user_id, client_id, server, event, arguments, url, secret, since, expires_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, ids.next('epoch'), key.userId, key.clientId, key.server, key.event],
      ...[canonicalJson(key.arguments), key.url, secret, clock.now(), expiresAt],
    );
  }

  /** One change of a subscription within this life. */
  function* change(tx: SharedTx, { id, epoch }: Life, set: string, ...values: (string | number | null)[]): Op<number> {
    return (yield* tx.run(`UPDATE edge_subscription SET ${set} WHERE id = ? AND epoch = ?`, ...values, id, epoch))
      .changes;
  }

  function opened({ id, user_id, secret }: SubscriptionRow): string | null {
    try {
      return sealer.open(placeOf(id, user_id), secret);
    } catch {
      return null;
    }
  }

  return {
    find,
    others,
    get: async (id) => (await store.get<SubscriptionRow>(byId, id)) ?? null,
    of: (userId) =>
      store.all<SubscriptionRow>(
        'SELECT * FROM edge_subscription WHERE user_id = ? AND ended_at IS NULL ORDER BY since, id',
        userId,
      ),
    *put(tx, key, { secret, expiresAt }) {
      const now = clock.now();
      const id = subscriptionId(key);
      const place = placeOf(id, key.userId);
      const row = yield* find(tx, id);
      if (row === null || !isLive(row, now)) {
        if ((yield* others(tx, key)) >= maxPerApp) return 'too_many';
        yield* begin(tx, key, id, sealer.seal(place, secret), expiresAt);
        return { before: null };
      }
      yield* change(tx, row, 'expires_at = ?', expiresAt);
      const known = opened(row);
      if (known === secret) return { before: row };
      // A secret that cannot be opened cannot sign either.
      yield* change(
        tx,
        row,
        'previous_secret = ?, previous_until = ?',
        known === null ? null : row.secret,
        now + overlapMs,
      );
      yield* change(tx, row, 'secret = ?', sealer.seal(place, secret));
      return { before: row };
    },
    keysOf({ id, user_id, secret, previous_secret, previous_until }) {
      const live = [secret, ...(previous_secret !== null && previous_until! > clock.now() ? [previous_secret] : [])];
      return live.map((sealed) => webhookKey(sealer.open(placeOf(id, user_id), sealed))!);
    },
    *remove(tx, { id, epoch }) {
      const sql = 'DELETE FROM edge_subscription WHERE id = ? AND epoch = ?';
      return (yield* tx.run(sql, id, epoch)).changes === 1;
    },
    *end(tx, life) {
      yield* change(tx, life, 'ended_at = ?, failures = 0', clock.now());
    },
    *delivered(tx, life) {
      const set = 'last_delivery_at = ?, last_error = NULL, failed_since = NULL, given_up_at = NULL';
      yield* change(tx, life, set, clock.now());
    },
    *failed(tx, life, fault) {
      const set = 'last_error = ?, failed_since = COALESCE(failed_since, ?), failures = failures + 1';
      yield* change(tx, life, set, fault, clock.now());
    },
    *givenUp(tx, life) {
      yield* change(tx, life, 'given_up_at = ?', clock.now());
    },
    *nextIsFirst(tx, life) {
      yield* change(tx, life, 'failures = 0');
    },
    *lost(tx, { id, epoch }) {
      const sql = `UPDATE edge_subscription SET gap = 'waiting'
        WHERE id = ? AND epoch = ? AND gap <> 'waiting' AND ended_at IS NULL`;
      return (yield* tx.run(sql, id, epoch)).changes === 1;
    },
    *toldOfLoss(tx, life, gap) {
      yield* change(tx, life, 'gap = ?', gap);
    },
    async forget(now) {
      const sql = `DELETE FROM edge_subscription WHERE id IN
        (SELECT id FROM edge_subscription WHERE expires_at < ? LIMIT ${portion})`;
      await removePortions(store, sql, now - retentionMs);
    },
  };
}
