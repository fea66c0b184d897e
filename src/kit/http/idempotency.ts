/**
 * `Idempotency-Key` on POSTs that create (gaps.md, Common): same caller, route, key and body give the first answer, another
 * body is 409, kept 7 days, also over a restart. A failed request frees its key, since nothing was created; one that a
 * crash cut off does not, since nobody knows. First user: threads; second: the work queue. Must not know routes' meaning.
 */
import { hash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import { systemTimers, type Timers } from '../clock/timers.ts';
import { canonicalJson } from '../ledger/canonical.ts';
import type { SharedStore } from '../store/shared-store.ts';
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
];

const keptMs = 7 * 24 * 3600 * 1000;

export interface KeptAnswer {
  readonly status: number;
  /** The body as it was sent; empty for none. */
  readonly text: string;
}

export interface Idempotency {
  /** Runs `work` once for this caller, op and key, and answers the first answer ever after. Throws 409 `refused`. */
  once(
    request: { caller: string; op: string; key: string; fingerprint: string },
    work: () => Promise<KeptAnswer>,
  ): Promise<KeptAnswer>;
}

interface KeptRow {
  fingerprint: string;
  status: number | null;
  answer: string | null;
}

/** The first answer may still be on its way in another process. */
const othersMs = 10_000;
const lookMs = 200;

export function createIdempotency(
  store: SharedStore,
  clock: { now(): number },
  timers: Timers = systemTimers,
): Idempotency {
  // Requests under way here. After a crash this is empty, and a row without an answer is one that was cut off.
  const running = new Map<string, { fingerprint: string; answer: Promise<KeptAnswer> }>();

  async function first(
    { caller, op, key, fingerprint }: Parameters<Idempotency['once']>[0],
    work: () => Promise<KeptAnswer>,
  ): Promise<KeptAnswer> {
    const where = [caller, op, key] as const;
    const find = 'SELECT fingerprint, status, answer FROM idempotency WHERE caller = ? AND op = ? AND key = ?';
    const now = clock.now();
    const kept = await store.write(
      function* (tx) {
        yield* tx.run('DELETE FROM idempotency WHERE at < ?', now - keptMs);
        const insert = `INSERT INTO idempotency (caller, op, key, fingerprint, at) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (caller, op, key) DO NOTHING`;
        const { changes } = yield* tx.run(insert, ...where, fingerprint, now);
        return changes === 1 ? null : yield* tx.get<KeptRow>(find, ...where);
      },
      { isolation: 'rows' },
    );
    if (kept === null) return answerFirst(where, work);
    let row = kept;
    if (row !== undefined && row.fingerprint !== fingerprint) throw otherBody(key);
    for (let left = store.engine === 'sqlite' ? 0 : othersMs; left > 0 && row?.status === null; left -= lookMs) {
      await new Promise<void>((resolve) => void timers.after(lookMs, resolve));
      row = await store.get<KeptRow>(find, ...where);
    }
    // Gone: the first one failed, nothing was created, and the key is free again.
    if (row === undefined) return first({ caller, op, key, fingerprint }, work);
    if (row.status === null) throw cutOff(key);
    return { status: row.status, text: row.answer ?? '' };
  }

  async function answerFirst(
    where: readonly [caller: string, op: string, key: string],
    work: () => Promise<KeptAnswer>,
  ): Promise<KeptAnswer> {
    let answer: KeptAnswer;
    try {
      answer = await work();
    } catch (error) {
      const free = 'DELETE FROM idempotency WHERE caller = ? AND op = ? AND key = ?';
      await store.write((tx) => tx.run(free, ...where), { isolation: 'rows' });
      throw error;
    }
    const keep = 'UPDATE idempotency SET status = ?, answer = ? WHERE caller = ? AND op = ? AND key = ?';
    await store.write((tx) => tx.run(keep, answer.status, answer.text, ...where), { isolation: 'rows' });
    return answer;
  }

  return {
    async once(request, work) {
      const name = JSON.stringify([request.caller, request.op, request.key]);
      const busy = running.get(name);
      if (busy !== undefined) {
        if (busy.fingerprint !== request.fingerprint) throw otherBody(request.key);
        return busy.answer;
      }
      const answer = first(request, work).finally(() => running.delete(name));
      running.set(name, { fingerprint: request.fingerprint, answer });
      return answer;
    },
  };
}

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
    'Look whether it was created, then use a new key.',
    { status: 409, wireCode: 'idempotency_conflict' },
  );
}
