/** Reads token usage from Qwen Code's transcript: one line an answer, with its count. Must not know prices. */
import { readUsage, type UsageReader } from '../read-usage.ts';
import type { UsageAsk, UsagePage } from '../usage.ts';
import { count, record, timeOf } from '../values.ts';

const qwenUsage: UsageReader = {
  wanted: (line) => line.includes('"usageMetadata"'),
  read({ type, uuid, timestamp, model, usageMetadata }) {
    const at = timeOf(timestamp);
    if (type !== 'assistant' || typeof uuid !== 'string' || typeof model !== 'string' || at === null) return null;
    const counted = record(usageMetadata);
    const cached = count(counted.cachedContentTokenCount);
    return {
      id: uuid,
      at,
      model,
      // The prompt's count includes cached tokens.
      input: Math.max(0, count(counted.promptTokenCount) - cached),
      cachedInput: cached,
      cacheWrite: 0,
      output: count(counted.candidatesTokenCount) + count(counted.thoughtsTokenCount),
      cents: null,
    };
  },
};

export function readQwenUsage(ask: UsageAsk): Promise<UsagePage> {
  return readUsage(ask, qwenUsage);
}
