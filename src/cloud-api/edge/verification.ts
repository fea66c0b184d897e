/**
 * Verifies that an address wants deliveries: a signed challenge that it must echo before the first one. The result is kept for a week for each app
 * and address. Owns `edge_verified`; must not know subscriptions.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { maxTtlMs } from '../../contracts/tool-server/mcp-events.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Poster, PostFault } from './post.ts';

interface Challenged {
  readonly userId: string;
  readonly clientId: string;
  readonly url: string;
  readonly subscriptionId: string;
  readonly key: Buffer;
}

export type VerificationFault = Exclude<PostFault, 'http_4xx' | 'http_5xx'> | 'challenge_failed' | 'too_often';

export interface Verification {
  /** Null: it is verified. */
  verify(challenged: Challenged): Promise<VerificationFault | null>;
  forget(now: number): Promise<void>;
}

/** Limits per minute, for one destination and for one app, so that nobody uses us to probe addresses. An app may start with its whole limit. */
const maxPerHost = 300;
const maxPerApp = 120;
const windowMs = 60_000;
const knownMs = maxTtlMs;

export function createVerification({
  store,
  clock,
  ids,
  poster,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly poster: Poster;
}): Verification {
  const tries = new Map<string, number>();
  let windowEnds = Number.NEGATIVE_INFINITY;

  /** Attempts within a minute, in this process. */
  function tooOften(name: string, max: number): boolean {
    if (clock.monotonic() >= windowEnds) {
      tries.clear();
      windowEnds = clock.monotonic() + windowMs;
    }
    const count = (tries.get(name) ?? 0) + 1;
    tries.set(name, count);
    return count > max;
  }

  async function challenge({ url, subscriptionId, key }: Challenged): Promise<VerificationFault | null> {
    const word = randomBytes(24).toString('base64url');
    const body = { type: 'verification', challenge: word };
    const messageId = ids.next('msg_verification');
    const posted = await poster.post({ url, subscriptionId, messageId, keys: [key], body });
    if (!posted.answered) return posted.fault;
    const right = posted.status >= 200 && posted.status < 300 && isSame(echoOf(posted.body), word);
    return right ? null : 'challenge_failed';
  }

  return {
    async verify(challenged) {
      const { userId, clientId, url } = challenged;
      const place = [userId, clientId, hash('sha256', url, 'hex')];
      const sql =
        'SELECT 1 AS known FROM edge_verified WHERE user_id = ? AND client_id = ? AND url_hash = ? AND verified_at > ?';
      if ((await store.get(sql, ...place, clock.now() - knownMs)) !== undefined) return null;
      if (tooOften(`app ${userId} ${clientId}`, maxPerApp) || tooOften(`host ${new URL(url).host}`, maxPerHost)) {
        return 'too_often';
      }
      const fault = await challenge(challenged);
      if (fault !== null) return fault;
      const known = `INSERT INTO edge_verified (user_id, client_id, url_hash, verified_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (user_id, client_id, url_hash) DO UPDATE SET verified_at = excluded.verified_at`;
      await store.write((tx) => tx.run(known, ...place, clock.now()), { isolation: 'statement' });
      return null;
    },
    async forget(now) {
      const which = `SELECT user_id, client_id, url_hash FROM edge_verified WHERE verified_at < ? LIMIT ${portion}`;
      const sql = `DELETE FROM edge_verified WHERE (user_id, client_id, url_hash) IN (${which})`;
      await removePortions(store, sql, now - knownMs);
    },
  };
}

function echoOf(body: Buffer): string {
  try {
    const echo = (JSON.parse(body.toString('utf8')) as { challenge?: unknown } | null)?.challenge;
    return typeof echo === 'string' ? echo : '';
  } catch {
    return '';
  }
}

function isSame(given: string, word: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(word)];
  return one.length === other.length && timingSafeEqual(one, other);
}
