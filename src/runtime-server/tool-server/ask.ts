/**
 * Asks a person about one call and waits up to 50 s; a client that gives up earlier calls again, and the same call within ten minutes of the
 * approval runs once. The approvals keep question and answer; here one approval lets one call run, however many identical ones wait for it. Must not
 * know tools or policy.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type ApprovalAnswer, type ApprovalAsk, type Approvals, comesBackWithinMs } from '../approvals/approvals.ts';
import { createTurns } from '../approvals/turns.ts';

export interface CallQuestion extends Omit<ApprovalAsk, 'expiresInMs' | 'dedupeKey'> {
  /** Equal for the same call: client, tool, arguments. */
  readonly key: string;
}

export interface Waiting {
  readonly signal: AbortSignal;
  /** As `ToolCaller.patienceMs`. */
  readonly patienceMs: number | null;
  /** A person is asked this, or no more (null). */
  asking(id: string | null): void;
}

/** What became of a question. */
export type Answered =
  | { readonly how: 'approved'; readonly id: string; readonly answer: ApprovalAnswer }
  /** `answer`: null if the question did not end: it could not be asked, or the call was stopped. */
  | {
      readonly how: 'refused';
      readonly id: string | null;
      readonly why: string;
      readonly answer: ApprovalAnswer | null;
    }
  /** No answer yet; the question stays. */
  | { readonly how: 'open'; readonly id: string };

/** For a caller that waits until there is an answer. */
const answerWithinMs = 24 * 3600 * 1000;
/** For a caller that comes back: as long as the gate "may I?". A later call is a new question. */
const openForMs = 60 * 60 * 1000;
/** An answer that is being written when the patience ends is waited for: it could not be taken a second time. */
const writtenWithinMs = 5000;

export function createAsker({
  approvals,
  timers,
}: {
  readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
  readonly timers: Timers;
}) {
  const turns = createTurns();
  const unused = createUnused(timers);

  async function ask({ key, ...question }: CallQuestion, caller: Waiting): Promise<Answered> {
    const earlier = unused.take(key, question.actionHash);
    if (earlier !== null) return earlier;
    try {
      return caller.patienceMs === null
        ? await untilAnswered(question, caller)
        : await forAWhile({ key, ...question }, caller, caller.patienceMs);
    } catch (error) {
      // Too long to read, or too many questions: the caller gets the error, and can ask for less.
      if (!(error instanceof AppError)) throw error;
      return { how: 'refused', id: null, why: `${error.fact} ${error.action} Nothing ran.`, answer: null };
    }
  }

  async function untilAnswered(question: Omit<CallQuestion, 'key'>, caller: Waiting): Promise<Answered> {
    const asked = await approvals.ask({ ...question, expiresInMs: answerWithinMs }, { signal: caller.signal });
    caller.asking(asked.id);
    const stop = stopping(caller.signal, null);
    const answer = await Promise.race([asked.answer, stop.over]);
    stop.cancel();
    caller.asking(null);
    if (answer !== 'over') return judge(asked.id, answer);
    await approvals.withdraw(asked.id, 'engine');
    return { how: 'refused', id: asked.id, why: 'Cancelled while waiting for approval. Nothing ran.', answer: null };
  }

  async function forAWhile({ key, ...question }: CallQuestion, caller: Waiting, ms: number): Promise<Answered> {
    const stop = stopping(caller.signal, ms);
    try {
      for (;;) {
        const leave = new AbortController();
        let written = false;
        const asked = await approvals.ask(
          {
            ...question,
            expiresInMs: openForMs,
            comesBack: { waitsMs: ms, withdrawnAfterMs: comesBackWithinMs },
            dedupeKey: key,
          },
          {
            signal: leave.signal,
            apply: () => {
              written = true;
            },
          },
        );
        const turn = turns.join(asked.id);
        caller.asking(asked.id);
        let answer = await Promise.race([asked.answer, stop.over]);
        if (answer === 'over' && written) answer = await Promise.race([asked.answer, later(writtenWithinMs)]);
        // From here on the caller is gone: an answer is kept for its next call.
        leave.abort();
        caller.asking(null);
        const mine = turn.leave(answer !== 'over' && answer.kind === 'approve');
        if (answer === 'over') return { how: 'open', id: asked.id };
        // An identical call uses this approval. This one is asked again.
        if (answer.kind === 'approve' && !mine) continue;
        return judge(asked.id, answer);
      }
    } finally {
      stop.cancel();
    }
  }

  function stopping(signal: AbortSignal, ms: number | null): { over: Promise<'over'>; cancel: () => void } {
    let cancel = () => {};
    const over = new Promise<'over'>((resolve) => {
      const end = () => resolve('over');
      const cancelTimer = ms === null ? () => {} : timers.after(ms, end);
      if (signal.aborted) end();
      signal.addEventListener('abort', end, { once: true });
      cancel = () => {
        cancelTimer();
        signal.removeEventListener('abort', end);
      };
    });
    return { over, cancel };
  }

  const later = (ms: number): Promise<'over'> => new Promise((resolve) => void timers.after(ms, () => resolve('over')));

  return {
    ask,
    /** The call that this approval let run has run nothing, and its caller comes back: then the person is not asked again. */
    giveBack: unused.keep,
  };
}

type Approved = Extract<Answered, { how: 'approved' }>;

interface Unused {
  readonly actionHash: string;
  readonly approved: Approved;
  cancel(): void;
}

/** Approvals that came back, for the same call within ten minutes, each once. In memory: after a restart the person is asked. */
function createUnused(timers: Timers) {
  const kept = new Map<string, Unused[]>();

  function drop(key: string, one: Unused): void {
    one.cancel();
    const left = (kept.get(key) ?? []).filter((other) => other !== one);
    if (left.length === 0) kept.delete(key);
    else kept.set(key, left);
  }

  return {
    keep({ key, actionHash }: Pick<CallQuestion, 'key' | 'actionHash'>, approved: Approved): void {
      const one: Unused = { actionHash, approved, cancel: () => {} };
      one.cancel = timers.after(comesBackWithinMs, () => drop(key, one));
      kept.set(key, [...(kept.get(key) ?? []), one]);
    },
    take(key: string, actionHash: string): Approved | null {
      const one = kept.get(key)?.find((each) => each.actionHash === actionHash);
      if (one === undefined) return null;
      drop(key, one);
      return one.approved;
    },
  };
}

export function judge(id: string, answer: ApprovalAnswer): Answered {
  const refused = (why: string): Answered => ({ how: 'refused', id, why, answer });
  switch (answer.kind) {
    case 'approve':
      return { how: 'approved', id, answer };
    case 'reject': {
      const note = answer.note === null ? '.' : `: ${answer.note.replace(/(?<![.!?])$/, '.')}`;
      return refused(`A person said no${note} Nothing ran. Do not try to achieve the same effect another way.`);
    }
    case 'expired':
      return refused('Nobody answered in time. Nothing ran.');
    case 'withdrawn':
      return refused(`The approval was withdrawn (${answer.surface}). Nothing ran.`);
  }
}
