/**
 * The questions that Claude Code asks now: each waits as an approval until a person answers it there or in the pane, whichever
 * comes first. Owns from when a question is open and how it is known to be gone; must not know what it says or who answers.
 *
 * Claude Code shows its dialog while the hook waits and takes whatever comes first. It does not tell a hook that a key has won:
 * that is seen by the dialog leaving the screen, by the tool having run, by the end of the turn, or by the hook being killed.
 */
import { rm, writeFile } from 'node:fs/promises';
import type { DriverContext } from '../adapter.ts';
import { createHookQuestions } from '../hook-questions.ts';
import { actionOf, callOf, isUnconfined, type Payload, type Question, questionOf, toolEndEvents } from './questions.ts';

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
      // Hooks look at it. Without the mark only a faster sign is missing.
      marked = marked
        .then(() => (asks ? writeFile(markFile, '', { mode: 0o600 }) : rm(markFile, { force: true })))
        .catch(() => undefined);
    },
    onBegin({ question }) {
      // Its dialog may have been drawn before this: a screen that stands still says nothing more.
      if (dialogStands()) seen.add(question.call);
    },
    onOver({ question }) {
      seen.delete(question.call);
      const next = [...questions.open.values()].at(-1);
      // Another question stands on the screen now.
      if (next && stillAsks()) judge.event('hook', 'PermissionRequest', next.payload);
    },
    hooklessAt: () => (stillAsks() ? 'engine' : 'pane'),
  });

  /** What the person has ruled beforehand; null: a person is asked. */
  async function rule(question: Question): Promise<Record<string, unknown> | null> {
    const { workspace } = context.recall();
    const action = await actionOf(bot, typeof workspace === 'string' ? workspace : null, question);
    const { verdict, rule } = context.policy.decide(action, null);
    if (verdict === 'ask' || (verdict === 'allow' && isUnconfined(question))) return null;
    return questions.ruled({ verdict, rule });
  }

  if (questions.earlier > 0) {
    questions.settle((withdraw) => {
      if (!stillAsks()) withdraw();
    });
  }

  return {
    async ask(payload, signal) {
      const question = questionOf(bot, payload);
      const ruled = question === null || questions.open.has(question.call) ? null : await rule(question);
      if (ruled !== null) return ruled;
      // A sub-agent's question stops the pane as well: its dialog stands on the same screen.
      judge.event('hook', 'PermissionRequest', payload);
      context.poke();
      if (question === null) return {};
      const { size } = questions.open;
      if (size >= mostOpen && !questions.open.has(question.call)) {
        questions.note(`not asked as an approval: ${size} questions wait already`);
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
