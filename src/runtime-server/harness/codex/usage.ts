/**
 * Reads token usage from Codex's transcripts: a `token_usage_record` for each answer of a model, whose name comes from the turn's context. Cached
 * and newly cached tokens are part of its input, reasoning is part of its output. Must not know prices.
 */
import { readUsage, type UsageReader } from '../read-usage.ts';
import type { UsageAsk, UsagePage } from '../usage.ts';
import { count, objectOf, timeOf } from '../values.ts';

const codexUsage: UsageReader = {
  wanted: (line) => line.includes('"token_usage_record"') || line.includes('"turn_context"'),
  read(entry, model) {
    const payload = objectOf(entry.payload);
    if (entry.type === 'turn_context') {
      return typeof payload?.model === 'string' ? { model: payload.model } : null;
    }
    const usage = objectOf(payload?.usage);
    const at = timeOf(entry.timestamp);
    if (entry.type !== 'token_usage_record' || payload === null || usage === null || at === null) return null;
    if (typeof payload.response_id !== 'string') return null;
    const cachedInput = count(usage.cached_input_tokens);
    const cacheWrite = count(usage.cache_write_input_tokens);
    return {
      id: `${String(payload.thread_id)}:${payload.response_id}`,
      at,
      model: model ?? 'unknown',
      input: Math.max(0, count(usage.input_tokens) - cachedInput - cacheWrite),
      cachedInput,
      cacheWrite,
      output: count(usage.output_tokens),
      cents: null,
    };
  },
};

export function readCodexUsage(ask: UsageAsk): Promise<UsagePage> {
  return readUsage(ask, codexUsage);
}
