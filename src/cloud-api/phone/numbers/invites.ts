/**
 * Invites on a number: each a page for one person, valid for one yes to being called, within seven days. The yes counts once the named phone has sent
 * the code that the page showed. They belong to the number, so they follow it. Must not know how the page looks, or how texts and calls come.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { Invite } from '../../../contracts/phone/number.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PartDeps } from '../part.ts';
import type { Consents, HeldNumber, InviteProofs, Numbers } from '../ports.ts';
import { badRequest } from './model.ts';
import { hashOf } from './store.ts';

export interface Invites extends InviteProofs {
  /** Open or used, newest first. */
  list(numberId: string): Promise<Invite[]>;
  create(numberId: string): Promise<Invite>;
  /** False: it does not exist, or was used. */
  remove(numberId: string, id: string): Promise<boolean>;
  /** Null: used, too old, withdrawn, or unknown. */
  open(token: string): Promise<{ readonly id: string; readonly number: HeldNumber } | null>;
  /** A yes that waits for its code; it replaces an earlier one. Null: the invite is over. */
  ask(
    token: string,
    yes: { readonly e164: string; readonly evidence: string },
  ): Promise<{ readonly code: string; readonly until: number } | null>;
  /** The state of the consent with this code; null when the code is unknown or has expired. */
  outcome(token: string, code: string): Promise<{ readonly state: 'waiting' | 'proven'; readonly e164: string } | null>;
  /** With its number. */
  end(tx: SharedTx, numberId: string): Op<void>;
  forgetOld(now: number): Promise<void>;
}

const tokenBytes = 32;
const goodForMs = 7 * 24 * 60 * 60_000;
/** Used ones stay in the list this long; the consent they gave stays for good. */
const retentionMs = 90 * 24 * 60 * 60_000;
const maxOpen = 50;
/** Time for texting or keying in a code. */
const codeMs = 15 * 60_000;
/** Six digits, so that they are typed without a mistake. The code is no secret from the person who agreed: it ties their yes to their phone. */
const newCode = () => String(randomInt(0, 1_000_000)).padStart(6, '0');

interface Row {
  readonly id: string;
  readonly numberId: string;
  readonly token: string;
  readonly expiresAt: number;
  readonly usedAt: number | null;
  readonly askedE164: string | null;
  readonly code: string | null;
  readonly codeUntil: number | null;
  readonly evidence: string | null;
}

const select = `SELECT id, number_id AS "numberId", token, expires_at AS "expiresAt", used_at AS "usedAt", asked_e164 AS "askedE164", code,
  code_until AS "codeUntil", evidence FROM phone_invite`;
const awaited = 'number_id = ? AND asked_e164 = ? AND used_at IS NULL AND code_until > ? AND expires_at > ?';

export function createInvites(
  deps: Pick<PartDeps, 'store' | 'clock' | 'ids' | 'sealer' | 'origin'> & {
    readonly numbers: Pick<Numbers, 'read' | 'find'>;
    readonly consents: () => Pick<Consents, 'record'>;
    readonly random?: (bytes: number) => Buffer;
  },
): Invites {
  const { store, clock, ids, sealer, origin, numbers, random = randomBytes } = deps;
  const place = (id: string) => `phone_invite|token|${id}`;

  const shown = ({ id, token, expiresAt, usedAt }: Pick<Row, 'id' | 'token' | 'expiresAt' | 'usedAt'>): Invite => ({
    id,
    url: `${origin}/sms/invite/${sealer.open(place(id), token)}`,
    expiresAt: iso(expiresAt),
    usedAt: usedAt === null ? null : iso(usedAt),
  });

  return {
    async list(numberId) {
      const sql = `${select} WHERE number_id = ? AND (used_at IS NOT NULL OR expires_at > ?) ORDER BY created_at DESC, id DESC`;
      return (await store.all<Row>(sql, numberId, clock.now())).map(shown);
    },
    create: (numberId) =>
      store.write(function* (tx) {
        const now = clock.now();
        const count = `SELECT count(*) AS n FROM phone_invite WHERE number_id = ? AND used_at IS NULL AND expires_at > ?`;
        const { n } = (yield* tx.get<{ n: number }>(count, numberId, now))!;
        if (Number(n) >= maxOpen) {
          throw badRequest(`${n} invites of this number are open.`, 'Withdraw one that is no longer needed.');
        }
        const id = ids.next('invite');
        const token = random(tokenBytes).toString('hex');
        const sealed = sealer.seal(place(id), token);
        const expiresAt = now + goodForMs;
        yield* tx.run(
          'INSERT INTO phone_invite (id, number_id, token_hash, token, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
          ...[id, numberId, hashOf(token), sealed, now, expiresAt],
        );
        return shown({ id, token: sealed, expiresAt, usedAt: null });
      }),
    remove: (numberId, id) =>
      store.write(function* (tx) {
        const sql = 'DELETE FROM phone_invite WHERE id = ? AND number_id = ? AND used_at IS NULL';
        return (yield* tx.run(sql, id, numberId)).changes === 1;
      }),
    async open(token) {
      const sql = `${select} WHERE token_hash = ? AND used_at IS NULL AND expires_at > ?`;
      const row = await store.get<Row>(sql, hashOf(token), clock.now());
      const number = row === undefined ? null : await numbers.find(row.numberId);
      return row === undefined || number === null ? null : { id: row.id, number };
    },
    ask: (token, { e164, evidence }) =>
      store.write(function* (tx) {
        const now = clock.now();
        const row = yield* tx.get<Row>(`${select} WHERE token_hash = ?`, hashOf(token));
        if (row === undefined || (yield* numbers.read(tx, row.numberId)) === null) return null;
        // A reloaded page, or a second tick, keeps one code.
        const same = row.askedE164 === e164 && row.code !== null && (row.codeUntil ?? 0) > now;
        const code = same && row.code !== null ? row.code : newCode();
        const until = now + codeMs;
        const sql = `UPDATE phone_invite SET asked_e164 = ?, code = ?, code_until = ?, evidence = ?
          WHERE id = ? AND used_at IS NULL AND expires_at > ?`;
        const { changes } = yield* tx.run(sql, e164, code, until, evidence, row.id, now);
        return changes === 1 ? { code, until } : null;
      }),
    async outcome(token, code) {
      const row = await store.get<Row>(`${select} WHERE token_hash = ? AND code = ?`, hashOf(token), code);
      if (row === undefined || row.askedE164 === null) return null;
      if (row.usedAt !== null) return { state: 'proven', e164: row.askedE164 };
      const now = clock.now();
      const waits = row.expiresAt > now && (row.codeUntil ?? 0) > now && (await numbers.find(row.numberId)) !== null;
      return waits ? { state: 'waiting', e164: row.askedE164 } : null;
    },
    *isAwaited(tx, numberId, e164) {
      const now = clock.now();
      const sql = `SELECT 1 AS found FROM phone_invite WHERE ${awaited} LIMIT 1`;
      return (yield* tx.get(sql, numberId, e164, now, now)) !== undefined;
    },
    *prove(tx, { numberId, e164, code, by }) {
      const now = clock.now();
      const row = yield* tx.get<Row>(`${select} WHERE ${awaited} AND code = ?`, numberId, e164, now, now, code);
      if (row === undefined) return false;
      const sql = 'UPDATE phone_invite SET used_at = ?, used_by = ? WHERE id = ? AND used_at IS NULL';
      if ((yield* tx.run(sql, now, e164, row.id)).changes === 0) return false;
      const evidence = `${row.evidence ?? ''} ${by}`.trim();
      yield* deps.consents().record(tx, { numberId, e164, source: 'invite', evidence });
      return true;
    },
    *end(tx, numberId) {
      yield* tx.run('DELETE FROM phone_invite WHERE number_id = ? AND used_at IS NULL', numberId);
    },
    async forgetOld(now) {
      const sql = `DELETE FROM phone_invite WHERE (used_at IS NULL AND expires_at < ?) OR used_at < ?`;
      await store.write((tx) => tx.run(sql, now, now - retentionMs));
    },
  };
}
