/**
 * Registrations in the database: whole operations, one SQL text for both engines. Every change of a stage goes through
 * {@link RegistrationStore.move}, which keeps the number's `smsState`, the timeline and the sealed EIN with it. Must
 * not know the carrier.
 */
import type { Op, SharedReader, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { Value } from '../../../kit/store/store.ts';
import type { Numbers } from '../ports.ts';
import type { Problem } from './form.ts';
import { einGone, type Move, moves, type RegistrationRow, type StepRow, stageSays } from './model.ts';

/** Other fields that change with a stage. Absent: unchanged. */
export interface Changes {
  readonly brandId?: string;
  readonly campaignId?: string;
  readonly campaignFiledAt?: number;
  readonly requestId?: string;
  readonly form?: RegistrationRow['form'];
  readonly revision?: number;
  readonly texts?: string;
  readonly ein?: string | null;
  readonly codeConfirmedAt?: number;
  readonly reason?: string | null;
  readonly problems?: readonly Problem[];
  readonly lookAt?: number | null;
  readonly brandAsked?: 0 | 1;
}

export type NewStep = Omit<StepRow, 'at' | 'step'> & { readonly step?: StepRow['step'] };

interface NewRegistration
  extends Pick<
    RegistrationRow,
    | 'id'
    | 'numberId'
    | 'userId'
    | 'e164'
    | 'kind'
    | 'stage'
    | 'form'
    | 'identity'
    | 'texts'
    | 'ein'
    | 'brandKey'
    | 'brandId'
    | 'campaignKey'
    | 'campaignId'
  > {}

export interface RegistrationStore {
  find(tx: SharedReader, id: string): Op<RegistrationRow | null>;
  get(id: string): Promise<RegistrationRow | null>;
  /** The current one of a number that is still held. */
  current(tx: SharedReader, numberId: string): Op<RegistrationRow | null>;
  /** Also of a released number, also those that were replaced. */
  ofNumber(tx: SharedReader, numberId: string): Op<readonly RegistrationRow[]>;
  /** Whose brand, campaign or number this is, by the carrier's event. */
  about(named: {
    readonly brandId?: string;
    readonly campaignId?: string;
    readonly requestId?: string;
    readonly e164?: string;
  }): Promise<readonly RegistrationRow[]>;
  ofPerson(tx: SharedReader, userId: string): Op<readonly RegistrationRow[]>;
  /** One registration of each campaign with a fee now, and since when. */
  paidCampaigns(): Promise<readonly { readonly row: RegistrationRow; readonly since: number }[]>;
  steps(tx: SharedReader, id: string): Op<readonly StepRow[]>;
  insert(tx: SharedTx, row: NewRegistration, text: string): Op<void>;
  /** Null: its stage does not allow the move, or its number was released. */
  move(tx: SharedTx, id: string, move: Move, changes: Changes, step: NewStep): Op<RegistrationRow | null>;
  /** Changes at the carrier, also if the number has been released: somebody must end its fees. */
  keep(
    tx: SharedTx,
    id: string,
    ids: Pick<
      Changes,
      'brandId' | 'campaignId' | 'campaignFiledAt' | 'requestId' | 'form' | 'texts' | 'brandAsked' | 'lookAt'
    >,
  ): Op<void>;
  /** Adds to its timeline. */
  note(tx: SharedTx, row: Pick<RegistrationRow, 'id' | 'stage'>, step: NewStep): Op<void>;
  /** It waits for us or the carrier until `retryAt`; one entry of its timeline for all attempts. */
  wait(tx: SharedTx, id: string, why: string, retryAt: number): Op<void>;
  /** It waits for us no longer. */
  calm(id: string): Promise<void>;
  lookAgain(id: string, at: number | null): Promise<void>;
  /** For a released number: nothing is left to end. */
  leave(id: string): Promise<void>;
  /** The registrations that are due now, each claimed by one process for `forMs`. */
  claimDue(forMs: number, max: number): Promise<readonly string[]>;
  /** Whether it may be read from the carrier now: once in `everyMs` over all processes. */
  claimRead(id: string, everyMs: number): Promise<boolean>;
  /** Another registration of the number replaces it. */
  follow(tx: SharedTx, id: string): Op<void>;
  /** The number was released. */
  end(tx: SharedTx, numberId: string): Op<void>;
  endFees(tx: SharedTx, numberId: string): Op<void>;
}

const columns = `id, number_id AS "numberId", user_id AS "userId", e164, kind, stage, form, revision, identity, texts, ein, reason,
  problems, waiting, retry_at AS "retryAt", look_at AS "lookAt", read_at AS "readAt", brand_key AS "brandKey", brand_id AS "brandId",
  campaign_key AS "campaignKey", campaign_id AS "campaignId", request_id AS "requestId", code_confirmed_at AS "codeConfirmedAt",
  approved_at AS "approvedAt", brand_asked AS "brandAsked", created_at AS "createdAt", ended_at AS "endedAt", fees_ended_at AS "feesEndedAt"`;
const select = `SELECT ${columns} FROM phone_registration`;

/** Longer than a request to the carrier may take. */
const endedLookMs = 60_000;

type Kept = Omit<RegistrationRow, 'form' | 'problems'> & { readonly form: string; readonly problems: string };

const toRow = (kept: Kept): RegistrationRow => ({
  ...kept,
  form: JSON.parse(kept.form) as RegistrationRow['form'],
  problems: JSON.parse(kept.problems) as Problem[],
});

const columnOf: Readonly<Record<keyof Changes, string>> = {
  brandId: 'brand_id',
  campaignId: 'campaign_id',
  campaignFiledAt: 'campaign_filed_at',
  requestId: 'request_id',
  form: 'form',
  revision: 'revision',
  texts: 'texts',
  ein: 'ein',
  codeConfirmedAt: 'code_confirmed_at',
  reason: 'reason',
  problems: 'problems',
  lookAt: 'look_at',
  brandAsked: 'brand_asked',
};

/** As SQL text. */
function assigned(changes: Changes): { readonly sql: string[]; readonly values: Value[] } {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return {
    sql: given.map(([name]) => `${columnOf[name as keyof Changes]} = ?`),
    values: given.map(([, value]) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value)),
  };
}

export function createRegistrationStore({
  store,
  now,
  numbers,
}: {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly numbers: Pick<Numbers, 'setSmsState'>;
}): RegistrationStore {
  function* find(tx: SharedReader, id: string): Op<RegistrationRow | null> {
    const row = yield* tx.get<Kept>(`${select} WHERE id = ?`, id);
    return row === undefined ? null : toRow(row);
  }

  function* note(tx: SharedTx, row: Pick<RegistrationRow, 'id' | 'stage'>, step: NewStep): Op<void> {
    const sql = `INSERT INTO phone_registration_step (registration_id, n, step, state, text, field, at)
      VALUES (?, (SELECT count(*) + 1 FROM phone_registration_step WHERE registration_id = ?), ?, ?, ?, ?, ?)`;
    const { step: name = stageSays[row.stage].step, state, text, field } = step;
    yield* tx.run(sql, row.id, row.id, name, state, text, field, now());
  }

  /** If nothing else happened since, however often it waited. False: something did. */
  function* noteAgain(tx: SharedTx, row: RegistrationRow, { state, text }: NewStep): Op<boolean> {
    const sql = `UPDATE phone_registration_step SET text = ?, at = ? WHERE registration_id = ? AND step = ? AND state = ?
      AND n = (SELECT max(n) FROM phone_registration_step WHERE registration_id = ?)`;
    const { changes } = yield* tx.run(sql, text, now(), row.id, stageSays[row.stage].step, state, row.id);
    return changes === 1;
  }

  return {
    find,
    get: (id) => store.read((tx) => find(tx, id)),
    *current(tx, numberId) {
      const sql = `${select} WHERE number_id = ? AND followed_at IS NULL AND ended_at IS NULL`;
      const row = yield* tx.get<Kept>(sql, numberId);
      return row === undefined ? null : toRow(row);
    },
    *ofNumber(tx, numberId) {
      return (yield* tx.all<Kept>(`${select} WHERE number_id = ?`, numberId)).map(toRow);
    },
    async about({ brandId = '', campaignId = '', requestId = '', e164 = '' }) {
      const sql = `${select} WHERE followed_at IS NULL AND ended_at IS NULL
        AND (brand_id = ? OR campaign_id = ? OR request_id = ? OR e164 = ?)`;
      return (await store.all<Kept>(sql, brandId, campaignId, requestId, e164)).map(toRow);
    },
    *ofPerson(tx, userId) {
      return (yield* tx.all<Kept>(`${select} WHERE user_id = ? ORDER BY created_at DESC, id DESC`, userId)).map(toRow);
    },
    async paidCampaigns() {
      // The number that filed it may have left it to numbers that joined since.
      const sql = `${select} WHERE campaign_id IS NOT NULL AND fees_ended_at IS NULL AND ended_at IS NULL ORDER BY created_at, id`;
      const since = 'SELECT min(campaign_filed_at) AS since FROM phone_registration WHERE campaign_key = ?';
      const paid = new Map<string, { row: RegistrationRow; since: number }>();
      for (const row of (await store.all<Kept>(sql)).map(toRow)) {
        if (paid.has(row.campaignKey)) continue;
        const filed = await store.get<{ since: number | null }>(since, row.campaignKey);
        paid.set(row.campaignKey, { row, since: filed?.since ?? row.createdAt });
      }
      return [...paid.values()];
    },
    *steps(tx, id) {
      const sql =
        'SELECT step, state, text, field, at FROM phone_registration_step WHERE registration_id = ? ORDER BY n';
      return yield* tx.all<StepRow>(sql, id);
    },
    *insert(tx, row, text) {
      const sql = `INSERT INTO phone_registration (id, number_id, user_id, e164, kind, stage, form, revision, identity, texts, ein, problems,
        look_at, read_at, brand_key, brand_id, campaign_key, campaign_id, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, '[]', ?, 0, ?, ?, ?, ?, ?)`;
      yield* tx.run(
        ...([sql, row.id, row.numberId, row.userId, row.e164, row.kind, row.stage, JSON.stringify(row.form)] as const),
        ...[row.identity, row.texts, row.ein, now(), row.brandKey, row.brandId, row.campaignKey, row.campaignId, now()],
      );
      yield* numbers.setSmsState(tx, row.numberId, stageSays[row.stage].smsState);
      yield* note(tx, row, { step: 'filed', state: 'done', text, field: null });
    },
    *move(tx, id, name, changes, step) {
      const { from, to } = moves[name];
      const { sql, values } = assigned({
        reason: null,
        problems: [],
        ...changes,
        ...(einGone.has(to) ? { ein: null } : {}),
      });
      const row = yield* tx.get<Kept>(
        `UPDATE phone_registration SET stage = ?, waiting = NULL, retry_at = NULL,
          approved_at = CASE WHEN ? = 1 THEN ? ELSE approved_at END, ${sql.join(', ')}
          WHERE id = ? AND stage IN (${from.map(() => '?').join(', ')}) AND followed_at IS NULL AND ended_at IS NULL
          RETURNING ${columns}`,
        ...[to, to === 'approved' ? 1 : 0, now(), ...values, id, ...from],
      );
      if (row === undefined) return null;
      yield* numbers.setSmsState(tx, row.numberId, stageSays[to].smsState);
      yield* note(tx, row, step);
      return toRow(row);
    },
    *keep(tx, id, ids) {
      const { sql, values } = assigned(ids);
      yield* tx.run(`UPDATE phone_registration SET ${sql.join(', ')} WHERE id = ?`, ...values, id);
    },
    *wait(tx, id, why, retryAt) {
      const row = yield* find(tx, id);
      if (row === null || row.endedAt !== null) return;
      const sql = 'UPDATE phone_registration SET waiting = ?, retry_at = ?, look_at = ? WHERE id = ?';
      yield* tx.run(sql, why, retryAt, retryAt, id);
      if (row.waiting === why) return;
      const step: NewStep = { state: 'waiting', text: why, field: null };
      if (!(yield* noteAgain(tx, row, step))) yield* note(tx, row, step);
    },
    async calm(id) {
      const sql = 'UPDATE phone_registration SET waiting = NULL, retry_at = NULL WHERE id = ?';
      await store.write((tx) => tx.run(sql, id), { isolation: 'statement' });
    },
    async lookAgain(id, at) {
      const sql = 'UPDATE phone_registration SET look_at = ? WHERE id = ? AND ended_at IS NULL AND followed_at IS NULL';
      await store.write((tx) => tx.run(sql, at, id), { isolation: 'statement' });
    },
    async leave(id) {
      const sql = 'UPDATE phone_registration SET look_at = NULL WHERE id = ? AND ended_at IS NOT NULL';
      await store.write((tx) => tx.run(sql, id), { isolation: 'statement' });
    },
    async claimDue(forMs, max) {
      const at = now();
      const due = await store.all<{ id: string; at: number }>(
        'SELECT id, look_at AS at FROM phone_registration WHERE look_at <= ? ORDER BY look_at LIMIT ?',
        ...([at, max] as const),
      );
      const mine: string[] = [];
      for (const one of due) {
        const sql = 'UPDATE phone_registration SET look_at = ? WHERE id = ? AND look_at = ?';
        const { changes } = await store.write((tx) => tx.run(sql, at + forMs, one.id, one.at), {
          isolation: 'statement',
        });
        if (changes === 1) mine.push(one.id);
      }
      return mine;
    },
    async claimRead(id, everyMs) {
      const at = now();
      const sql = 'UPDATE phone_registration SET read_at = ? WHERE id = ? AND (read_at <= ? OR read_at > ?)';
      const { changes } = await store.write((tx) => tx.run(sql, at, id, at - everyMs, at), { isolation: 'statement' });
      return changes === 1;
    },
    *follow(tx, id) {
      yield* tx.run(
        'UPDATE phone_registration SET followed_at = ?, look_at = NULL, ein = NULL WHERE id = ?',
        now(),
        id,
      );
    },
    note,
    *end(tx, numberId) {
      // A process that files now may be killed before it hears the result.
      const sql = `UPDATE phone_registration SET ended_at = ?, retry_at = NULL, ein = NULL,
        look_at = CASE WHEN followed_at IS NULL AND stage IN ('filed', 'campaign') THEN CAST(? AS BIGINT) END
        WHERE number_id = ? AND ended_at IS NULL`;
      yield* tx.run(sql, now(), now() + endedLookMs, numberId);
    },
    *endFees(tx, numberId) {
      const sql = 'UPDATE phone_registration SET fees_ended_at = ? WHERE number_id = ? AND fees_ended_at IS NULL';
      yield* tx.run(sql, now(), numberId);
    },
  };
}

/** Those of these numbers for which one was filed. */
export async function filedOf(
  store: Pick<SharedStore, 'all'>,
  numberIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (numberIds.length === 0) return new Set();
  const among = numberIds.map(() => '?').join(', ');
  const sql = `SELECT number_id AS "id" FROM phone_registration
    WHERE number_id IN (${among}) AND followed_at IS NULL AND ended_at IS NULL`;
  return new Set((await store.all<{ id: string }>(sql, ...numberIds)).map(({ id }) => id));
}
