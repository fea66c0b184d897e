/**
 * Claude Code's transcript as a second witness: a person's prompt has `type: "user"` and a string as content, or blocks where it
 * holds an image or a paste; a tool's result has no `text` block.
 */
import { join } from 'node:path';
import { textsOf } from '../prompt-witness.ts';
import { record } from '../values.ts';

/** Where the transcript of a session lies; `config` is `~/.claude` unless a person moved it. */
export function transcriptFile(config: string, cwd: string, sessionId: string): string {
  return join(config, 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), `${sessionId}.jsonl`);
}

export function claudePrompt(entry: Readonly<Record<string, unknown>>): string | null {
  if (entry.type !== 'user') return null;
  const { content } = record(entry.message);
  return typeof content === 'string' ? content : textsOf(content);
}
