/** Corrections in the database: whole operations, one text for both engines. Must not know the carrier. */
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { CorrectionMove, CorrectionRow } from './correction.ts';
import { correctionMoves, isOver } from './correction.ts';

interface NewCorrection
  extends Pick<
    CorrectionRow,
    'id' | 'registrationId' | 'brandKey' | 'campaignKey' | 'stage' | 'fields' | 'form' | 'before'
  > {}

export interface CorrectionStore {
  /** The one under way for a business. */
  open(tx: SharedReader, brandKey: string): Op<CorrectionRow | null>;
  /** The newest, finished or not. */
  newest(tx: SharedReader, brandKey: string): Op<CorrectionRow | null>;
  insert(tx: SharedTx, row: NewCorrection): Op<void>;
  /** Null: somebody else has moved it. */
  move(
    tx: SharedTx,
    id: string,
    move: CorrectionMove,
    why?: Pick<CorrectionRow, 'reason' | 'problems'>,
  ): Op<CorrectionRow | null>;
  /** It waits for us or the carrier until then. */
  wait(tx: SharedTx, id: string, waiting: string, retryAt: number): Op<void>;
  /** Another registration takes it over; null: none is left, and the correction ends. */
  handOver(tx: SharedTx, id: string, registrationId: string | null): Op<void>;
}

const columns = `id, registration_id AS "registrationId", brand_key AS "brandKey", campaign_key AS "campaignKey", stage, fields, form,
  form_before AS "before", reason, problems, waiting, retry_at AS "retryAt", created_at AS "createdAt", ended_at AS "endedAt"`;
const select = `SELECT ${columns} FROM phone_registration_correction`;

type Kept = {
  readonly [K in keyof CorrectionRow]: K extends 'fields' | 'form' | 'before' | 'problems' ? string : CorrectionRow[K];
};

const toRow = ({ fields, form, before, problems, ...kept }: Kept): CorrectionRow => ({
  ...kept,
  fields: JSON.parse(fields) as CorrectionRow['fields'],
  form: JSON.parse(form) as CorrectionRow['form'],
  before: JSON.parse(before) as CorrectionRow['before'],
  problems: JSON.parse(problems) as CorrectionRow['problems'],
});

export function createCorrectionStore(now: () => number): CorrectionStore {
  function* one(tx: SharedReader, sql: string, ...values: string[]): Op<CorrectionRow | null> {
    const kept = yield* tx.get<Kept>(sql, ...values);
    return kept === undefined ? null : toRow(kept);
  }

  return {
    open: (tx, brandKey) => one(tx, `${select} WHERE brand_key = ? AND ended_at IS NULL`, brandKey),
    newest: (tx, brandKey) =>
      one(tx, `${select} WHERE brand_key = ? ORDER BY created_at DESC, id DESC LIMIT 1`, brandKey),
    *insert(tx, { id, registrationId, brandKey, campaignKey, stage, fields, form, before }) {
      const sql = `INSERT INTO phone_registration_correction
        (id, registration_id, brand_key, campaign_key, stage, fields, form, form_before, problems, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, '[]', ?)`;
      const json = [fields, form, before].map((value) => JSON.stringify(value));
      yield* tx.run(sql, id, registrationId, brandKey, campaignKey, stage, ...json, now());
    },
    *move(tx, id, name, why) {
      const { from, to } = correctionMoves[name];
      const sql = `UPDATE phone_registration_correction SET stage = ?, waiting = NULL, retry_at = NULL,
        reason = COALESCE(?, reason), problems = COALESCE(?, problems), ended_at = ?
        WHERE id = ? AND stage IN (${from.map(() => '?').join(', ')}) RETURNING ${columns}`;
      const ended = isOver(to) ? now() : null;
      const problems = why === undefined ? null : JSON.stringify(why.problems);
      return yield* one(tx, sql, ...([to, why?.reason ?? null, problems, ended, id, ...from] as string[]));
    },
    *wait(tx, id, waiting, retryAt) {
      const sql =
        'UPDATE phone_registration_correction SET waiting = ?, retry_at = ? WHERE id = ? AND ended_at IS NULL';
      yield* tx.run(sql, waiting, retryAt, id);
    },
    *handOver(tx, id, registrationId) {
      const sql =
        registrationId === null
          ? "UPDATE phone_registration_correction SET stage = 'refused', reason = 'Its number was released.', ended_at = ? WHERE id = ?"
          : 'UPDATE phone_registration_correction SET registration_id = ? WHERE id = ?';
      yield* tx.run(sql, registrationId ?? now(), id);
    },
  };
}
