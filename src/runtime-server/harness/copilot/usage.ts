/**
 * Reads token usage from Copilot's transcripts: a `session.usage_record` for each answer of a model. Cached and newly cached tokens are part of its
 * input. Copilot counts its price in credits of a plan, so no cost is taken from it. Must not know prices.
 */
import { readUsage, type UsageReader } from '../read-usage.ts';
import type { UsageAsk, UsagePage } from '../usage.ts';
import { count, objectOf, timeOf } from '../values.ts';

const copilotUsage: UsageReader = {
  wanted: (line) => line.includes('"session.usage_record"'),
  read(entry) {
    const usage = objectOf(objectOf(entry.data)?.usage);
    const at = timeOf(entry.timestamp);
    if (entry.type !== 'session.usage_record' || usage === null || at === null || typeof entry.id !== 'string')
      return null;
    const cachedInput = count(usage.cacheReadTokens);
    const cacheWrite = count(usage.cacheWriteTokens);
    return {
      id: entry.id,
      at,
      model: typeof usage.model === 'string' ? usage.model : 'unknown',
      input: Math.max(0, count(usage.inputTokens) - cachedInput - cacheWrite),
      cachedInput,
      cacheWrite,
      output: count(usage.outputTokens),
      cents: null,
    };
  },
};

export function readCopilotUsage(ask: UsageAsk): Promise<UsagePage> {
  return readUsage(ask, copilotUsage);
}
