/**
 * The `gemini` harness: Gemini CLI in a pane. State comes from its title, else from the screen. Messages are pasted; evidence is its transcript,
 * else the composer. It has no hooks of ours, so a question is answered in its pane, except whether it may work in its folder. Must not know other harnesses.
 */
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { createFolderQuestion } from '../folder-question.ts';
import { sessionToResume } from '../launch-parts.ts';
import { createPasteDelivery } from '../paste-delivery.ts';
import type { Harness } from '../program.ts';
import { promptsSince } from '../prompt-witness.ts';
import { holdsOurs, readComposer } from './composer.ts';
import { execGemini } from './exec.ts';
import { launchGemini } from './launch.ts';
import { geminiProgram } from './program.ts';
import { geminiRules, keepsPrompts, trustChoice, trustRule } from './rules.ts';
import { findTranscripts, geminiPrompt, rememberedTranscripts } from './transcript.ts';
import { readGeminiUsage } from './usage.ts';

/** An Enter that comes sooner is lost, and later pastes pile up behind it. */
const settleMs = { small: 80, large: 1000, huge: 2500 };
const large = 4000;
const huge = 20_000;

export const gemini = { ...geminiProgram, adapter: createGeminiAdapter } satisfies Harness;

function createGeminiAdapter(around: Surroundings): Adapter {
  return {
    ruleset: geminiRules,
    async prepare(bot, paths, memory) {
      const geminiHome = bot.env.GEMINI_CLI_HOME ?? around.env.GEMINI_CLI_HOME ?? around.home;
      const known = sessionToResume(bot, memory);
      const there = known === null ? [] : await findTranscripts(geminiHome, bot.cwd, known);
      const { launch, sessionId } = await launchGemini(around, bot, paths, there.length === 0 ? null : known);
      const transcript = there.at(-1);
      return { launch, facts: { sessionId, geminiHome, cwd: bot.cwd, ...(transcript && { transcript }) } };
    },
    drive: driveGemini,
    exec: (bot, paths, text, options) => execGemini(around, bot, paths, text, options),
    usage: readGeminiUsage,
  };
}

function driveGemini(context: DriverContext): Driver {
  /** They appear with a prompt, the first one or the first after a resume, so they are looked for each time. */
  async function transcripts(): Promise<readonly string[]> {
    const facts = { geminiHome: context.home, cwd: context.bot.cwd, ...context.recall() };
    const files = await rememberedTranscripts(facts);
    const newest = files.at(-1);
    if (newest !== undefined && newest !== context.recall().transcript) context.remember({ transcript: newest });
    return files;
  }
  const delivery = createPasteDelivery(context, {
    composer: readComposer,
    holds: holdsOurs,
    transcript: () => promptsSince(transcripts, geminiPrompt),
    settleMs: ({ length }) => (length >= huge ? settleMs.huge : length >= large ? settleMs.large : settleMs.small),
    losesEarly: true,
    shownMs: 2500,
    witnessMs: 1500,
    lateMs: 1500,
    keepsPrompts: ({ bottom }) => keepsPrompts(bottom),
  });
  const folder = createFolderQuestion(context, {
    harness: 'gemini',
    program: 'Gemini CLI',
    rule: trustRule,
    chosen: ({ bottom }) => trustChoice(bottom),
    noEnds: false,
  });
  return {
    obstacle: delivery.obstacle,
    resume: delivery.resume,
    onInput: delivery.touched,
    onFacts: folder.looked,
    onState: folder.looked,
    onExit: folder.exited,
    close: folder.close,
    approvals: folder.ids,
    deliver: delivery.deliver,
  };
}
