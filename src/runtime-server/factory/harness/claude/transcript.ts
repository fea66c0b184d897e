/**
 * Claude Code's transcript as a second witness (tui.md 4.3): one JSON object a line; a person's prompt has `type: "user"` and a
 * string as content. The file is large and holds system prompts, so it is read from an offset and parsed by type.
 */
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { containsText } from '../wording.ts';

/** More than this is not read at once; a prompt of ours is at most 100,000 characters. */
const mostBytes = 4 * 1024 * 1024;

/** Where the transcript of a session lies; `config` is `~/.claude` unless a person moved it. */
export function transcriptFile(config: string, cwd: string, sessionId: string): string {
  return join(config, 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), `${sessionId}.jsonl`);
}

/** End of the file now; 0 when it does not exist yet. */
export async function transcriptEnd(file: string | null): Promise<number> {
  if (file === null) return 0;
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Whether a prompt that contains our text was written at or after `offset`. */
export async function transcriptHolds(file: string | null, offset: number, ours: string): Promise<boolean> {
  if (file === null) return false;
  const handle = await open(file, 'r').catch(() => null);
  if (!handle) return false;
  try {
    const { size } = await handle.stat();
    const length = Math.min(size - offset, mostBytes);
    if (length <= 0) return false;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
    const lines = buffer.subarray(0, bytesRead).toString('utf8').split('\n');
    return lines.some((line) => {
      const prompt = readPrompt(line);
      return prompt !== null && containsText(prompt, ours);
    });
  } finally {
    await handle.close();
  }
}

function readPrompt(line: string): string | null {
  if (!line.includes('"type":"user"')) return null;
  try {
    const entry = JSON.parse(line) as { type?: unknown; message?: { content?: unknown } };
    if (entry.type !== 'user') return null;
    const content = entry.message?.content;
    if (typeof content === 'string') return content;
    if (!Array.isArray(content)) return null;
    // A prompt with an image or a paste is an array of blocks; tool results have no `text` block.
    const texts = content.filter((block): block is { text: string } => typeof block?.text === 'string');
    return texts.length === 0 ? null : texts.map((block) => block.text).join('\n');
  } catch {
    return null;
  }
}
