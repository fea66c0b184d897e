/**
 * What the cloud listens for: one registration for each subscription of a computer, with its callback's key and its secrets, sealed. A new secret is
 * valid at once, and the previous one stays valid for an hour. Must not know events.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import { webhookKey } from '../../kit/signing/webhook.ts';
import type { Fragment, Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { SubscriptionName } from './receipts.ts';

export interface Registration extends SubscriptionName {
  readonly userId: string;
  readonly keyHash: string;
  /** The secrets that are valid at a time (milliseconds since the epoch). */
  keysAt(now: number): Buffer[];
}

export interface Registrations {
  /** Returns the key of its callback, which stays the same while it is registered. Throws `usage` for an invalid secret. */
  put(
    name: SubscriptionName,
    given: {
      readonly userId: string;
      readonly secret: string;
      readonly connectorId: string;
      readonly eventName: string;
    },
  ): Promise<string>;
  remove(tx: SharedTx, name: SubscriptionName): Op<void>;
  /** Null: nobody listens there. Reads from memory unless `fresh`; {@link existing} tells whether it still holds. */
  find(key: string, fresh?: boolean): Promise<Registration | null>;
  /** Finds a registered row, which stays until the caller's transaction has ended. `ended`: also finds a row that its server has ended. */
  existing(registration: Registration, ended?: 'ended'): Fragment<typeof stillThere>;
  /** Its server sends no more: nothing is accepted until it is registered again. */
  end(tx: SharedTx, registration: Registration): Op<void>;
  has(tx: SharedReader, name: SubscriptionName): Op<boolean>;
  /** Removes subscriptions of a computer that are not this person's; null: all. */
  ofOthers(tx: SharedReader, computerId: string, userId: string | null): Op<readonly SubscriptionName[]>;
  /** Computers with at least one registration. */
  computers(): Promise<readonly string[]>;
  /** Counts one more dropped event. False: the registration is gone. */
  expire(tx: SharedTx, name: SubscriptionName): Op<boolean>;
  /** How many dropped events to report to its computer; the number stays the same until {@link told}. Null: nothing to report. */
  notice(tx: SharedTx, name: SubscriptionName): Op<Notice | null>;
  /** Returns whether more were dropped in the meantime. */
  told(tx: SharedTx, name: SubscriptionName, notice: Notice): Op<boolean>;
}

export interface Notice {
  readonly id: string;
  readonly count: number;
}

interface Row {
  readonly computer_id: string;
  readonly subscription_id: string;
  readonly user_id: string;
  readonly key: string;
  readonly secrets: string;
}

/** `until`: null for the newest. */
interface Secret {
  readonly secret: string;
  readonly until: number | null;
}

/** A server may sign with the secret that was replaced until it has learned of the new one. */
const supersededRetentionMs = 60 * 60_000;
/** A computer that cannot reach its server may register a new secret each minute; each one costs a signature comparison for every post. */
const maxSecrets = 64;
const maxRegistrations = 1000;
/** Limit of the cache. */
const maxKnown = 10_000;
const keyBytes = 32;

const select = 'SELECT computer_id, subscription_id, user_id, key, secrets FROM connector_registration';
const there = 'SELECT 1 AS found FROM connector_registration WHERE key_hash = ?';
const live = `${there} AND ended_at IS NULL`;
const stillThere = { sqlite: there, postgres: `${there} FOR KEY SHARE` };
const stillLive = { sqlite: live, postgres: `${live} FOR KEY SHARE` };

export function createRegistrations({
  store,
  sealer,
  clock,
}: {
  readonly store: SharedStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
}): Registrations {
  /**
   * Cache by the hash of the key. Callers that need certainty read afresh. Nobody announces a secret that another replica replaced, so an entry is
   * used no longer than the replaced secret stays valid.
   */
  const known = new Map<string, { readonly registration: Registration; readonly until: number }>();
  const place = (what: string, { computerId, subscriptionId }: SubscriptionName) =>
    `connector_registration|${what}|${computerId}/${subscriptionId}`;

  const secretsOf = (row: Row): readonly Secret[] =>
    JSON.parse(sealer.open(place('secrets', nameOf(row)), row.secrets)) as Secret[];

  function toRegistration(row: Row, keyHash: string): Registration {
    const secrets = secretsOf(row).map(({ secret, until }) => ({ key: webhookKey(secret) as Buffer, until }));
    return {
      ...nameOf(row),
      userId: row.user_id,
      keyHash,
      keysAt: (now) => secrets.filter(({ until }) => until === null || until > now).map(({ key }) => key),
    };
  }

  return {
    async put(name, { userId, secret, connectorId, eventName }) {
      if (webhookKey(secret) === null) {
        throw new AppError(
          'usage',
          'body.secret must be whsec_ and the base64 of 24 to 64 bytes.',
          'Make another one.',
          {
            wireCode: 'bad_request',
          },
        );
      }
      const { computerId, subscriptionId } = name;
      const now = clock.now();
      const seal = (secrets: readonly Secret[]) => sealer.seal(place('secrets', name), JSON.stringify(secrets));
      const { key, keyHash } = await store.write(function* (tx) {
        const row = yield* tx.get<Row>(
          `${select} WHERE computer_id = ? AND subscription_id = ?`,
          computerId,
          subscriptionId,
        );
        if (row !== undefined) {
          const kept = sealer.open(place('key', name), row.key);
          const sql = `UPDATE connector_registration SET user_id = ?, connector_id = ?, event_name = ?, secrets = ?, updated_at = ?,
            ended_at = NULL WHERE computer_id = ? AND subscription_id = ?`;
          const secrets = seal(superseded(secretsOf(row), secret, now));
          yield* tx.run(sql, userId, connectorId, eventName, secrets, now, computerId, subscriptionId);
          return { key: kept, keyHash: hashOf(kept) };
        }
        yield* checkRoom(tx, computerId);
        const made = randomBytes(keyBytes).toString('hex');
        const sql = `INSERT INTO connector_registration (computer_id, subscription_id, user_id, connector_id, event_name, key_hash, key,
          secrets, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
        const sealed = [sealer.seal(place('key', name), made), seal([{ secret, until: null }])];
        yield* tx.run(
          sql,
          computerId,
          subscriptionId,
          userId,
          connectorId,
          eventName,
          hashOf(made),
          ...sealed,
          now,
          now,
        );
        return { key: made, keyHash: hashOf(made) };
      });
      known.delete(keyHash);
      return key;
    },
    *remove(tx, { computerId, subscriptionId }) {
      const sql = 'DELETE FROM connector_registration WHERE computer_id = ? AND subscription_id = ? RETURNING key_hash';
      const gone = yield* tx.get<{ key_hash: string }>(sql, computerId, subscriptionId);
      if (gone !== undefined) tx.afterCommit(() => known.delete(gone.key_hash));
    },
    async find(key, fresh = false) {
      const keyHash = hashOf(key);
      const now = clock.now();
      const remembered = fresh ? undefined : known.get(keyHash);
      if (remembered !== undefined && remembered.until > now) return remembered.registration;
      const row = await store.get<Row>(`${select} WHERE key_hash = ?`, keyHash);
      if (row === undefined) {
        known.delete(keyHash);
        return null;
      }
      const registration = toRegistration(row, keyHash);
      if (known.size >= maxKnown) known.clear();
      known.set(keyHash, { registration, until: now + supersededRetentionMs });
      return registration;
    },
    existing: ({ keyHash }, ended) => ({ sql: ended === 'ended' ? stillThere : stillLive, values: [keyHash] }),
    *end(tx, { keyHash }) {
      yield* tx.run('UPDATE connector_registration SET ended_at = ? WHERE key_hash = ?', clock.now(), keyHash);
    },
    *has(tx, name) {
      const sql = `SELECT 1 AS found FROM connector_registration ${ofOne}`;
      return (yield* tx.get(sql, ...idsOf(name))) !== undefined;
    },
    *ofOthers(tx, computerId, userId) {
      const sql = 'SELECT subscription_id AS id FROM connector_registration WHERE computer_id = ? AND user_id <> ?';
      const rows = yield* tx.all<{ id: string }>(sql, computerId, userId ?? '');
      return rows.map(({ id }) => ({ computerId, subscriptionId: id }));
    },
    async computers() {
      const sql = 'SELECT DISTINCT computer_id AS id FROM connector_registration';
      return (await store.all<{ id: string }>(sql)).map(({ id }) => id);
    },
    *expire(tx, name) {
      const sql = `UPDATE connector_registration SET expired = expired + 1 ${ofOne}`;
      return (yield* tx.run(sql, ...idsOf(name))).changes === 1;
    },
    *notice(tx, name) {
      const columns = 'expired, notice_id AS id, notice_count AS count';
      const row = yield* tx.get<{ expired: number; id: string | null; count: number }>(
        `SELECT ${columns} FROM connector_registration ${ofOne}`,
        ...idsOf(name),
      );
      if (row === undefined) return null;
      if (row.id !== null) return { id: row.id, count: row.count };
      if (row.expired === 0) return null;
      const notice = { id: randomUUID(), count: row.expired };
      const sql = `UPDATE connector_registration SET expired = 0, notice_id = ?, notice_count = ? ${ofOne}`;
      yield* tx.run(sql, notice.id, notice.count, ...idsOf(name));
      return notice;
    },
    *told(tx, name, { id }) {
      const sql = `UPDATE connector_registration SET notice_id = NULL, notice_count = 0 ${ofOne} AND notice_id = ?
        RETURNING expired`;
      return ((yield* tx.get<{ expired: number }>(sql, ...idsOf(name), id))?.expired ?? 0) > 0;
    },
  };
}

const ofOne = 'WHERE computer_id = ? AND subscription_id = ?';
const idsOf = ({ computerId, subscriptionId }: SubscriptionName) => [computerId, subscriptionId] as const;
const nameOf = (row: Row): SubscriptionName => ({ computerId: row.computer_id, subscriptionId: row.subscription_id });
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');

/** Repeating the same secret changes nothing: a client that missed the response sends it again. */
function superseded(secrets: readonly Secret[], secret: string, now: number): readonly Secret[] {
  const [newest] = secrets;
  if (newest?.secret === secret) return secrets;
  const live = secrets
    .filter((one) => one.secret !== secret && (one.until === null || one.until > now))
    .map((one) => ({ secret: one.secret, until: one.until ?? now + supersededRetentionMs }));
  return [{ secret, until: null }, ...live].slice(0, maxSecrets);
}

function* checkRoom(tx: SharedReader, computerId: string): Op<void> {
  const sql = 'SELECT count(*) AS n FROM connector_registration WHERE computer_id = ?';
  const { n } = (yield* tx.get<{ n: number }>(sql, computerId)) as { n: number };
  if (n < maxRegistrations) return;
  throw new AppError('refused', `This computer already has ${n} subscriptions.`, 'End some of them first.', {
    status: 409,
    wireCode: 'too_many_subscriptions',
  });
}
