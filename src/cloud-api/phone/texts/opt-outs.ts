/**
 * Who said STOP to a number and who wrote to it first: an append-only log, and beside it the current state. Ordered by when it was said, not by when
 * it arrived, because webhooks overtake each other. Must not know texts.
 */
import type { OptOutEntry } from '../../../contracts/phone/texts.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { OptOuts } from '../ports.ts';

export interface Change {
  readonly numberId: string;
  readonly peer: string;
  readonly action: 'stop' | 'start';
  readonly source: OptOutEntry['source'];
  readonly evidence: string | null;
  /** When they said it, milliseconds since the epoch. */
  readonly at: number;
}

/** `same`: no change. `stale`: something newer holds. */
type Changed = 'changed' | 'same' | 'stale';

export interface OptOutLog extends OptOuts {
  /** Logs it, whatever its effect. */
  change(tx: SharedTx, change: Change): Op<{ readonly changed: Changed; readonly entry: OptOutEntry }>;
  texted(tx: SharedTx, numberId: string, peer: string, at: number): Op<void>;
  /** Newest first, after `after`. */
  list(
    tx: SharedReader,
    asked: {
      readonly numberId: string;
      readonly after: { readonly at: number; readonly id: string } | null;
      readonly limit: number;
    },
  ): Op<readonly (EntryRow & { readonly created_at: number })[]>;
  /** When the current state was said; null: nothing was ever said. */
  changedAt(tx: SharedReader, numberId: string, peer: string): Op<number | null>;
}

interface EntryRow {
  readonly id: string;
  readonly peer: string;
  readonly action: 'stop' | 'start';
  readonly source: OptOutEntry['source'];
  readonly evidence: string | null;
  readonly at: number;
}

interface Held {
  readonly optedOut: number;
  readonly changedAt: number;
  readonly firstTextAt: number | null;
}

const maxEvidenceLength = 2000;

export function createOptOuts({ ids }: { ids: Ids }): OptOutLog {
  const select =
    'SELECT opted_out AS "optedOut", changed_at AS "changedAt", first_text_at AS "firstTextAt" FROM phone_contact WHERE number_id = ? AND peer = ?';

  function* held(tx: SharedReader, numberId: string, peer: string): Op<Held | undefined> {
    return yield* tx.get<Held>(select, numberId, peer);
  }

  return {
    *isOptedOut(tx, numberId, peer) {
      return (yield* held(tx, numberId, peer))?.optedOut === 1;
    },
    *hasTexted(tx, numberId, peer) {
      const firstTextAt = (yield* held(tx, numberId, peer))?.firstTextAt ?? null;
      return firstTextAt !== null;
    },
    *changedAt(tx, numberId, peer) {
      const at = (yield* held(tx, numberId, peer))?.changedAt ?? 0;
      return at === 0 ? null : at;
    },
    *texted(tx, numberId, peer, at) {
      yield* tx.run(
        `INSERT INTO phone_contact (number_id, peer, first_text_at) VALUES (?, ?, ?)
          ON CONFLICT (number_id, peer) DO UPDATE SET first_text_at = coalesce(phone_contact.first_text_at, excluded.first_text_at)`,
        ...[numberId, peer, at],
      );
    },
    *change(tx, { numberId, peer, action, source, evidence, at }) {
      const words = evidence?.slice(0, maxEvidenceLength) ?? null;
      const log =
        'INSERT INTO phone_opt_out (id, number_id, peer, action, source, evidence, at) VALUES (?, ?, ?, ?, ?, ?, ?)';
      yield* tx.run(log, ids.next('optout'), numberId, peer, action, source, words, at);
      const entry: OptOutEntry = { e164: peer, action, source, evidence: words, at: iso(at) };
      const before = yield* held(tx, numberId, peer);
      const out = action === 'stop' ? 1 : 0;
      // At equal times, STOP counts as the later one.
      const isStale =
        before !== undefined &&
        (at < before.changedAt || (at === before.changedAt && out === 0 && before.optedOut === 1));
      if (isStale) return { changed: before.optedOut === out ? 'same' : 'stale', entry };
      yield* tx.run(
        `INSERT INTO phone_contact (number_id, peer, opted_out, changed_at) VALUES (?, ?, ?, ?)
          ON CONFLICT (number_id, peer) DO UPDATE SET opted_out = excluded.opted_out, changed_at = excluded.changed_at`,
        ...[numberId, peer, out, at],
      );
      return { changed: (before?.optedOut ?? 0) === out ? 'same' : 'changed', entry };
    },
    *list(tx, { numberId, after, limit }) {
      const sql = `SELECT id, peer, action, source, evidence, at, at AS created_at FROM phone_opt_out WHERE number_id = ?
        ${after === null ? '' : 'AND (at, id) < (?, ?)'} ORDER BY at DESC, id DESC LIMIT ?`;
      const values = after === null ? [] : [after.at, after.id];
      return yield* tx.all<EntryRow & { created_at: number }>(sql, numberId, ...values, limit);
    },
  };
}
