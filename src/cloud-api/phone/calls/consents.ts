/**
 * Who agreed to be called by a number, and how: an append-only log. Consent to calls allows no texts and lifts no STOP. Owns `phone_consent`; must
 * not know calls under way.
 */
import type { Consent } from '../../../contracts/phone/calls.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Asked, Op, SharedReader } from '../../../kit/store/shared-store.ts';
import type { PartDeps } from '../part.ts';
import type { Consents, Numbers, OptOuts } from '../ports.ts';

export interface ConsentsDeps extends Pick<PartDeps, 'clock' | 'ids'> {
  readonly numbers: Pick<Numbers, 'read'>;
  readonly optOuts: Pick<OptOuts, 'hasTexted'>;
  /** The phone that this person has confirmed as their own; null: none. */
  readonly ownPhone: (tx: SharedReader, userId: string) => Asked<{ readonly e164: string } | null>;
}

interface ConsentRow {
  readonly id: string;
  readonly e164: string;
  readonly source: string;
  readonly evidence: string;
  readonly at: number;
}

export interface ConsentLog extends Consents {
  /** Newest first, after a place. */
  list(
    tx: SharedReader,
    asked: {
      readonly numberId: string;
      readonly e164: string | null;
      readonly after: { readonly at: number; readonly id: string } | null;
      readonly limit: number;
    },
  ): Op<readonly (ConsentRow & { readonly created_at: number })[]>;
}

/** Only the source that approving a transfer target leaves. */
export const targetSource = 'owner_transfer_target';
/** Caller ids can be forged: without a carrier's attestation, a call counts only if somebody stayed on it for this long. */
const stayedMs = 5_000;

export const toConsent = ({ id, e164, source, evidence, at }: ConsentRow): Consent => ({
  id,
  e164,
  source,
  evidence,
  at: iso(at),
});

export function createConsents({ clock, ids, numbers, optOuts, ownPhone }: ConsentsDeps): ConsentLog {
  function* hasCalled(tx: SharedReader, numberId: string, e164: string): Op<boolean> {
    const sql = `SELECT 1 AS found FROM phone_call WHERE number_id = ? AND peer = ? AND direction = 'in' AND (attestation IN ('A', 'B')
      OR (answered_at IS NOT NULL AND coalesce(ended_at, ?) - answered_at >= ?)) LIMIT 1`;
    return (yield* tx.get(sql, numberId, e164, clock.now(), stayedMs)) !== undefined;
  }

  return {
    *record(tx, { numberId, e164, source, evidence }) {
      const id = ids.next('consent');
      const at = clock.now();
      const sql = 'INSERT INTO phone_consent (id, number_id, e164, source, evidence, at) VALUES (?, ?, ?, ?, ?, ?)';
      yield* tx.run(sql, id, numberId, e164, source, evidence, at);
      return { id, at };
    },
    *basisFor(tx, numberId, e164) {
      if (yield* optOuts.hasTexted(tx, numberId, e164)) return 'inbound_text';
      if (yield* hasCalled(tx, numberId, e164)) return 'inbound_call';
      const sql = `SELECT max(CASE WHEN source = '${targetSource}' THEN 0 ELSE 1 END) AS explicit FROM phone_consent
        WHERE number_id = ? AND e164 = ?`;
      const explicit = (yield* tx.get<{ explicit: number | null }>(sql, numberId, e164))?.explicit ?? null;
      if (explicit !== null && Number(explicit) === 1) return 'explicit';
      const number = yield* numbers.read(tx, numberId);
      if (number !== null && (yield* ownPhone(tx, number.userId))?.e164 === e164) return 'owner_directed';
      return explicit === null ? null : 'owner_transfer_target';
    },
    *list(tx, { numberId, e164, after, limit }) {
      const filters = [
        'number_id = ?',
        ...(e164 === null ? [] : ['e164 = ?']),
        ...(after === null ? [] : ['(at, id) < (?, ?)']),
      ];
      const values = [numberId, ...(e164 === null ? [] : [e164]), ...(after === null ? [] : [after.at, after.id])];
      const sql = `SELECT id, e164, source, evidence, at, at AS created_at FROM phone_consent WHERE ${filters.join(' AND ')}
        ORDER BY at DESC, id DESC LIMIT ?`;
      return yield* tx.all<ConsentRow & { created_at: number }>(sql, ...values, limit);
    },
  };
}
