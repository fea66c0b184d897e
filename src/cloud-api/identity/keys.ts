/**
 * API keys for a person's programs, with scopes, an expiry and a name, stored only as a hash. Two of one name may be
 * valid at once, so that a new one can take over. Must not know routes.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { AppError } from '../../contracts/common/errors.ts';
import type { Scope } from '../../contracts/common/route.ts';
import type { KeyTools } from '../../contracts/identity/keys.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bearerOf } from '../../kit/http/principals.ts';
import type { Authenticator, Principal } from '../../kit/http/types.ts';
import { createRowCache } from '../../kit/store/row-cache.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Changes } from './changes.ts';
import { digestOf } from './model.ts';
import { decoded, writtenPath } from './resource.ts';

export interface KeyRow {
  readonly id: string;
  readonly digest: string;
  readonly user_id: string;
  readonly name: string;
  readonly prefix: string;
  /** Separated by spaces. */
  readonly scopes: string;
  /** The only path that it opens, decoded; null: its scopes decide. */
  readonly resource: string | null;
  /** JSON of `KeyTools`; null: all tools. */
  readonly tools: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
}

interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresInDays?: number | undefined;
  readonly resource?: string | undefined;
  readonly tools?: KeyTools | undefined;
}

export interface Keys {
  readonly authenticator: Authenticator;
  /** Throws 409 if two of that name are valid already. Nothing is stored when `dryRun`. */
  create(userId: string, key: NewKey, dryRun?: boolean): Promise<{ row: KeyRow; secret: string }>;
  /** `null` if there is no such key. Revoking again has no effect. */
  revoke(id: string): Promise<KeyRow | null>;
  /** It was revoked in another process. */
  ended(id: string, digest: string): void;
  get(id: string): Promise<KeyRow | null>;
  /** Newest first; revoked ones only `withRevoked`. */
  list(userId: string | null, withRevoked?: boolean): Promise<KeyRow[]>;
}

const dayMs = 24 * 60 * 60_000;
/** Use is recorded at most this often. */
const touchMs = 60_000;
const maxPerName = 2;
const columns =
  'id, digest, user_id, name, prefix, scopes, resource, tools, created_at, expires_at, last_used_at, revoked_at' as const;

interface Live {
  readonly row: KeyRow;
  readonly principal: Principal;
  usedAt: number;
}

export function createKeys(deps: {
  readonly store: SharedStore;
  readonly clock: { now(): number };
  readonly ids: { next(prefix: string): string };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  readonly onEnded: (keyId: string) => void;
  readonly changes: Pick<Changes, 'note' | 'age'>;
  readonly random?: (bytes: number) => Buffer;
}): Keys {
  const { store, clock, ids, log, onEnded, changes, random = randomBytes } = deps;
  const live = createRowCache<Live>(async (digest) => {
    const row = await store.get<KeyRow>(`SELECT ${columns} FROM api_key WHERE digest = ?`, digest);
    if (row === undefined) return null;
    const scopes = new Set(row.scopes.split(' ') as Scope[]);
    const expiresAt = row.expires_at ?? undefined;
    const tools = row.tools === null ? {} : { tools: JSON.parse(row.tools) as KeyTools };
    const { user_id: userId, id: keyId } = row;
    const principal: Principal = { kind: 'key', userId, scopes, via: 'key', keyId, expiresAt, ...tools };
    return { row, principal, usedAt: row.last_used_at ?? 0 };
  }, changes);

  // A worker sends the same key again and again on its connection: the digest is computed once, its rights are looked up each time.
  const sent = new WeakMap<Socket, { readonly text: string; readonly digest: string }>();

  function admit(key: Live | null, url: string | undefined): Principal {
    if (key === null) throw refused('This API key is not known here.', 'Make another one in the settings.');
    const now = clock.now();
    const { expires_at: expiresAt, revoked_at: revokedAt, digest, resource } = key.row;
    if (revokedAt !== null) throw refused(`This API key was revoked on ${iso(revokedAt)}.`, 'Use another one.');
    if (expiresAt !== null && expiresAt <= now) {
      throw refused(`This API key expired on ${iso(expiresAt)}.`, 'Make another one in the settings.');
    }
    // On any other path it counts as unknown, like a token for another audience.
    if (resource !== null && decoded(writtenPath(url)) !== resource) {
      throw refused(`This API key is only for ${resource}.`, 'Use another one here.');
    }
    if (key.usedAt < now - touchMs) {
      key.usedAt = now;
      store
        .write(function* (tx) {
          yield* tx.run('UPDATE api_key SET last_used_at = ? WHERE digest = ?', now, digest);
        })
        .catch((error) => log.warn('key use not kept', { error: String(error) }));
    }
    return key.principal;
  }

  return {
    authenticator: {
      name: 'key',
      authenticate(request) {
        const text = bearerOf(request);
        if (text === null) return null;
        const before = sent.get(request.socket);
        if (before?.text !== text && !isKeyText(text)) return null;
        const digest = before?.text === text ? before.digest : digestOf(text);
        if (digest !== before?.digest) sent.set(request.socket, { text, digest });
        const known = live.peek(digest);
        if (known !== undefined) return admit(known, request.url);
        if (readKeyText(text) === 'damaged') throw refused('The API key is mistyped.', 'Copy the whole key.');
        return live.load(digest).then((key) => admit(key, request.url));
      },
    },
    async create(userId, { name, scopes, expiresInDays, resource = null, tools }, dryRun = false) {
      const secret = newKeyText(random);
      const now = clock.now();
      const row: KeyRow = {
        id: ids.next('key'),
        digest: digestOf(secret),
        user_id: userId,
        name,
        prefix: keyPrefix(secret),
        scopes: [...new Set(scopes)].join(' '),
        resource,
        tools: tools === undefined ? null : JSON.stringify(tools),
        created_at: now,
        expires_at: expiresInDays === undefined ? null : now + expiresInDays * dayMs,
        last_used_at: null,
        revoked_at: null,
      };
      await store.write(function* (tx) {
        const sql = `SELECT count(*) AS live FROM api_key WHERE user_id = ? AND name = ? AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > ?)`;
        const alive = yield* tx.get<{ live: number }>(sql, userId, name, now);
        if (alive!.live >= maxPerName) throw tooMany(name);
        if (dryRun) return;
        const { id, digest, prefix, scopes: list, created_at, expires_at } = row;
        yield* tx.run(
          `INSERT INTO api_key (id, digest, user_id, name, prefix, scopes, resource, tools, created_at, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          ...[id, digest, userId, name, prefix, list, resource, row.tools, created_at, expires_at],
        );
      });
      return { row, secret };
    },
    async revoke(id) {
      const row = await store.write(function* (tx) {
        yield* tx.run('UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', clock.now(), id);
        const found = (yield* tx.get<KeyRow>(`SELECT ${columns} FROM api_key WHERE id = ?`, id)) ?? null;
        if (found !== null) yield* changes.note(tx, { kind: 'key', id, digest: found.digest, over: true });
        return found;
      });
      if (row === null) return null;
      live.forget(row.digest);
      onEnded(row.id);
      return row;
    },
    ended(id, digest) {
      live.forget(digest);
      onEnded(id);
    },
    get: async (id) => (await store.get<KeyRow>(`SELECT ${columns} FROM api_key WHERE id = ?`, id)) ?? null,
    list: (userId, withRevoked = false) => {
      const which = [userId === null ? null : 'user_id = ?', withRevoked ? null : 'revoked_at IS NULL'];
      const where = which.filter((part) => part !== null).join(' AND ');
      const sql = `SELECT ${columns} FROM api_key ${where === '' ? '' : `WHERE ${where}`} ORDER BY created_at DESC, id DESC`;
      return store.all<KeyRow>(sql, ...(userId === null ? [] : [userId]));
    },
  };
}

function tooMany(name: string): AppError {
  return new AppError(
    'refused',
    `There are already two live keys named ${JSON.stringify(name)}.`,
    'Revoke one of them, or choose another name.',
    { status: 409, wireCode: 'too_many_keys' },
  );
}

function refused(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 401, wireCode: 'unauthorized' });
}

/**
 * The text of an API key: `gantry_`, 24 random bytes, a checksum of 6 characters. Scanners for leaked secrets and our
 * own log filter recognise it, and a mistyped key is refused without a look into the store. Pure.
 */
const prefix = 'gantry_';
const pattern = /^gantry_([A-Za-z0-9_-]{32})([A-Za-z0-9_-]{6})$/;
/** Characters that are stored and shown, to tell keys apart: 48 of 192 bits. */
const shown = prefix.length + 8;

function checksumOf(body: string): string {
  return hash('sha256', `key:${body}`, 'base64url').slice(0, 6);
}

function newKeyText(random: (bytes: number) => Buffer): string {
  const body = random(24).toString('base64url');
  return `${prefix}${body}${checksumOf(body)}`;
}

/** Whether it looks like a key, whatever its checksum. */
const isKeyText = (text: string): boolean => text.startsWith(prefix) && pattern.test(text);

/** `damaged`: it looks like a key, but its checksum is wrong. */
function readKeyText(text: string): 'key' | 'damaged' | 'other' {
  const match = pattern.exec(text);
  if (match === null) return 'other';
  return checksumOf(match[1]!) === match[2] ? 'key' : 'damaged';
}

function keyPrefix(text: string): string {
  return text.slice(0, shown);
}
