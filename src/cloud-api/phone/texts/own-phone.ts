/**
 * The person's own phone: named in settings, confirmed by a text from it, and from then on able to answer an approval with yes or no. From anybody
 * else the same words are an ordinary message. Owns `phone_own` and `phone_approval_code`; must not know lanes.
 */
import { randomInt } from 'node:crypto';
import type { ApprovalDecision } from '../../../contracts/approvals/approval.ts';
import { AppError } from '../../../contracts/common/errors.ts';
import type { OwnPhone } from '../../../contracts/phone/texts.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import { type HeldNumber, isOfBots, type Numbers } from '../ports.ts';

/** A text from the own phone: kept back, answered, and recorded with it. */
interface Heard {
  readonly reason: string;
  readonly answer: string;
  settle(tx: SharedTx): Op<void>;
}

export interface OwnPhones {
  read(userId: string): Promise<OwnPhone>;
  /** Returns the code to text from it, and until when. */
  name(userId: string, e164: string, numberId: string): Promise<{ readonly code: string; readonly until: number }>;
  forget(userId: string): Promise<void>;
  /** Null: the text is for the bot. */
  hear(number: HeldNumber, from: string, text: string): Promise<Heard | null>;
  confirmed(tx: SharedReader, userId: string): Op<{ readonly e164: string; readonly numberId: string } | null>;
  /** A code for this approval; null: it has one, or there were too many lately. */
  codeFor(tx: SharedTx, approvalId: string, userId: string, until: number): Op<string | null>;
  released(tx: SharedTx, numberId: string): Op<void>;
  forgetOld(now: number): Promise<void>;
}

const confirmMs = 15 * 60_000;
const maxWrong = 5;
const wrongMs = 60 * 60_000;
/** Texts to one person per hour: bots that ask without end must not fill a phone. */
const maxAsked = 20;
const hourMs = 60 * 60_000;
const retentionMs = 24 * 60 * 60_000;
/** Six digits, so that they are read and typed without a mistake; guessing ends after {@link maxWrong}. */
const newCode = () => String(randomInt(0, 1_000_000)).padStart(6, '0');

interface Row {
  readonly userId: string;
  readonly e164: string;
  readonly numberId: string;
  readonly code: string | null;
  readonly codeUntil: number;
  readonly wrong: number;
  readonly wrongSince: number;
  readonly confirmedAt: number | null;
}

const select = `SELECT user_id AS "userId", e164, number_id AS "numberId", code, code_until AS "codeUntil", wrong,
  wrong_since AS "wrongSince", confirmed_at AS "confirmedAt" FROM phone_own WHERE user_id = ?`;
const answerWords = /^\s*(yes|no)[\s,:.-]+(\d{6})\s*[.!]*\s*$/i;
/** Six digits and nothing else, like a code that somebody was shown; null: other words. */
export const codeIn = (text: string): string | null =>
  /^\s*(\d{6})\s*\.?\s*$/.exec(text.normalize('NFKC'))?.[1] ?? null;

interface AnsweredApprovals {
  /** Throws `AppError` that says who answered before, or that it has expired. */
  resolve(
    id: string,
    by: {
      readonly decision: ApprovalDecision;
      readonly note: null;
      readonly userId: string;
      readonly surface: string;
    },
  ): Promise<{ readonly title: string }>;
}

export function createOwnPhones({
  store,
  clock,
  approvals,
  numbers,
  admits,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly approvals: AnsweredApprovals;
  readonly numbers: Pick<Numbers, 'byE164'>;
  /** Whether this person may act at all. */
  readonly admits: (userId: string) => boolean | Promise<boolean>;
}): OwnPhones {
  const { confirm, answerApproval } = createHearing({ store, clock, approvals });
  const find = async (userId: string) => (await store.get<Row>(select, userId)) ?? null;

  return {
    async read(userId) {
      const own = await find(userId);
      if (own === null) return { e164: null, confirmed: false, numberId: null };
      return { e164: own.e164, confirmed: own.confirmedAt !== null, numberId: own.numberId };
    },
    async name(userId, e164, numberId) {
      const code = newCode();
      const until = clock.now() + confirmMs;
      const sql = `INSERT INTO phone_own (user_id, e164, number_id, code, code_until) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (user_id) DO UPDATE SET e164 = excluded.e164, number_id = excluded.number_id, code = excluded.code,
        code_until = excluded.code_until, confirmed_at = NULL, wrong = 0, wrong_since = 0`;
      await store.write((tx) => tx.run(sql, userId, e164, numberId, code, until));
      return { code, until };
    },
    async forget(userId) {
      await store.write((tx) => tx.run('DELETE FROM phone_own WHERE user_id = ?', userId));
    },
    async hear(number, from, text) {
      const own = await find(number.userId);
      if (own === null || own.e164 !== from || !(await admits(own.userId))) return null;
      if (await isOfBots(numbers, from)) return null;
      if (own.confirmedAt === null) return confirm(own, number, text);
      const [, word, code] = answerWords.exec(text.normalize('NFKC')) ?? [];
      if (word === undefined || code === undefined) return null;
      return answerApproval(own, word.toLowerCase() === 'yes' ? 'approve' : 'reject', code);
    },
    *confirmed(tx, userId) {
      const own = yield* tx.get<Row>(select, userId);
      return own === undefined || own.confirmedAt === null ? null : { e164: own.e164, numberId: own.numberId };
    },
    *codeFor(tx, approvalId, userId, until) {
      const now = clock.now();
      const asked = 'SELECT count(*) AS n FROM phone_approval_code WHERE user_id = ? AND asked_at > ?';
      if (((yield* tx.get<{ n: number }>(asked, userId, now - hourMs))?.n ?? 0) >= maxAsked) return null;
      const sql = `INSERT INTO phone_approval_code (approval_id, user_id, code, code_until, asked_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING`;
      const code = newCode();
      return (yield* tx.run(sql, approvalId, userId, code, until, now)).changes === 1 ? code : null;
    },
    *released(tx, numberId) {
      yield* tx.run('DELETE FROM phone_own WHERE number_id = ?', numberId);
    },
    async forgetOld(now) {
      await store.write((tx) => tx.run('DELETE FROM phone_approval_code WHERE code_until < ?', now - retentionMs));
    },
  };
}

/** What a text from the own phone says: the code that confirms it, or an answer to an approval. Guesses at a code are counted. */
function createHearing({
  store,
  clock,
  approvals,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly approvals: AnsweredApprovals;
}) {
  const nothing = function* (): Op<void> {};

  function* wrongAgain(tx: SharedTx, { userId, e164 }: Row): Op<void> {
    const own = yield* tx.get<Row>(select, userId);
    // Reads the count again, as another number may have counted a guess in the meantime; a guess at an earlier phone does not count.
    if (own === undefined || own.e164 !== e164) return;
    const now = clock.now();
    const isNew = now - own.wrongSince > wrongMs;
    const sql = 'UPDATE phone_own SET wrong = ?, wrong_since = ? WHERE user_id = ?';
    yield* tx.run(sql, isNew ? 1 : own.wrong + 1, isNew ? now : own.wrongSince, userId);
  }

  const isShut = (own: Row) => own.wrong >= maxWrong && clock.now() - own.wrongSince <= wrongMs;

  /** A wrong code is an ordinary message, and after guesses a code becomes invalid. */
  async function confirm(own: Row, number: HeldNumber, text: string): Promise<Heard | null> {
    const code = codeIn(text);
    if (code === null || own.numberId !== number.id || own.codeUntil <= clock.now() || isShut(own)) return null;
    if (code !== own.code) {
      await store.write((tx) => wrongAgain(tx, own));
      return null;
    }
    return {
      reason: 'The code that confirms your own phone.',
      answer: 'Gantry: This phone is confirmed. You can now answer approvals from it with YES or NO and the code.',
      *settle(tx) {
        const sql =
          'UPDATE phone_own SET confirmed_at = ?, code = NULL, wrong = 0 WHERE user_id = ? AND e164 = ? AND code = ?';
        yield* tx.run(sql, clock.now(), own.userId, own.e164, code);
      },
    };
  }

  async function answerApproval(own: Row, decision: ApprovalDecision, code: string): Promise<Heard> {
    const reason = 'Your answer to an approval.';
    if (isShut(own)) {
      return { reason, answer: 'Gantry: Too many wrong codes. Answer in the app.', settle: nothing };
    }
    const sql =
      'SELECT approval_id AS id, code_until AS "until", used_at AS "usedAt" FROM phone_approval_code WHERE user_id = ? AND code = ?';
    const found = await store.get<{ id: string; until: number; usedAt: number | null }>(sql, own.userId, code);
    if (found === undefined) {
      return {
        reason,
        answer: `Gantry: No approval is waiting with the code ${code}.`,
        settle: (tx) => wrongAgain(tx, own),
      };
    }
    if (found.usedAt !== null) {
      return { reason, answer: `Gantry: The code ${code} was already used.`, settle: nothing };
    }
    const answer = await resolved(found.id, own.userId, decision);
    return {
      reason,
      answer: `Gantry: ${answer}`,
      *settle(tx) {
        yield* tx.run('UPDATE phone_approval_code SET used_at = ? WHERE approval_id = ?', clock.now(), found.id);
      },
    };
  }

  async function resolved(id: string, userId: string, decision: ApprovalDecision): Promise<string> {
    try {
      const { title } = await approvals.resolve(id, { decision, note: null, userId, surface: 'text' });
      return `${decision === 'approve' ? 'Approved' : 'Rejected'}: ${title.slice(0, 100)}`;
    } catch (error) {
      if (error instanceof AppError && error.code !== 'transport' && error.code !== 'internal') return error.fact;
      throw error;
    }
  }

  return { confirm, answerApproval };
}
