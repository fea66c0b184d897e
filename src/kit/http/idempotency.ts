/**
 * `Idempotency-Key` on POSTs that create: the same caller, route, key and body get the first answer, another body gets 409. Keys are kept for 7 days,
 * also over a restart. A failed request frees its key, since nothing was created. A request cut off by a crash, or by a database that went away at
 * its end, keeps its key, since its outcome is unknown: the id stored with the key is then looked up, and created if it is missing. First user:
 * threads; second: the work queue. Must not know routes' meaning.
 */
import { hash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import { systemTimers, type Timers } from '../clock/timers.ts';
import { canonicalJson } from '../ledger/canonical.ts';
import type { Asked, SharedStore, SharedTx } from '../store/shared-store.ts';
import type { Migration } from '../store/store.ts';

export const idempotencyMigrations: readonly Migration[] = [
  {
    area: 'idempotency',
    number: 1,
    name: 'kept answers',
    sql: `
CREATE TABLE idempotency (
  caller TEXT NOT NULL,
  op TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER,
  answer TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (caller, op, key)
) WITHOUT ROWID, STRICT;
CREATE INDEX idempotency_at ON idempotency (at);
`,
  },
  {
    area: 'idempotency',
    number: 2,
    name: 'what an id is made of',
    sql: 'ALTER TABLE idempotency ADD COLUMN seed TEXT',
  },
];

const retentionMs = 7 * 24 * 3600 * 1000;

export interface StoredAnswer {
  readonly status: number;
  /** The raw body; empty for none. */
  readonly text: string;
}

export interface Idempotency {
  /** Runs `work` once for this caller, op and key, and returns the first answer ever after. Throws 409 `refused`. */
  once(request: KeyedRequest, work: (seed: string | null) => Promise<StoredAnswer>): Promise<StoredAnswer>;
}

interface KeyedRequest {
  readonly caller: string;
  readonly op: string;
  readonly key: string;
  readonly fingerprint: string;
  /** Stored with the key and passed to `work`, which creates nothing twice under one id; `work` runs again if its outcome is unknown. */
  readonly seed?: string;
}

interface StoredRow {
  at: number;
  seed: string | null;
  fingerprint: string;
  status: number | null;
  answer: string | null;
}

/** The first answer may still be on its way in another process. */
const othersMs = 10_000;
const lookMs = 200;

/** The outcome of a first request is recorded as soon as the database is back, for at most this long. */
const noteMs = 10 * 60_000;
const noteEveryMs = 1000;

export function createIdempotency(
  store: SharedStore,
  clock: { now(): number },
  timers: Timers = systemTimers,
): Idempotency {
  // Requests under way here. After a crash this is empty, and a row without an answer was cut off.
  const running = new Map<string, { fingerprint: string; answer: Promise<StoredAnswer> }>();
  // Outcomes that are known here and could not be written yet: repeated requests are answered from memory.
  const unnoted = new Set<string>();

  async function first(
    request: KeyedRequest,
    work: (seed: string | null) => Promise<StoredAnswer>,
  ): Promise<StoredAnswer> {
    const { caller, op, key, fingerprint, seed = null } = request;
    const where = [caller, op, key] as const;
    const find =
      'SELECT at, seed, fingerprint, status, answer FROM idempotency WHERE caller = ? AND op = ? AND key = ?';
    const now = clock.now();
    const ours: Ours = [...where, now];
    let kept: StoredRow | null | undefined;
    try {
      kept = await store.write(
        function* (tx) {
          yield* tx.run('DELETE FROM idempotency WHERE at < ?', now - retentionMs);
          const insert = `INSERT INTO idempotency (caller, op, key, fingerprint, at, seed) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (caller, op, key) DO NOTHING`;
          const { changes } = yield* tx.run(insert, ...where, fingerprint, now, seed);
          return changes === 1 ? null : yield* tx.get<StoredRow>(find, ...where);
        },
        { isolation: 'rows' },
      );
    } catch (error) {
      // The key may be reused, and nothing was done.
      if (isUnknown(error)) await note(ours, free(ours));
      throw error;
    }
    if (kept === null) return answerFirst(ours, () => work(seed));
    let row = kept;
    if (row !== undefined && row.fingerprint !== fingerprint) throw otherBody(key);
    if (row?.status === null && seed !== null && row.seed !== null) {
      const { at, seed: kept } = row;
      return answerFirst([...where, at], () => work(kept));
    }
    for (let left = store.engine === 'sqlite' ? 0 : othersMs; left > 0 && row?.status === null; left -= lookMs) {
      await new Promise<void>((resolve) => void timers.after(lookMs, resolve));
      row = await store.get<StoredRow>(find, ...where);
    }
    // Gone: the first one failed, nothing was created, and the key is free again.
    if (row === undefined) return first(request, work);
    if (row.status === null) throw cutOff(key);
    return { status: row.status, text: row.answer ?? '' };
  }

  async function answerFirst(ours: Ours, work: () => Promise<StoredAnswer>): Promise<StoredAnswer> {
    let answer: StoredAnswer;
    try {
      answer = await work();
    } catch (error) {
      if (!isUnknown(error)) await note(ours, free(ours));
      throw error;
    }
    const keep = `UPDATE idempotency SET status = ?, answer = ? WHERE ${whose}`;
    await note(ours, (tx) => tx.run(keep, answer.status, answer.text, ...ours));
    return answer;
  }

  /** Waits for one attempt only: an unwritten outcome counts as well, and is written as soon as possible. */
  async function note(ours: Ours, change: (tx: SharedTx) => Asked<unknown>, leftMs = noteMs): Promise<void> {
    const name = nameOf(ours);
    const over = await store.write(change, { isolation: 'rows' }).then(
      () => true,
      () => leftMs <= 0,
    );
    if (over) {
      if (unnoted.delete(name)) running.delete(name);
      return;
    }
    unnoted.add(name);
    timers.after(noteEveryMs, () => void note(ours, change, leftMs - noteEveryMs));
  }

  return {
    async once(request, work) {
      const name = nameOf([request.caller, request.op, request.key]);
      const busy = running.get(name);
      if (busy !== undefined) {
        if (busy.fingerprint !== request.fingerprint) throw otherBody(request.key);
        return busy.answer;
      }
      const answer = first(request, work).finally(() => {
        if (!unnoted.has(name)) running.delete(name);
      });
      running.set(name, { fingerprint: request.fingerprint, answer });
      return answer;
    },
  };
}

/** The row of one first request, and of no later one with its key. */
type Ours = readonly [caller: string, op: string, key: string, at: number];
const nameOf = ([caller, op, key]: readonly [string, string, string, ...unknown[]]) =>
  JSON.stringify([caller, op, key]);
const whose = 'caller = ? AND op = ? AND key = ? AND at = ? AND status IS NULL';
const free = (ours: Ours) => (tx: SharedTx) => tx.run(`DELETE FROM idempotency WHERE ${whose}`, ...ours);

const isUnknown = (error: unknown) => error instanceof AppError && error.options.unknownEnd === true;

/** The same for the same path and body, whatever the order of keys. */
export function fingerprint(path: string, body: unknown): string {
  return hash('sha256', `${path}\n${canonicalJson(body ?? null)}`, 'base64url');
}

function otherBody(key: string): AppError {
  return new AppError(
    'refused',
    `Idempotency-Key ${JSON.stringify(key)} was used with another body.`,
    'Use a new key for a new request.',
    { status: 409, wireCode: 'idempotency_conflict' },
  );
}

function cutOff(key: string): AppError {
  return new AppError(
    'refused',
    `The first request with Idempotency-Key ${JSON.stringify(key)} was cut off, so its outcome is not known.`,
    'Check whether it was created, then use a new key.',
    { status: 409, wireCode: 'idempotency_conflict' },
  );
}
