/**
 * The question that Codex asks now: it waits as an approval while the hook waits, and Codex shows only a status until then. So it waits for a minute
 * at most, or until a person presses a key in the pane: then the approval is withdrawn to the pane, the hook prints nothing, and Codex shows its own
 * dialog there. Must not know a question's content or who answers it.
 */
import type { DriverContext } from '../adapter.ts';
import { createHookQuestions } from '../hook-questions.ts';
import { askElsewhereMs } from './launch.ts';
import { actionsOf, type Payload, patchFiles, type Question, questionOf } from './questions.ts';

interface Permissions {
  /** Resolves to the hook's output: a decision, or nothing where Codex should ask in the pane. */
  ask(payload: Payload, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** A hook waits for a person. */
  waiting(): boolean;
  /** A person is at the pane: the question comes up there. */
  toPane(): void;
  exited(): void;
  ids(): readonly string[];
  /** Releases the question: approvals stay, and the hooks reconnect to the next runtime. */
  close(): void;
}

export function createPermissions(context: DriverContext): Permissions {
  const { bot, judge } = context;
  /** Ends the minute of each. */
  const minutes = new Map<string, () => void>();

  const questions = createHookQuestions<Question>(context, {
    harness: 'codex',
    onBegin({ question, cut }) {
      const toPane = () => cut({ kind: 'withdrawn', surface: 'pane' });
      minutes.set(question.call, questions.later(askElsewhereMs, toPane));
    },
    onOver({ question }, answer) {
      minutes.get(question.call)?.();
      minutes.delete(question.call);
      const decided = answer !== 'released' && (answer.kind === 'approve' || answer.kind === 'reject');
      // Codex reports nothing when a hook has decided: its status has read "Working" the whole time.
      if (decided && questions.open.size === 0) goesOn();
    },
    // An interrupted turn takes its hook with it.
    hooklessAt: () => 'pane',
  });

  /** The decision of the person's rules; null: a person is asked. One file that may not be changed blocks the whole patch. */
  async function rule(question: Question): Promise<Record<string, unknown> | null> {
    const { workspace } = context.recall();
    const actions = await actionsOf(bot, typeof workspace === 'string' ? workspace : null, question);
    const verdicts = actions.map((action) => context.policy.decide(action, null));
    const found =
      verdicts.find(({ verdict }) => verdict === 'deny') ??
      (verdicts.every(({ verdict }) => verdict === 'allow') ? verdicts[0] : undefined);
    if (found === undefined || found.verdict === 'ask') return null;
    return questions.ruled({ verdict: found.verdict, rule: found.rule });
  }

  function goesOn(): void {
    const claim = { state: 'working' } as const;
    judge.take({ source: 'hook', rule: 'codex.answered', claim, seen: 'the question is over', from: ['needs_you'] });
  }

  if (judge.state().state === 'needs_you' || questions.earlier > 0) {
    questions.settle((withdraw) => {
      withdraw();
      if (questions.open.size === 0 && judge.sees()?.startsWith('codex.working.')) goesOn();
      context.poke();
    });
  }

  return {
    async ask(payload, signal) {
      const question = questionOf(bot, payload);
      if (question === null) return {};
      const ruled = questions.open.has(question.call) ? null : await rule(question);
      if (ruled !== null) return ruled;
      judge.event('hook', 'PermissionRequest', {
        ...payload,
        files: patchFiles(String(question.input.command ?? '')).join(', '),
      });
      context.poke();
      return questions.wait(question, payload, signal);
    },
    waiting: () => questions.open.size > 0,
    toPane: () => questions.withdraw(() => true, 'pane'),
    exited: () => questions.withdraw(() => true, 'engine'),
    ids: questions.ids,
    close: questions.close,
  };
}
