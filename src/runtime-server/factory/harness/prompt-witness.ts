/** A harness's own transcript as a witness: whether a prompt with our text was written there. Must not know a harness's lines. */
import { stat } from 'node:fs/promises';
import { readJsonLines } from './json-lines.ts';
import { containsText } from './wording.ts';

/** End of the file now; 0 when it does not exist yet. */
export async function transcriptEnd(file: string | null): Promise<number> {
  if (file === null) return 0;
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Whether a prompt that contains our text was written at or after `offset`. */
export async function transcriptHolds(
  file: string | null,
  offset: number,
  ours: string,
  promptOf: (entry: Readonly<Record<string, unknown>>) => string | null,
): Promise<boolean> {
  if (file === null) return false;
  for (let from = offset; ; ) {
    const page = await readJsonLines(file, from, (line) => line.includes('"user"'));
    if (page.lines.some(({ entry }) => containsText(promptOf(entry) ?? '', ours))) return true;
    if (!page.more) return false;
    from = page.offset;
  }
}

/** The texts of a list of content blocks, a line each; null without any. */
export function textsOf(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  const texts = content.filter((block): block is { text: string } => typeof block?.text === 'string');
  return texts.length === 0 ? null : texts.map((block) => block.text).join('\n');
}
