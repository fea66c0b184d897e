/**
 * The `codex` harness: Codex in a pane. State comes from the status that it sends, from hooks for questions and accepted prompts, and from the
 * screen for dialogs and failures. Messages are pasted; evidence is the submit hook, else the transcript, else the composer. Must not know other
 * harnesses.
 */
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { createFolderQuestion } from '../folder-question.ts';
import { reportedSession, sessionToResume } from '../launch-parts.ts';
import { createPasteDelivery } from '../paste-delivery.ts';
import type { Harness } from '../program.ts';
import { promptsSince, textsOf, transcriptOf } from '../prompt-witness.ts';
import { holdsOurs, lastFailure, readComposer } from './composer.ts';
import { execCodex } from './exec.ts';
import { isThere, launchCodex } from './launch.ts';
import { createPermissions } from './permissions.ts';
import { codexProgram } from './program.ts';
import { codexRules, limitWords, trustChoice, trustRule } from './rules.ts';
import { readCodexUsage } from './usage.ts';

/** Its status reads "Idle" for a moment while it starts and between turns. */
const idleHoldsMs = 400;
const idleStatus = /(^|;)status=Idle(;|$)/u;
const workingStatus = /(^|;)status=Working(;|$)/u;

export const codex = { ...codexProgram, adapter: createCodexAdapter } satisfies Harness;

function createCodexAdapter(around: Surroundings): Adapter {
  return {
    ruleset: codexRules,
    async prepare(bot, paths, memory) {
      // Its session has an id and a transcript from the first prompt on.
      const resume = (await isThere(memory.transcript)) ? sessionToResume(bot, memory) : null;
      const launch = await launchCodex(around, bot, paths, resume);
      const session = resume === null ? {} : { sessionId: resume, transcript: memory.transcript };
      return { launch, facts: { ...session, workspace: paths.workspace } };
    },
    drive: driveCodex,
    exec: (bot, paths, text, options) => execCodex(around, bot, paths, text, options),
    usage: readCodexUsage,
  };
}

function driveCodex(context: DriverContext): Driver {
  const { judge, timers } = context;
  const permissions = createPermissions(context);
  const folder = createFolderQuestion(context, {
    harness: 'codex',
    program: 'Codex',
    rule: trustRule,
    chosen: ({ bottom }) => trustChoice(bottom),
    noEnds: false,
  });
  let cancelIdle: (() => void) | null = null;
  /** The failure of this turn was read; one of an earlier turn that is still on screen was. */
  let failureRead = judge.state().state !== 'working';
  const delivery = createPasteDelivery(context, {
    composer: readComposer,
    holds: holdsOurs,
    transcript: () => promptsSince(() => transcriptOf(context.recall()), codexPrompt),
    losesEarly: true,
    shownMs: 2000,
    witnessMs: 2000,
    lateMs: 3500,
  });

  /** A limit is no failed turn: it blocks, once for each turn that ends with it. */
  function readFailure(): void {
    const facts = context.facts();
    const { state } = judge.state();
    if (failureRead || !facts || (state !== 'idle' && state !== 'working')) return;
    const words = lastFailure(facts);
    if (words === null || !limitWords.test(words)) return;
    failureRead = true;
    const claim = { state: 'blocked', reason: `usage limit: ${words.slice(0, 300)}` } as const;
    judge.take({ source: 'screen', rule: 'codex.limit', claim, seen: words.slice(0, 200) });
  }

  return {
    obstacle: delivery.obstacle,
    resume: delivery.resume,
    deliver: delivery.deliver,
    onFacts() {
      readFailure();
      folder.looked();
    },
    onOsc({ code, text }) {
      if (code !== 21337) return;
      cancelIdle?.();
      cancelIdle = null;
      // While a hook asks a person, Codex reports only "Working".
      if (workingStatus.test(text) && permissions.waiting()) return;
      if (!idleStatus.test(text)) {
        judge.event('osc', String(code), { text });
        return;
      }
      cancelIdle = timers.after(idleHoldsMs, () => {
        cancelIdle = null;
        judge.event('osc', String(code), { text });
        context.poke();
      });
    },
    onInput() {
      delivery.touched();
      permissions.toPane();
    },
    onState({ state }) {
      if (state === 'working') failureRead = false;
      folder.looked();
    },
    onExit() {
      permissions.exited();
      folder.exited();
    },
    close() {
      cancelIdle?.();
      permissions.close();
      folder.close();
    },
    approvals: () => [...permissions.ids(), ...folder.ids()],
    async onHook(event, payload, signal) {
      if (event === 'PermissionRequest') return permissions.ask(payload, signal);
      // A sub-agent's events say nothing about the main turn.
      if (typeof payload.agent_id === 'string' && payload.agent_id !== '') return {};
      const session = reportedSession(payload);
      if (session !== null && session.transcript !== context.recall().transcript) context.remember(session);
      if (event === 'UserPromptSubmit' && typeof payload.prompt === 'string') delivery.taken(payload.prompt);
      judge.event('hook', event, payload);
      return {};
    },
  };
}

/**
 * A prompt in Codex's transcript (its rollout file): a `response_item` that is a message of the user. The file appears with the first prompt, and the
 * hooks name it.
 */
function codexPrompt(entry: Readonly<Record<string, unknown>>): string | null {
  const payload = entry.payload as { type?: unknown; role?: unknown; content?: unknown } | null | undefined;
  if (entry.type !== 'response_item' || payload?.type !== 'message' || payload.role !== 'user') return null;
  return textsOf(payload.content);
}
