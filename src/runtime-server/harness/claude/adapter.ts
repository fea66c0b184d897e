/**
 * The `claude` harness: Claude Code in a pane. State comes from hooks, and from the screen where hooks are silent. Messages are pasted; evidence is
 * the submit hook, else the transcript, else the composer. Must not know other harnesses.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { createFolderQuestion } from '../folder-question.ts';
import { reportedSession, sessionToResume } from '../launch-parts.ts';
import { createPasteDelivery } from '../paste-delivery.ts';
import type { Harness } from '../program.ts';
import { promptsSince, transcriptOf } from '../prompt-witness.ts';
import { holdsOurs, readComposer } from './composer.ts';
import { execClaude } from './exec.ts';
import { askingMark, launchClaude } from './launch.ts';
import { createPermissions } from './permissions.ts';
import { claudeProgram } from './program.ts';
import { toolEndEvents } from './questions.ts';
import { claudeRules, trustChoice, trustRule } from './rules.ts';
import { claudePrompt, transcriptFile } from './transcript.ts';
import { readClaudeUsage } from './usage.ts';

export const claude = { ...claudeProgram, adapter: createClaudeAdapter } satisfies Harness;

function createClaudeAdapter(around: Surroundings): Adapter {
  return {
    ruleset: claudeRules,
    async prepare(bot, paths, memory) {
      // Before its first message there is no conversation to continue, and the program would refuse and end.
      const begun = typeof memory.transcript === 'string' && existsSync(memory.transcript);
      const known = begun ? sessionToResume(bot, memory) : null;
      const { launch, sessionId } = await launchClaude(around, bot, paths, known);
      // Known before any hook arrives, so that the second witness does not depend on the first.
      const config = bot.env.CLAUDE_CONFIG_DIR ?? around.env.CLAUDE_CONFIG_DIR ?? join(around.home, '.claude');
      const transcript = transcriptFile(config, bot.cwd, sessionId);
      return {
        launch,
        facts: { sessionId, transcript, askingMark: askingMark(paths.folder), workspace: paths.workspace },
      };
    },
    drive: driveClaude,
    exec: (bot, paths, text, options) => execClaude(around, bot, paths, text, options),
    usage: readClaudeUsage,
  };
}

function driveClaude(context: DriverContext): Driver {
  const { judge } = context;
  const permissions = createPermissions(context);
  const folder = createFolderQuestion(context, {
    harness: 'claude',
    program: 'Claude Code',
    rule: trustRule,
    chosen: ({ bottom }) => trustChoice(bottom),
    noEnds: true,
  });
  const delivery = createPasteDelivery(context, {
    composer: readComposer,
    holds: holdsOurs,
    transcript: () => promptsSince(() => transcriptOf(context.recall()), claudePrompt),
    // A paste is drawn within a frame; a loaded computer and long texts take longer.
    shownMs: 2000,
    // Hook and transcript report before the model is asked.
    witnessMs: 2000,
    lateMs: 3500,
  });

  return {
    obstacle: delivery.obstacle,
    resume: delivery.resume,
    deliver: delivery.deliver,
    onInput: delivery.touched,
    onFacts() {
      permissions.looked();
      folder.looked();
    },
    onState({ state }) {
      if (state !== 'needs_you') permissions.left();
      folder.looked();
    },
    onExit() {
      permissions.exited();
      folder.exited();
    },
    close() {
      permissions.close();
      folder.close();
    },
    approvals: () => [...permissions.ids(), ...folder.ids()],
    async onHook(event, payload, signal) {
      if (event === 'PermissionRequest') return permissions.ask(payload, signal);
      permissions.event(event, payload);
      if (toolEndEvents.includes(event)) return {};
      // A sub-agent's events say nothing about the main turn; a late one would revive an idle pane.
      if (typeof payload.agent_id === 'string' && payload.agent_id !== '') return {};
      const session = reportedSession(payload);
      if (session !== null && session.transcript !== context.recall().transcript) context.remember(session);
      if (event === 'UserPromptSubmit' && typeof payload.prompt === 'string') delivery.taken(payload.prompt);
      judge.event('hook', event, payload);
      return {};
    },
  };
}
