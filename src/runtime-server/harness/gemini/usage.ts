/**
 * Reads token usage from Gemini CLI's transcripts: each answer with its model and its count, written again when its tools have run. Cached tokens
 * are part of its input, thoughts are not part of its output. Must not know prices.
 */
import { transcriptOf } from '../prompt-witness.ts';
import { readUsage, type UsageReader } from '../read-usage.ts';
import type { UsageAsk, UsagePage } from '../usage.ts';
import { count, objectOf, timeOf } from '../values.ts';
import { rememberedTranscripts } from './transcript.ts';

const geminiUsage: UsageReader = {
  wanted: (line) => line.includes('"tokens"') && !line.startsWith('{"$set"'),
  read(entry) {
    const tokens = objectOf(entry.tokens);
    const at = timeOf(entry.timestamp);
    if (entry.type !== 'gemini' || tokens === null || at === null || typeof entry.id !== 'string') return null;
    const cachedInput = count(tokens.cached);
    return {
      id: entry.id,
      at,
      model: typeof entry.model === 'string' ? entry.model : 'unknown',
      input: Math.max(0, count(tokens.input) - cachedInput) + count(tokens.tool),
      cachedInput,
      cacheWrite: 0,
      output: count(tokens.output) + count(tokens.thoughts),
      cents: null,
    };
  },
};

/** In all files of its conversation: Gemini does not say in which it continues after a resume. */
export async function readGeminiUsage(ask: UsageAsk): Promise<UsagePage> {
  return readUsage(ask, geminiUsage, [...(await rememberedTranscripts(ask.facts)), ...transcriptOf(ask.facts)]);
}
