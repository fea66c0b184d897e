/**
 * Invites on a number (gaps.md F): each a page for one person, good for one yes to being called, within seven days. They are the
 * number's, so they follow it. Must not know how the page looks.
 */
import { randomBytes } from 'node:crypto';
import type { Invite } from '../../../contracts/phone/number.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PartDeps } from '../part.ts';
import type { Consents, HeldNumber, Numbers } from '../ports.ts';
import { badRequest } from './model.ts';
import { hashOf } from './store.ts';

export interface InvitesDeps extends Pick<PartDeps, 'store' | 'clock' | 'ids' | 'sealer' | 'origin'> {
  readonly numbers: Pick<Numbers, 'read' | 'find'>;
  readonly consents: () => Pick<Consents, 'record'>;
  readonly random?: (bytes: number) => Buffer;
}

export interface Invites {
  /** Open or used, newest first. */
  list(numberId: string): Promise<Invite[]>;
  create(numberId: string): Promise<Invite>;
  /** False: there is none, or somebody has used it. */
  remove(numberId: string, id: string): Promise<boolean>;
  /** Null: used, too old, withdrawn, or never made. */
  open(token: string): Promise<{ readonly id: string; readonly number: HeldNumber } | null>;
  /** The one yes of it. False: somebody was faster, or it is over. */
  accept(token: string, yes: { readonly e164: string; readonly evidence: string }): Promise<boolean>;
  /** With its number. */
  end(tx: SharedTx, numberId: string): Op<void>;
  forgetOld(now: number): Promise<void>;
}

const tokenBytes = 32;
const goodForMs = 7 * 24 * 60 * 60_000;
/** Used ones stand in the list for as long; the consent they gave stays for good. */
const keptMs = 90 * 24 * 60 * 60_000;
const mostOpen = 50;

interface Row {
  readonly id: string;
  readonly numberId: string;
  readonly token: string;
  readonly expiresAt: number;
  readonly usedAt: number | null;
}

const select = `SELECT id, number_id AS "numberId", token, expires_at AS "expiresAt", used_at AS "usedAt" FROM phone_invite`;

export function createInvites(deps: InvitesDeps): Invites {
  const { store, clock, ids, sealer, origin, numbers, random = randomBytes } = deps;
  const place = (id: string) => `phone_invite|token|${id}`;

  const shown = ({ id, token, expiresAt, usedAt }: Row): Invite => ({
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
        if (Number(n) >= mostOpen) {
          throw badRequest(`${n} invites of this number are open.`, 'Withdraw one that is not needed any more.');
        }
        const id = ids.next('invite');
        const token = random(tokenBytes).toString('hex');
        const sealed = sealer.seal(place(id), token);
        const expiresAt = now + goodForMs;
        yield* tx.run(
          'INSERT INTO phone_invite (id, number_id, token_hash, token, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
          ...[id, numberId, hashOf(token), sealed, now, expiresAt],
        );
        return shown({ id, numberId, token: sealed, expiresAt, usedAt: null });
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
    accept: (token, { e164, evidence }) =>
      store.write(function* (tx) {
        const now = clock.now();
        const row = yield* tx.get<Row>(`${select} WHERE token_hash = ?`, hashOf(token));
        if (row === undefined || (yield* numbers.read(tx, row.numberId)) === null) return false;
        const sql = `UPDATE phone_invite SET used_at = ?, used_by = ? WHERE id = ? AND used_at IS NULL AND expires_at > ?`;
        if ((yield* tx.run(sql, now, e164, row.id, now)).changes === 0) return false;
        yield* deps.consents().record(tx, { numberId: row.numberId, e164, source: 'invite', evidence });
        return true;
      }),
    *end(tx, numberId) {
      yield* tx.run('DELETE FROM phone_invite WHERE number_id = ? AND used_at IS NULL', numberId);
    },
    async forgetOld(now) {
      const sql = `DELETE FROM phone_invite WHERE (used_at IS NULL AND expires_at < ?) OR used_at < ?`;
      await store.write((tx) => tx.run(sql, now, now - keptMs));
    },
  };
}
