/** What Qwen Code's transcript says of tokens (tui.md 4.3): one line an answer, with its count. Must not know prices. */
import { readJsonLines } from '../json-lines.ts';
import type { UsageAsk, UsageLine, UsagePage } from '../usage.ts';

export async function readQwenUsage({ facts, cursor }: UsageAsk): Promise<UsagePage> {
  const file = typeof facts.transcript === 'string' ? facts.transcript : null;
  const from = file !== null && cursor?.file === file && typeof cursor.offset === 'number' ? cursor.offset : 0;
  if (file === null) return { lines: [], cursor: {}, more: false };
  const { lines, offset, more } = await readJsonLines(file, from, (line) => line.includes('"usageMetadata"'));
  return { lines: lines.flatMap(({ entry }) => answerOf(entry) ?? []), cursor: { file, offset }, more };
}

function answerOf(entry: Readonly<Record<string, unknown>>): UsageLine | null {
  const { type, uuid, timestamp, model, usageMetadata } = entry;
  const at = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  if (type !== 'assistant' || typeof uuid !== 'string' || typeof model !== 'string' || Number.isNaN(at)) return null;
  const counted = (usageMetadata ?? {}) as Readonly<Record<string, unknown>>;
  const cached = count(counted.cachedContentTokenCount);
  return {
    id: uuid,
    at,
    model,
    // The prompt's count has what was cached in it.
    input: Math.max(0, count(counted.promptTokenCount) - cached),
    cachedInput: cached,
    cacheWrite: 0,
    output: count(counted.candidatesTokenCount) + count(counted.thoughtsTokenCount),
    cents: null,
  };
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}
