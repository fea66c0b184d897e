/**
 * The questions that Claude Code asks now: each waits as an approval until a person answers it there or in the pane, whichever comes first. Owns
 * from when a question is open and how its end is noticed; must not know its content or who answers.
 *
 * Claude Code shows its dialog while the hook waits and takes whichever answer comes first. It does not tell a hook that a key has won. The signs
 * are: the dialog leaves the screen, the tool runs, the turn ends, or the hook is killed.
 */
import { rm, writeFile } from 'node:fs/promises';
import type { DriverContext } from '../adapter.ts';
import { createHookQuestions } from '../hook-questions.ts';
import { actionOf, callOf, isUnconfined, type Payload, type Question, questionOf, toolEndEvents } from './questions.ts';

/** A program asks one thing at a time, its sub-agents a few; more would only bury the person's inbox. */
const maxOpen = 20;
/** Ends of the main turn: none of its questions can be open any more. */
const turnEnds: ReadonlySet<string> = new Set(['Stop', 'StopFailure', 'SessionEnd']);

interface Permissions {
  /** Resolves to the hook's output, once a person has answered or the question is gone. */
  ask(payload: Payload, signal: AbortSignal): Promise<Record<string, unknown>>;
  event(event: string, payload: Payload): void;
  /** The screen was read. */
  looked(): void;
  /** The state is no longer `needs_you`. */
  left(): void;
  exited(): void;
  ids(): readonly string[];
  /** Releases the questions: approvals stay, and the hooks reconnect to the next runtime. */
  close(): void;
}

export function createPermissions(context: DriverContext): Permissions {
  const { bot, judge } = context;
  const markFile = context.recall().askingMark;
  /** Calls whose dialog has been seen on the screen. */
  const seen = new Set<string>();
  let marked = Promise.resolve();

  const dialogStands = () => judge.sees()?.startsWith('claude.dialog.') === true;
  const stillAsks = () => judge.state().state === 'needs_you';

  const questions = createHookQuestions<Question>(context, {
    harness: 'claude',
    onChange() {
      if (typeof markFile !== 'string') return;
      const asks = questions.open.size > 0;
      // Hooks check this mark. Without it only a faster signal is missing.
      marked = marked
        .then(() => (asks ? writeFile(markFile, '', { mode: 0o600 }) : rm(markFile, { force: true })))
        .catch(() => undefined);
    },
    onBegin({ question }) {
      // Its dialog may have been drawn before this: an unchanged screen reports nothing more.
      if (dialogStands()) seen.add(question.call);
    },
    onOver({ question }) {
      seen.delete(question.call);
      const next = [...questions.open.values()].at(-1);
      // The screen shows another question now.
      if (next && stillAsks()) judge.event('hook', 'PermissionRequest', next.payload);
    },
    hooklessAt: () => (stillAsks() ? 'engine' : 'pane'),
  });

  /** The decision of the person's rules, or the question with what a rule could say. */
  async function rule(question: Question): Promise<{ ruled: Record<string, unknown> } | { asks: Question }> {
    const { workspace } = context.recall();
    const action = await actionOf(bot, typeof workspace === 'string' ? workspace : null, question);
    const { verdict, rule } = context.policy.decide(action, null);
    if (isUnconfined(question) && verdict !== 'deny') return { asks: question };
    if (verdict === 'ask') return { asks: { ...question, ask: { ...question.ask, action } } };
    return { ruled: questions.ruled({ verdict, rule }) };
  }

  if (questions.earlier > 0) {
    questions.settle((withdraw) => {
      if (!stillAsks()) withdraw();
    });
  }

  return {
    async ask(payload, signal) {
      let question = questionOf(bot, payload);
      if (question !== null && !questions.open.has(question.call)) {
        const found = await rule(question);
        if ('ruled' in found) return found.ruled;
        question = found.asks;
      }
      // A sub-agent's question blocks the pane as well: its dialog is on the same screen.
      judge.event('hook', 'PermissionRequest', payload);
      context.poke();
      if (question === null) return {};
      const { size } = questions.open;
      if (size >= maxOpen && !questions.open.has(question.call)) {
        questions.note(`not asked as an approval: ${size} questions are already waiting`);
        return {};
      }
      return questions.wait(question, payload, signal);
    },
    event(event, payload) {
      if (toolEndEvents.includes(event)) {
        const call = callOf(payload);
        questions.withdraw(({ question }) => question.call === call, 'pane');
      } else if (turnEnds.has(event)) {
        const agent = typeof payload.agent_id === 'string' ? payload.agent_id : null;
        questions.withdraw(({ question }) => question.subAgent === agent, 'pane');
      }
    },
    looked() {
      if (dialogStands()) for (const call of questions.open.keys()) seen.add(call);
    },
    left: () => questions.withdraw(({ question }) => seen.has(question.call), 'pane'),
    exited: () => questions.withdraw(() => true, 'engine'),
    ids: questions.ids,
    close: questions.close,
  };
}
