/**
 * The `claude` harness: Claude Code in a pane. State by hooks, and by the screen where hooks are silent; messages are pasted;
 * evidence is the submit hook, else the transcript, else the composer. Must not know other harnesses.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import type { DeliverResult, Outgoing } from '../harness.ts';
import { composePrompt, containsText } from '../wording.ts';
import { holdsOurs, readComposer } from './composer.ts';
import { execClaude } from './exec.ts';
import { askingMark, launchClaude } from './launch.ts';
import { createPermissions } from './permissions.ts';
import { toolEndEvents } from './questions.ts';
import { claudeRules } from './rules.ts';
import { transcriptEnd, transcriptFile, transcriptHolds } from './transcript.ts';
import { readClaudeUsage } from './usage.ts';

/** Until the composer shows a paste. It is drawn within a frame; a loaded computer and long texts take longer. */
const pasteShownMs = 2000;
/** Hook and transcript come before the model is asked. After this the composer is allowed to testify and Enter may be repeated. */
const witnessMs = 2000;
/** How much longer a late witness is waited for. */
const lateWitnessMs = 3500;
const transcriptEveryMs = 150;

export function createClaudeAdapter(around: Surroundings): Adapter {
  return {
    ruleset: claudeRules,
    async prepare(bot, doors, memory) {
      // Before its first message there is no conversation to go on with, and the program would refuse and end.
      const begun = typeof memory.transcript === 'string' && existsSync(memory.transcript);
      const known = begun && typeof memory.sessionId === 'string' ? memory.sessionId : null;
      const { launch, sessionId } = await launchClaude(around, bot, doors, bot.resume === true ? known : null);
      // Known before any hook has come, so that the second witness does not depend on the first.
      const config = bot.env.CLAUDE_CONFIG_DIR ?? around.env.CLAUDE_CONFIG_DIR ?? join(around.home, '.claude');
      const transcript = transcriptFile(config, bot.cwd, sessionId);
      return {
        launch,
        facts: { sessionId, transcript, askingMark: askingMark(doors.folder), workspace: doors.workspace },
      };
    },
    drive: driveClaude,
    exec: (bot, doors, text, options) => execClaude(around, bot, doors, text, options),
    usage: readClaudeUsage,
  };
}

function driveClaude(context: DriverContext): Driver {
  const { judge, panes, paneId } = context;
  /** The message on its way, while it waits for its witness. */
  let pending: { text: string; submitted: boolean } | null = null;
  const permissions = createPermissions(context);

  const composer = () => {
    const facts = context.facts();
    return facts ? readComposer(facts) : ({ kind: 'closed' } as const);
  };
  const transcript = (): string | null => {
    const file = context.recall().transcript;
    return typeof file === 'string' ? file : null;
  };

  /** Looks for the submit hook and, now and then, into the transcript. */
  async function witness(text: string, offset: number, ms: number): Promise<'hook' | 'transcript' | null> {
    const end = context.clock.monotonic() + ms;
    for (;;) {
      const left = end - context.clock.monotonic();
      if (await context.until(() => pending?.submitted === true, Math.max(0, Math.min(left, transcriptEveryMs))))
        return 'hook';
      if (await transcriptHolds(transcript(), offset, text)) return 'transcript';
      if (left <= 0) return null;
    }
  }

  async function type(text: string): Promise<DeliverResult | 'entered'> {
    return context.typing.run(async () => {
      const gate = context.gate();
      if (!gate.open) return { state: 'held', why: gate.why };
      await panes.write(paneId, `\x1b[200~${text}\x1b[201~`);
      if (!(await context.until(() => holdsOurs(composer(), text), pasteShownMs))) {
        // A dialog that came up in between drops a paste; Enter would answer the dialog.
        if (composer().kind === 'closed') return { state: 'held', why: 'a dialog opened' };
        return {
          state: 'unconfirmed',
          evidence: null,
          detail: 'the composer did not show the text; Enter was not pressed',
        };
      }
      await panes.write(paneId, '\r');
      return 'entered';
    });
  }

  /** Once, and only while the composer still shows exactly our text and nothing else has happened. */
  async function enterAgain(text: string): Promise<boolean> {
    return context.typing.run(async () => {
      if (judge.state().state !== 'idle' || !holdsOurs(composer(), text)) return false;
      await panes.write(paneId, '\r');
      return true;
    });
  }

  async function deliver(message: Outgoing): Promise<DeliverResult> {
    const text = composePrompt(message);
    const offset = await transcriptEnd(transcript());
    pending = { text, submitted: false };
    try {
      const typed = await type(text);
      if (typed !== 'entered') return typed;
      let seen = await witness(text, offset, witnessMs);
      if (!seen && (await enterAgain(text))) seen = await witness(text, offset, witnessMs);
      if (seen === 'hook') return { state: 'verified', evidence: 'hook', detail: 'its submit hook reported this text' };
      if (seen) return { state: 'verified', evidence: 'transcript', detail: 'its transcript holds this text' };
      // The composer held exactly our text before Enter; emptied into a turn, it was taken.
      const taken = () => composer().kind === 'empty' && judge.state().state === 'working';
      if (await context.until(taken, lateWitnessMs)) {
        return {
          state: 'verified',
          evidence: 'composer',
          detail: 'the composer held this text and emptied into a turn',
        };
      }
      return {
        state: 'unconfirmed',
        evidence: null,
        detail: 'Enter was pressed, but neither hook, transcript nor composer showed it',
      };
    } finally {
      pending = null;
    }
  }

  return {
    obstacle() {
      const facts = context.facts();
      if (!facts?.bracketedPaste) return 'the composer does not take pastes';
      const now = composer();
      return now.kind === 'empty' ? null : now.kind === 'text' ? 'draft' : 'the composer is not shown';
    },
    deliver,
    onFacts: permissions.looked,
    onState: ({ state }) => {
      if (state !== 'needs_you') permissions.left();
    },
    onExit: permissions.exited,
    close: permissions.close,
    approvals: permissions.ids,
    async onHook(event, payload, signal) {
      if (event === 'PermissionRequest') return permissions.ask(payload, signal);
      permissions.event(event, payload);
      if (toolEndEvents.includes(event)) return {};
      // A sub-agent's events say nothing about the main turn; a late one would revive an idle pane.
      if (typeof payload.agent_id === 'string' && payload.agent_id !== '') return {};
      if (typeof payload.transcript_path === 'string' && payload.transcript_path !== transcript()) {
        context.remember({ transcript: payload.transcript_path, sessionId: payload.session_id });
      }
      if (event === 'UserPromptSubmit' && pending && typeof payload.prompt === 'string') {
        if (containsText(payload.prompt, pending.text)) pending.submitted = true;
      }
      judge.event('hook', event, payload);
      return {};
    },
  };
}
