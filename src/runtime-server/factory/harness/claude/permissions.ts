/**
 * The questions that Claude Code asks now: each waits as an approval until a person answers it there or in the pane, whichever
 * comes first. Owns from when a question is open and how it is known to be gone; must not know what it says or who answers.
 *
 * Claude Code shows its dialog while the hook waits and takes whatever comes first. It does not tell a hook that a key has won:
 * that is seen by the dialog leaving the screen, by the tool having run, by the end of the turn, or by the hook being killed.
 */
import { rm, writeFile } from 'node:fs/promises';
import { AppError } from '../../../../contracts/common/errors.ts';
import type { DriverContext } from '../adapter.ts';
import type { PermissionAnswer } from '../harness.ts';
import {
  actionOf,
  callOf,
  decisionOf,
  isUnconfined,
  type Payload,
  type Question,
  questionOf,
  ruledOf,
  toolEndEvents,
} from './questions.ts';

/** A hook whose connection was cut knocks again within two seconds, if it lives. */
const hookReturnsMs = 5000;
/** After a restart the waiting hooks have this long to ask again. */
const askAgainMs = 10_000;
/** A program asks one thing at a time, its sub-agents a few; more would only bury the person's inbox. */
const mostOpen = 20;
/** Ends of the main turn: none of its questions can be open any more. */
const turnEnds: ReadonlySet<string> = new Set(['Stop', 'StopFailure', 'SessionEnd']);

export interface Permissions {
  /** Resolves to what the hook prints, once a person has answered or the question is gone. */
  ask(payload: Payload, signal: AbortSignal): Promise<Record<string, unknown>>;
  event(event: string, payload: Payload): void;
  /** The screen was looked at. */
  looked(): void;
  /** The state is no longer `needs_you`. */
  left(): void;
  exited(): void;
  ids(): readonly string[];
  /** Lets go: approvals stay, and the hooks come back to whoever takes the bot up. */
  close(): void;
}

interface Open {
  readonly question: Question;
  readonly payload: Payload;
  readonly answer: Promise<PermissionAnswer | 'released'>;
  /** Ends the wait here. */
  readonly cut: (answer: PermissionAnswer | 'released') => void;
  id: string | null;
  hooks: number;
  dialogSeen: boolean;
}

type Kept = { readonly call: string; readonly id: string };

export function createPermissions(context: DriverContext): Permissions {
  const { bot, desk, judge, timers } = context;
  const open = new Map<string, Open>();
  const away = new AbortController();
  const cancels = new Set<() => void>();
  const markFile = context.recall().askingMark;
  let marked = Promise.resolve();

  const note = (seen: string) => judge.take({ source: 'hook', rule: 'claude.approval', claim: null, seen });

  function later(ms: number, act: () => void): void {
    const cancel = timers.after(ms, () => {
      cancels.delete(cancel);
      act();
    });
    cancels.add(cancel);
  }

  /** What a restarted runtime needs to end approvals whose question was answered meanwhile, and what hooks look at. */
  function keep(): void {
    const asking = [...open].flatMap(([call, { id }]): Kept[] => (id === null ? [] : [{ call, id }]));
    context.remember({ asking });
    if (typeof markFile !== 'string') return;
    // Without the mark only a faster sign is missing.
    marked = marked
      .then(() => (open.size > 0 ? writeFile(markFile, '', { mode: 0o600 }) : rm(markFile, { force: true })))
      .catch(() => undefined);
  }

  /** What the person has ruled beforehand; null: a person is asked. */
  async function rule(question: Question): Promise<Record<string, unknown> | null> {
    const workspace = context.recall().workspace;
    const action = await actionOf(bot, typeof workspace === 'string' ? workspace : null, question);
    const { verdict, rule } = context.policy.decide(action, null);
    if (verdict === 'ask' || (verdict === 'allow' && isUnconfined(question))) return null;
    note(`${verdict === 'allow' ? 'allowed' : 'refused'} without asking: ${rule}`);
    return ruledOf({ verdict, rule });
  }

  function begin(question: Question, payload: Payload): Open {
    let cut: Open['cut'] = () => {};
    const ended = new Promise<PermissionAnswer | 'released'>((resolve) => {
      cut = resolve;
    });
    const entry: Open = {
      question,
      payload,
      cut,
      answer: wait(question, ended).finally(() => finish(entry)),
      id: null,
      hooks: 0,
      // Its dialog may have been drawn before this: a screen that stands still says nothing more.
      dialogSeen: dialogStands(),
    };
    open.set(question.call, entry);
    keep();
    return entry;
  }

  async function wait(
    { ask, call }: Question,
    ended: Promise<PermissionAnswer | 'released'>,
  ): Promise<PermissionAnswer | 'released'> {
    try {
      const asked = await desk.ask(ask, { signal: away.signal });
      const entry = open.get(call);
      if (entry) entry.id = asked.id;
      note(`asked a person: approval ${asked.id}`);
      keep();
      context.poke();
      const answer = await Promise.race([asked.answer, ended]);
      if (answer === 'released') return answer;
      const by = 'by' in answer ? ` by ${answer.by.user} via ${answer.by.surface}` : '';
      note(`approval ${asked.id}: ${answer.kind}${by}${'surface' in answer ? ` (${answer.surface})` : ''}`);
      if (answer.kind === 'withdrawn') await desk.withdraw(asked.id, answer.surface);
      return answer;
    } catch (fault) {
      if (away.signal.aborted) return 'released';
      note(`not asked as an approval: ${wordsOf(fault)}`);
      return { kind: 'withdrawn', surface: 'engine' };
    }
  }

  function finish(entry: Open): void {
    if (away.signal.aborted) return;
    open.delete(entry.question.call);
    keep();
    const next = [...open.values()].at(-1);
    // Another question stands on the screen now.
    if (next && judge.state().state === 'needs_you') judge.event('hook', 'PermissionRequest', next.payload);
    context.poke();
  }

  function end(which: (entry: Open) => boolean, surface: string): void {
    for (const entry of open.values()) if (which(entry)) entry.cut({ kind: 'withdrawn', surface });
  }

  /** Nobody is left who could hand a decision over. */
  function hookless(entry: Open): void {
    if (entry.hooks === 0) entry.cut({ kind: 'withdrawn', surface: stillAsks() ? 'engine' : 'pane' });
  }

  const dialogStands = () => judge.sees()?.startsWith('claude.dialog.') === true;
  const takenUp = () =>
    new AppError('transport', `${bot.slug}@${bot.team} is being taken up again.`, 'Ask again in a moment.');
  const stillAsks = () => judge.state().state === 'needs_you';

  /** Approvals of an earlier runtime: what no hook has asked for again was answered in the pane meanwhile. */
  function settleKept(): void {
    const kept = context.recall().asking;
    const earlier = Array.isArray(kept) ? kept.filter(isKept) : [];
    if (earlier.length === 0) return;
    later(askAgainMs, () => {
      if (stillAsks()) return;
      for (const { call, id } of earlier) {
        if (!open.has(call)) desk.withdraw(id, 'pane').catch((fault: unknown) => note(wordsOf(fault)));
      }
    });
  }
  settleKept();

  return {
    async ask(payload, signal) {
      const question = questionOf(bot, payload);
      const ruled = question === null || open.has(question.call) ? null : await rule(question);
      if (ruled !== null) return ruled;
      // A sub-agent's question stops the pane as well: its dialog stands on the same screen.
      judge.event('hook', 'PermissionRequest', payload);
      context.poke();
      if (question === null) return {};
      if (open.size >= mostOpen && !open.has(question.call)) {
        note(`not asked as an approval: ${open.size} questions wait already`);
        return {};
      }
      if (away.signal.aborted) throw takenUp();
      const entry = open.get(question.call) ?? begin(question, payload);
      entry.hooks += 1;
      const answer = await Promise.race([entry.answer, gone(signal)]);
      entry.hooks -= 1;
      if (answer !== 'gone' && answer !== 'released') return decisionOf(answer);
      if (entry.hooks === 0 && !away.signal.aborted) later(hookReturnsMs, () => hookless(entry));
      // Also when this server closes: a hook that is still there must come back, not take this for an answer.
      throw takenUp();
    },
    event(event, payload) {
      if (toolEndEvents.includes(event)) {
        const call = callOf(payload);
        end((entry) => entry.question.call === call, 'pane');
      } else if (turnEnds.has(event)) {
        end(
          (entry) => entry.question.subAgent === (typeof payload.agent_id === 'string' ? payload.agent_id : null),
          'pane',
        );
      }
    },
    looked() {
      if (dialogStands()) for (const entry of open.values()) entry.dialogSeen = true;
    },
    left: () => end((entry) => entry.dialogSeen, 'pane'),
    exited: () => end(() => true, 'engine'),
    ids: () => [...open.values()].flatMap(({ id }) => id ?? []),
    close() {
      away.abort();
      for (const cancel of cancels) cancel();
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

function wordsOf(fault: unknown): string {
  return (fault instanceof AppError ? fault.fact : String(fault)).slice(0, 200);
}

function isKept(value: unknown): value is Kept {
  return (
    typeof value === 'object' && value !== null && 'call' in value && 'id' in value && typeof value.id === 'string'
  );
}
