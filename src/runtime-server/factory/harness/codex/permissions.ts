/**
 * The question that Codex asks now: it waits as an approval while the hook waits, and Codex shows nothing but a status meanwhile. So it
 * waits for a minute at most, or until a person presses a key in the pane: then the approval is withdrawn to the pane, the hook says
 * nothing, and Codex's own dialog comes up there. Must not know what a question says or who answers it.
 */
import { AppError } from '../../../../contracts/common/errors.ts';
import type { DriverContext } from '../adapter.ts';
import { decisionOf, ruledOf } from '../claude/questions.ts';
import type { PermissionAnswer } from '../harness.ts';
import { askElsewhereMs } from './launch.ts';
import { actionsOf, type Payload, patchFiles, type Question, questionOf } from './questions.ts';

/** A hook whose connection was cut knocks again within two seconds, if it lives. */
const hookReturnsMs = 5000;
/** After a restart the waiting hooks have this long to ask again. */
const askAgainMs = 10_000;

export interface Permissions {
  /** Resolves to what the hook prints: a decision, or nothing where Codex is to ask in the pane. */
  ask(payload: Payload, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** A hook waits for a person. */
  waiting(): boolean;
  /** A person is at the pane: the question comes up there. */
  toPane(): void;
  exited(): void;
  ids(): readonly string[];
  /** Lets go: approvals stay, and the hooks come back to whoever takes the bot up. */
  close(): void;
}

type End = PermissionAnswer | 'released';

interface Open {
  readonly question: Question;
  readonly answer: Promise<End>;
  readonly cut: (end: End) => void;
  id: string | null;
  hooks: number;
}

export function createPermissions(context: DriverContext): Permissions {
  const { bot, desk, judge, timers } = context;
  const open = new Map<string, Open>();
  const away = new AbortController();
  const cancels = new Set<() => void>();

  const note = (seen: string) => judge.take({ source: 'hook', rule: 'codex.approval', claim: null, seen });

  function later(ms: number, act: () => void): () => void {
    const cancel = timers.after(ms, () => {
      cancels.delete(cancel);
      act();
    });
    cancels.add(cancel);
    return cancel;
  }

  /** What a restarted runtime needs to end approvals that no hook asks for again. */
  function keep(): void {
    context.remember({ asking: [...open].flatMap(([call, { id }]) => (id === null ? [] : [{ call, id }])) });
  }

  /** What the person has ruled beforehand; null: a person is asked. One file that may not be changed holds the whole patch. */
  async function rule(question: Question): Promise<Record<string, unknown> | null> {
    const { workspace } = context.recall();
    const actions = await actionsOf(bot, typeof workspace === 'string' ? workspace : null, question);
    const verdicts = actions.map((action) => context.policy.decide(action, null));
    const found =
      verdicts.find(({ verdict }) => verdict === 'deny') ??
      (verdicts.every(({ verdict }) => verdict === 'allow') ? verdicts[0] : undefined);
    if (found === undefined || found.verdict === 'ask') return null;
    note(`${found.verdict === 'allow' ? 'allowed' : 'refused'} without asking: ${found.rule}`);
    return ruledOf({ verdict: found.verdict, rule: found.rule });
  }

  function begin(question: Question): Open {
    let cut: Open['cut'] = () => {};
    const ended = new Promise<End>((resolve) => {
      cut = resolve;
    });
    const cancel = later(askElsewhereMs, () => cut({ kind: 'withdrawn', surface: 'pane' }));
    const entry: Open = {
      question,
      cut,
      answer: wait(question, ended).then((answer) => {
        cancel();
        finish(question, answer);
        return answer;
      }),
      id: null,
      hooks: 0,
    };
    open.set(question.call, entry);
    keep();
    return entry;
  }

  async function wait({ ask, call }: Question, ended: Promise<End>): Promise<End> {
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

  function finish(question: Question, answer: End): void {
    if (away.signal.aborted) return;
    open.delete(question.call);
    keep();
    // Codex says nothing of its own when a hook has decided: its status has read "Working" all the while.
    if (answer !== 'released' && (answer.kind === 'approve' || answer.kind === 'reject') && open.size === 0) goesOn();
    context.poke();
  }

  function goesOn(): void {
    const claim = { state: 'working' } as const;
    judge.take({ source: 'hook', rule: 'codex.answered', claim, seen: 'the question is over', from: ['needs_you'] });
  }

  const takenUp = () =>
    new AppError('transport', `${bot.slug}@${bot.team} is being taken up again.`, 'Ask again in a moment.');

  /** Approvals of an earlier runtime: what no hook has asked for again was answered in the pane, or given up. */
  function settleKept(): void {
    const kept = context.recall().asking;
    const earlier = Array.isArray(kept) ? kept.filter(isKept) : [];
    if (judge.state().state !== 'needs_you' && earlier.length === 0) return;
    later(askAgainMs, () => {
      for (const { call, id } of earlier) {
        if (!open.has(call)) desk.withdraw(id, 'pane').catch((fault: unknown) => note(wordsOf(fault)));
      }
      if (open.size === 0 && judge.sees()?.startsWith('codex.working.')) goesOn();
      context.poke();
    });
  }
  settleKept();

  return {
    async ask(payload, signal) {
      const question = questionOf(bot, payload);
      if (question === null) return {};
      const ruled = open.has(question.call) ? null : await rule(question);
      if (ruled !== null) return ruled;
      judge.event('hook', 'PermissionRequest', {
        ...payload,
        files: patchFiles(String(question.input.command ?? '')).join(', '),
      });
      context.poke();
      if (away.signal.aborted) throw takenUp();
      const entry = open.get(question.call) ?? begin(question);
      entry.hooks += 1;
      const answer = await Promise.race([entry.answer, gone(signal)]);
      entry.hooks -= 1;
      if (answer !== 'gone' && answer !== 'released') return decisionOf(answer);
      // An interrupted turn takes its hook with it.
      const hookless = () => entry.hooks === 0 && entry.cut({ kind: 'withdrawn', surface: 'pane' });
      if (entry.hooks === 0 && !away.signal.aborted) later(hookReturnsMs, hookless);
      throw takenUp();
    },
    waiting: () => open.size > 0,
    toPane() {
      for (const entry of open.values()) entry.cut({ kind: 'withdrawn', surface: 'pane' });
    },
    exited() {
      for (const entry of open.values()) entry.cut({ kind: 'withdrawn', surface: 'engine' });
    },
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

function isKept(value: unknown): value is { call: string; id: string } {
  return (
    typeof value === 'object' && value !== null && 'call' in value && 'id' in value && typeof value.id === 'string'
  );
}
