/** Continues to read a bot's transcripts: the current one and the last few before it. Must not know what a line means. */
import { readJsonLines } from './json-lines.ts';
import { transcriptOf } from './prompt-witness.ts';
import type { UsageAsk, UsageLine, UsagePage } from './usage.ts';
import { objectOf } from './values.ts';

/** Earlier transcripts that are still checked: their last lines may be written late. */
const maxEarlier = 3;

export interface UsageReader {
  /** Lines that are worth parsing. */
  wanted(line: string): boolean;
  /** `model`: the last one that the transcript named. Null: the line counts nothing. */
  read(entry: Readonly<Record<string, unknown>>, model: string | null): UsageLine | { readonly model: string } | null;
}

interface Mark {
  readonly offset: number;
  readonly model: string | null;
}

/** `current`: the transcripts of its current conversation. */
export async function readUsage(
  { facts, cursor }: UsageAsk,
  reader: UsageReader,
  current: readonly string[] = transcriptOf(facts),
): Promise<UsagePage> {
  const known = marksOf(cursor?.files);
  const earlier = Object.keys(known).filter((file) => !current.includes(file));
  const files = [...earlier.slice(-maxEarlier), ...new Set(current)];
  const lines: UsageLine[] = [];
  const marks: Record<string, Mark> = {};
  let more = false;
  for (const file of files) {
    const page = await readJsonLines(file, known[file]?.offset ?? 0, reader.wanted);
    let model = known[file]?.model ?? null;
    for (const { entry } of page.lines) {
      const found = reader.read(entry, model);
      if (found !== null) ({ model } = found);
      if (found !== null && 'id' in found) lines.push(found);
    }
    marks[file] = { offset: page.offset, model };
    more ||= page.more;
  }
  return { lines: lines.sort((a, b) => a.at - b.at), cursor: { files: marks }, more };
}

function marksOf(files: unknown): Record<string, Mark> {
  const entries = Object.entries(objectOf(files) ?? {});
  return Object.fromEntries(
    entries.flatMap(([file, mark]) => {
      const { offset, model } = objectOf(mark) ?? {};
      return typeof offset === 'number' ? [[file, { offset, model: typeof model === 'string' ? model : null }]] : [];
    }),
  );
}
