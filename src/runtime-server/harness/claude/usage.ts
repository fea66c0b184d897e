/**
 * Reads token usage from Claude Code's transcripts: each line of an answer carries the answer's id and its count so far, the last line the total.
 * Sub-agents have their own files beside the transcript. Must not know prices.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readJsonLines } from '../json-lines.ts';
import type { UsageAsk, UsageCursor, UsageLine, UsagePage } from '../usage.ts';
import { count, objectOf } from '../values.ts';

/** Transcripts of earlier sessions that are still checked: their last lines may be written late. */
const maxTranscripts = 3;
const maxFiles = 1000;

export async function readClaudeUsage({ facts, cursor, settled }: UsageAsk): Promise<UsagePage> {
  const known = offsetsOf(cursor);
  const current = typeof facts.transcript === 'string' ? [facts.transcript] : [];
  const earlier = Object.keys(known).filter((file) => !isOfSubAgent(file) && !current.includes(file));
  const transcripts = [...earlier, ...current].slice(-maxTranscripts);
  const files: string[] = [];
  for (const transcript of transcripts) files.push(transcript, ...(await subAgentsOf(transcript)));

  const lines: UsageLine[] = [];
  const offsets: Record<string, number> = {};
  let more = false;
  for (const file of files.slice(-maxFiles)) {
    const read = await readFile(file, known[file] ?? 0, settled || !current.includes(file));
    lines.push(...read.lines);
    offsets[file] = read.offset;
    more ||= read.more;
  }
  return { lines: lines.sort((a, b) => a.at - b.at), cursor: { files: offsets }, more };
}

async function readFile(
  file: string,
  from: number,
  settled: boolean,
): Promise<{ lines: UsageLine[]; offset: number; more: boolean }> {
  const { lines, offset, more } = await readJsonLines(file, from, (line) => line.includes('"usage"'));
  const answers = new Map<string, { line: UsageLine; start: number; over: boolean }>();
  let last: string | null = null;
  for (const { entry, start } of lines) {
    const answer = answerOf(entry);
    if (answer === null) continue;
    const { id } = answer.line;
    answers.set(id, { ...answer, start: answers.get(id)?.start ?? start });
    last = id;
  }
  const open = last === null ? undefined : answers.get(last);
  // Its count still grows: read again from its first line.
  if (open === undefined || last === null || open.over || settled) {
    return { lines: [...answers.values()].map(({ line }) => line), offset, more };
  }
  answers.delete(last);
  // A page that holds only the one open answer would be read forever.
  return { lines: [...answers.values()].map(({ line }) => line), offset: more ? offset : open.start, more };
}

function answerOf(entry: Readonly<Record<string, unknown>>): { line: UsageLine; over: boolean } | null {
  if (entry.type !== 'assistant') return null;
  const message = objectOf(entry.message);
  const usage = objectOf(message?.usage);
  const at = typeof entry.timestamp === 'string' ? Date.parse(entry.timestamp) : Number.NaN;
  // `<synthetic>`: Claude Code's own words, such as an error; no model was asked.
  if (message === null || usage === null || Number.isNaN(at)) return null;
  if (typeof message.id !== 'string' || typeof message.model !== 'string' || message.model.startsWith('<')) return null;
  const line: UsageLine = {
    id: typeof entry.requestId === 'string' ? `${message.id}:${entry.requestId}` : message.id,
    at,
    model: message.model,
    input: count(usage.input_tokens),
    cachedInput: count(usage.cache_read_input_tokens),
    cacheWrite: count(usage.cache_creation_input_tokens),
    output: count(usage.output_tokens),
    cents: null,
  };
  return { line, over: typeof message.stop_reason === 'string' };
}

async function subAgentsOf(transcript: string): Promise<string[]> {
  const folder = join(transcript.replace(/\.jsonl$/, ''), 'subagents');
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith('.jsonl')).map((name) => join(folder, name));
}

const isOfSubAgent = (file: string) => /[\\/]subagents[\\/][^\\/]+$/.test(file);

function offsetsOf(cursor: UsageCursor | null): Record<string, number> {
  const files = objectOf(cursor?.files) ?? {};
  return Object.fromEntries(Object.entries(files).filter((one): one is [string, number] => typeof one[1] === 'number'));
}
