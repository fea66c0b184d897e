/**
 * Finds a prompt in Codex's transcript (its rollout file): a `response_item` that is a message of the user. The file appears with the first prompt,
 * and the hooks name it.
 */
import { textsOf } from '../prompt-witness.ts';

export function codexPrompt(entry: Readonly<Record<string, unknown>>): string | null {
  const payload = entry.payload as { type?: unknown; role?: unknown; content?: unknown } | null | undefined;
  if (entry.type !== 'response_item' || payload?.type !== 'message' || payload.role !== 'user') return null;
  return textsOf(payload.content);
}
