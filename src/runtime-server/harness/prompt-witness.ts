/** A harness's own transcripts as a witness: whether they contain a prompt with our text. Must not know a harness's lines. */
import { stat } from 'node:fs/promises';
import { readJsonLines } from './json-lines.ts';
import { containsText } from './wording.ts';

/** The prompt in a line; null: the line holds none. */
type PromptOf = (entry: Readonly<Record<string, unknown>>) => string | null;

/** Whether a prompt with this text was written since. */
export type PromptsSince = (ours: string) => Promise<boolean>;

/** `files`: all that the conversation may be written to; a new one counts from its beginning. */
export async function promptsSince(
  files: () => Promise<readonly string[]> | readonly string[],
  promptOf: PromptOf,
): Promise<PromptsSince> {
  const ends = new Map<string, number>();
  for (const file of await files()) ends.set(file, await endOf(file));
  return async (ours) => {
    for (const file of await files()) {
      if (await holdsPrompt(file, ends.get(file) ?? 0, ours, promptOf)) return true;
    }
    return false;
  };
}

/** 0 when it does not exist yet. */
async function endOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Whether a prompt that contains our text was written at or after `offset`. */
export async function holdsPrompt(file: string, offset: number, ours: string, promptOf: PromptOf): Promise<boolean> {
  for (let from = offset; ; ) {
    const page = await readJsonLines(file, from, (line) => line.includes('"user'));
    if (page.lines.some(({ entry }) => containsText(promptOf(entry) ?? '', ours))) return true;
    if (!page.more) return false;
    from = page.offset;
  }
}

/** The remembered paths of the bot's transcript, as a list. */
export function transcriptOf({ transcript }: Readonly<Record<string, unknown>>): readonly string[] {
  return typeof transcript === 'string' ? [transcript] : [];
}

/** The texts of a list of content blocks, a line each; null without any. */
export function textsOf(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  const texts = content.filter((block): block is { text: string } => typeof block?.text === 'string');
  return texts.length === 0 ? null : texts.map((block) => block.text).join('\n');
}
