/**
 * References for one call each: drawn at random, stored as a hash, bound to number, callee, bot and purpose, valid once within 30 minutes. Owns
 * `phone_call_ref`; must not know how one is used.
 */
import { hash, randomBytes } from 'node:crypto';
import type { ConsentBasis } from '../../../contracts/phone/values.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';

export interface RefRow {
  readonly hash: string;
  readonly kind: 'call' | 'transfer';
  readonly numberId: string;
  readonly userId: string;
  readonly botId: string;
  readonly peer: string;
  readonly purpose: string;
  readonly basis: ConsentBasis;
  /** For a transfer: the call that is handed over. */
  readonly callId: string | null;
  readonly expiresAt: number;
  readonly usedAt: number | null;
  readonly voidAt: number | null;
}

type NewRef = Omit<RefRow, 'hash' | 'expiresAt' | 'usedAt' | 'voidAt'>;

export interface Refs {
  issue(tx: SharedTx, ref: NewRef): Op<{ readonly consentRef: string; readonly expiresAt: number }>;
  /** Null: never issued, too old, or used. Returns void ones, too. */
  find(tx: SharedReader, consentRef: string): Op<RefRow | null>;
  /** False: it was used in between, or is void. */
  use(tx: SharedTx, hash: string): Op<boolean>;
  /** Those of that pair; `peer` null: of the whole number. */
  end(tx: SharedTx, numberId: string, peer: string | null): Op<void>;
  forgetOld(tx: SharedTx, now: number): Op<void>;
}

const goodForMs = 30 * 60_000;
const retentionMs = 24 * 60 * 60_000;
const refBytes = 32;

const hashOf = (consentRef: string) => hash('sha256', consentRef, 'hex');
const select = `SELECT hash, kind, number_id AS "numberId", user_id AS "userId", bot_id AS "botId", peer, purpose, basis,
  call_id AS "callId", expires_at AS "expiresAt", used_at AS "usedAt", void_at AS "voidAt" FROM phone_call_ref`;

export function createRefs(clock: Clock, random: (bytes: number) => Buffer = randomBytes): Refs {
  return {
    *issue(tx, { kind, numberId, userId, botId, peer, purpose, basis, callId }) {
      const consentRef = random(refBytes).toString('base64url');
      const expiresAt = clock.now() + goodForMs;
      yield* tx.run(
        `INSERT INTO phone_call_ref (hash, kind, number_id, user_id, bot_id, peer, purpose, basis, call_id, expires_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[hashOf(consentRef), kind, numberId, userId, botId, peer, purpose, basis, callId, expiresAt],
      );
      return { consentRef, expiresAt };
    },
    *find(tx, consentRef) {
      const sql = `${select} WHERE hash = ? AND used_at IS NULL AND expires_at > ?`;
      return (yield* tx.get<RefRow>(sql, hashOf(consentRef), clock.now())) ?? null;
    },
    *use(tx, hash) {
      const sql = `UPDATE phone_call_ref SET used_at = ? WHERE hash = ? AND used_at IS NULL AND void_at IS NULL AND expires_at > ?`;
      return (yield* tx.run(sql, clock.now(), hash, clock.now())).changes === 1;
    },
    *end(tx, numberId, peer) {
      const sql = 'UPDATE phone_call_ref SET void_at = ? WHERE number_id = ? AND used_at IS NULL AND void_at IS NULL';
      if (peer === null) yield* tx.run(sql, clock.now(), numberId);
      else yield* tx.run(`${sql} AND peer = ?`, clock.now(), numberId, peer);
    },
    *forgetOld(tx, now) {
      yield* tx.run('DELETE FROM phone_call_ref WHERE expires_at < ?', now - retentionMs);
    },
  };
}
