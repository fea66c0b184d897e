/**
 * The questions of a program whose hook waits for the answer: each is an approval until a person answers it there or in the pane. Owns from when a
 * question is open, which hooks wait for it, and what remains of it when they are gone. Must not know how a harness shows that a question has ended.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { createOwnTimers } from '../../kit/clock/timers.ts';
import type { DriverContext } from './adapter.ts';
import { createApprovalQuestions, cuttable, type End, wordsOf } from './approval-question.ts';
import { decisionOf, type Payload, ruledOf } from './claude/questions.ts';
import type { PermissionAsk } from './harness.ts';

/** A hook whose connection was cut reconnects within two seconds, if it lives. */
const hookReturnsMs = 5000;
/** After a restart the waiting hooks have this long to ask again. */
const askAgainMs = 10_000;

interface HookQuestion {
  /** Equal for every hook of the same question. */
  readonly call: string;
  readonly ask: PermissionAsk;
}

interface OpenQuestion<Q extends HookQuestion> {
  readonly question: Q;
  readonly payload: Payload;
  readonly answer: Promise<End>;
  /** Ends the wait here. */
  readonly cut: (end: End) => void;
  id: string | null;
  hooks: number;
}

interface HookQuestionsWays<Q extends HookQuestion> {
  readonly harness: string;
  /** The set of open questions changed. */
  readonly onChange?: () => void;
  readonly onBegin?: (entry: OpenQuestion<Q>) => void;
  /** It is no longer open. Not called after all are released. */
  readonly onOver: (entry: OpenQuestion<Q>, answer: End) => void;
  /** Where a question is whose hooks are gone. */
  readonly hooklessAt: () => 'pane' | 'engine';
}

interface HookQuestions<Q extends HookQuestion> {
  readonly open: ReadonlyMap<string, OpenQuestion<Q>>;
  note(seen: string): void;
  /** The decision of a person's rule, as the hook prints it. */
  ruled(found: { readonly verdict: 'allow' | 'deny'; readonly rule: string }): Record<string, unknown>;
  /** Resolves to the hook's output, once a person has answered or the question is gone. */
  wait(question: Q, payload: Payload, signal: AbortSignal): Promise<Record<string, unknown>>;
  withdraw(which: (entry: OpenQuestion<Q>) => boolean, surface: 'pane' | 'engine'): void;
  /** Runs once hooks from before a restart had time to return; `withdraw` ends the approvals that none has asked for again. */
  settle(act: (withdraw: () => void) => void): void;
  /** Approvals of an earlier runtime. */
  readonly earlier: number;
  later(ms: number, act: () => void): () => void;
  ids(): readonly string[];
  /** Releases the questions: approvals stay, and the hooks reconnect to the next runtime. */
  close(): void;
}

export function createHookQuestions<Q extends HookQuestion>(
  context: DriverContext,
  ways: HookQuestionsWays<Q>,
): HookQuestions<Q> {
  const { bot } = context;
  const approvals = createApprovalQuestions(context, ways.harness);
  const { note, earlier } = approvals;
  const open = new Map<string, OpenQuestion<Q>>();
  const away = new AbortController();
  const own = createOwnTimers(context.timers);

  /** A restarted runtime needs these to end approvals whose question was answered in between. */
  function keep(): void {
    context.remember({ asking: [...open].flatMap(([call, { id }]) => (id === null ? [] : [{ call, id }])) });
    ways.onChange?.();
  }

  function begin(question: Q, payload: Payload): OpenQuestion<Q> {
    const { ended, cut } = cuttable();
    const entry: OpenQuestion<Q> = {
      question,
      payload,
      cut,
      answer: asked(question, ended).then((answer) => {
        if (!away.signal.aborted) {
          open.delete(question.call);
          keep();
          ways.onOver(entry, answer);
          context.poke();
        }
        return answer;
      }),
      id: null,
      hooks: 0,
    };
    open.set(question.call, entry);
    keep();
    ways.onBegin?.(entry);
    return entry;
  }

  async function asked({ ask, call }: Q, ended: Promise<End>): Promise<End> {
    try {
      const onAsked = (id: string): void => {
        const entry = open.get(call);
        if (entry) entry.id = id;
        keep();
      };
      return await approvals.ask(ask, { away: away.signal, ended, onAsked });
    } catch (fault) {
      if (away.signal.aborted) return 'released';
      note(`not asked as an approval: ${wordsOf(fault)}`);
      return { kind: 'withdrawn', surface: 'engine' };
    }
  }

  const takenUp = () =>
    new AppError('transport', `Gantry is reconnecting to ${bot.slug}@${bot.team}.`, 'Try again in a moment.');

  return {
    open,
    note,
    earlier: earlier.length,
    later: own.after,
    ruled(found) {
      note(`${found.verdict === 'allow' ? 'allowed' : 'refused'} without asking: ${found.rule}`);
      return ruledOf(found);
    },
    async wait(question, payload, signal) {
      if (away.signal.aborted) throw takenUp();
      const entry = open.get(question.call) ?? begin(question, payload);
      entry.hooks += 1;
      const answer = await Promise.race([entry.answer, gone(signal)]);
      entry.hooks -= 1;
      if (answer !== 'gone' && answer !== 'released') return decisionOf(answer);
      // No hook is left that could deliver a decision.
      const hookless = () => {
        if (entry.hooks === 0) entry.cut({ kind: 'withdrawn', surface: ways.hooklessAt() });
      };
      if (entry.hooks === 0 && !away.signal.aborted) own.after(hookReturnsMs, hookless);
      // Also when this server closes: a hook that is still there must reconnect, not take this for an answer.
      throw takenUp();
    },
    withdraw(which, surface) {
      for (const entry of open.values()) if (which(entry)) entry.cut({ kind: 'withdrawn', surface });
    },
    settle(act) {
      own.after(askAgainMs, () =>
        act(() => {
          for (const { call, id } of earlier) if (!open.has(call)) approvals.withdraw(id);
        }),
      );
    },
    ids: () => [...open.values()].flatMap(({ id }) => id ?? []),
    close() {
      away.abort();
      own.cancelAll();
      for (const entry of open.values()) entry.cut('released');
    },
  };
}

function gone(signal: AbortSignal): Promise<'gone'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('gone');
    else signal.addEventListener('abort', () => resolve('gone'), { once: true });
  });
}
