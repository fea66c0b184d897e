/**
 * The `gemini` harness: Gemini CLI in a pane. State by its title, else by the screen; messages are pasted; evidence is its transcript,
 * else the composer. It has no hooks of ours, so a question is answered in its pane. Must not know other harnesses.
 */
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { createPasteDelivery } from '../paste-delivery.ts';
import { transcriptEnd, transcriptHolds } from '../prompt-witness.ts';
import { holdsOurs, readComposer } from './composer.ts';
import { execGemini } from './exec.ts';
import { launchGemini } from './launch.ts';
import { geminiRules } from './rules.ts';
import { findTranscript, geminiPrompt } from './transcript.ts';
import { readGeminiUsage } from './usage.ts';

/** An Enter that comes sooner is lost, and later pastes pile up behind it. */
const settleMs = { small: 80, large: 1000, huge: 2500 };
const large = 4000;
const huge = 20_000;

export function createGeminiAdapter(around: Surroundings): Adapter {
  return {
    ruleset: geminiRules,
    async prepare(bot, doors, memory) {
      const geminiHome = bot.env.GEMINI_CLI_HOME ?? around.env.GEMINI_CLI_HOME ?? around.home;
      const known = bot.resume === true && typeof memory.sessionId === 'string' ? memory.sessionId : null;
      const there = known === null ? null : await findTranscript(geminiHome, bot.cwd, known);
      const { launch, sessionId } = await launchGemini(around, bot, doors, there === null ? null : known);
      return { launch, facts: { sessionId, geminiHome, ...(there !== null && { transcript: there }) } };
    },
    drive: driveGemini,
    exec: (bot, doors, text, options) => execGemini(around, bot, doors, text, options),
    usage: readGeminiUsage,
  };
}

function driveGemini(context: DriverContext): Driver {
  /** Appears with the first prompt, so it is looked for each time. */
  async function transcript(): Promise<string | null> {
    const { sessionId, geminiHome = context.home, transcript: known } = context.recall();
    if (typeof sessionId !== 'string' || typeof geminiHome !== 'string') return null;
    const file = await findTranscript(geminiHome, context.bot.cwd, sessionId);
    if (file !== null && file !== known) context.remember({ transcript: file });
    return file;
  }
  /** The file in which the message on its way was not yet. */
  let before: string | null = null;
  const delivery = createPasteDelivery(context, {
    composer() {
      const facts = context.facts();
      return facts ? readComposer(facts) : { kind: 'closed' };
    },
    holds: holdsOurs,
    async transcriptEnd() {
      before = await transcript();
      return transcriptEnd(before);
    },
    // A resumed conversation goes on in a new file, which may appear with its first prompt.
    async transcriptHolds(offset, text) {
      const file = await transcript();
      return transcriptHolds(file, file === before ? offset : 0, text, geminiPrompt);
    },
    settleMs: ({ length }) => (length >= huge ? settleMs.huge : length >= large ? settleMs.large : settleMs.small),
    shownMs: 2500,
    witnessMs: 1500,
    lateMs: 1500,
  });
  return {
    obstacle: delivery.obstacle,
    async deliver(message) {
      const result = await delivery.deliver(message);
      // Its title may follow later, and the next message must not fall between.
      if (result.state === 'verified') {
        const claim = { state: 'working' } as const;
        context.judge.take({
          source: 'screen',
          rule: 'gemini.taken',
          claim,
          seen: 'a prompt was taken',
          from: ['idle'],
        });
        context.poke();
      }
      return result;
    },
  };
}
