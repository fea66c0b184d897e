/**
 * The `copilot` harness: GitHub Copilot CLI in a pane. State comes from hooks, and from the screen where hooks are silent. Messages are pasted;
 * evidence is the submit hook, else the transcript, else the composer. Its questions are read in its transcript and answered in its dialog. Must not
 * know other harnesses.
 */
import { existsSync } from 'node:fs';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { createFolderQuestion } from '../folder-question.ts';
import { sessionToResume } from '../launch-parts.ts';
import { createPasteDelivery } from '../paste-delivery.ts';
import type { Harness } from '../program.ts';
import { promptsSince, transcriptOf } from '../prompt-witness.ts';
import { holdsOurs, readComposer } from './composer.ts';
import { execCopilot } from './exec.ts';
import { copilotHome, launchCopilot } from './launch.ts';
import { piecesOf } from './pieces.ts';
import { copilotProgram } from './program.ts';
import { createQuestions } from './questions.ts';
import { copilotRules, trustChoice, trustRule } from './rules.ts';
import { copilotPrompt, transcriptFile } from './transcript.ts';
import { readCopilotUsage } from './usage.ts';

export const copilot = { ...copilotProgram, adapter: createCopilotAdapter } satisfies Harness;

function createCopilotAdapter(around: Surroundings): Adapter {
  return {
    ruleset: copilotRules,
    async prepare(bot, paths, memory) {
      const home = copilotHome(around, bot);
      const last = sessionToResume(bot, memory);
      // Before its first message there is no conversation to continue, and the program would refuse and end.
      const known = last !== null && existsSync(transcriptFile(home, last)) ? last : null;
      const { launch, sessionId } = await launchCopilot(around, bot, paths, known);
      return { launch, facts: { sessionId, transcript: transcriptFile(home, sessionId), workspace: paths.workspace } };
    },
    drive: driveCopilot,
    exec: (bot, paths, text, options) => execCopilot(around, bot, paths, text, options),
    usage: readCopilotUsage,
  };
}

function driveCopilot(context: DriverContext): Driver {
  const { judge } = context;
  const questions = createQuestions(context);
  const folder = createFolderQuestion(context, {
    harness: 'copilot',
    program: 'Copilot',
    rule: trustRule,
    chosen: ({ bottom }) => trustChoice(bottom),
    noEnds: true,
  });
  const delivery = createPasteDelivery(context, {
    composer: readComposer,
    holds: holdsOurs,
    pieces: piecesOf,
    transcript: () => promptsSince(() => transcriptOf(context.recall()), copilotPrompt),
    // Its Ctrl-U keeps the line break.
    clearKeys: '\x15\x7f',
    losesEarly: true,
    // Its screen is drawn late on a loaded computer.
    shownMs: 4000,
    // Its hook runs before the model is asked, and is a program that starts.
    witnessMs: 4000,
    lateMs: 2000,
  });

  return {
    obstacle: delivery.obstacle,
    resume: delivery.resume,
    deliver: delivery.deliver,
    onInput: delivery.touched,
    onFacts() {
      questions.looked();
      folder.looked();
    },
    onState() {
      questions.look();
      folder.looked();
    },
    onExit() {
      questions.exited();
      folder.exited();
    },
    close() {
      questions.close();
      folder.close();
    },
    approvals: () => [...questions.ids(), ...folder.ids()],
    async onHook(event, payload) {
      if (event === 'UserPromptSubmit' && typeof payload.prompt === 'string') delivery.taken(payload.prompt);
      judge.event('hook', event, payload);
      questions.look();
      return {};
    },
  };
}
