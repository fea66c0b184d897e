/**
 * The conversations that a harness keeps in the person's home: id, title or first prompt, folder, last use. Reads only the start of each file,
 * because the files are large and private. Must not know bots.
 */
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from './environment.ts';
import { record, text } from './values.ts';

export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
  /** Its file, where it has its own. */
  readonly file: string | null;
  /** The process that has it open, by the harness's own note. */
  readonly pid: number | null;
  /** The time of that note, milliseconds since the epoch: a process that began later only has the same number. */
  readonly pidWritten?: number;
}

export interface ConversationPlaces {
  readonly env: Environment;
  readonly home: string;
}

/** Where a harness keeps them, and how its process is called. */
export interface Conversations {
  /** Names of its program, or of the script that Node runs. */
  readonly process: RegExp;
  list(places: ConversationPlaces): Promise<Conversation[]>;
}

type Json = Readonly<Record<string, unknown>>;
type Read = (lines: readonly Json[], file: string) => { id: string; cwd: string; title: string } | null;

/** A file begins with its conversation's folder and first prompt. */
const headBytes = 128 * 1024;
const titleChars = 200;
/** Looked into, the latest first, of one harness. */
export const maxConversations = 200;

/** The conversations in files of lines, the latest files first. */
export async function fromFiles(files: readonly string[], read: Read): Promise<Conversation[]> {
  const dated = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ mtimeMs }) => ({ file, mtimeMs }),
        () => ({ file, mtimeMs: 0 }),
      ),
    ),
  );
  const latest = dated.sort((a, b) => b.mtimeMs - a.mtimeMs).slice(0, maxConversations);
  const kept: Conversation[] = [];
  // One after the other: of hundreds of heads never more than one is held.
  for (const { file, mtimeMs } of latest) {
    const found = read(await head(file).catch(() => []), file);
    if (found === null) continue;
    kept.push({ ...found, title: shorten(found.title), lastUsed: Math.round(mtimeMs), file, pid: null });
  }
  return kept;
}

/** Every `.jsonl` at most `depth` folders below. */
export async function filesUnder(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const deeper = entries.filter((entry) => entry.isDirectory() && depth > 0);
  const lower = await Promise.all(deeper.map((entry) => filesUnder(join(folder, entry.name), depth - 1)));
  const own = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'));
  return [...own.map((entry) => join(folder, entry.name)), ...lower.flat()];
}

/** The whole lines in the beginning of a file. */
export async function head(file: string): Promise<Json[]> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .flatMap((line) => {
        try {
          return [record(JSON.parse(line))];
        } catch {
          // Damaged, or cut off at the end of the head.
          return [];
        }
      });
  } finally {
    await handle.close();
  }
}

export async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Text of a prompt: a string, or blocks of which some have text. */
export function words(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => text(record(block).text))
    .filter((part) => part !== '' && !part.startsWith('<system-reminder>'))
    .join(' ');
}

export function firstText(lines: readonly Json[], key: string): string {
  return text(lines.find((line) => text(line[key]) !== '')?.[key]);
}

export function shorten(title: string): string {
  const line = title.replace(/[\s\p{C}]+/gu, ' ').trim();
  return [...line].slice(0, titleChars).join('') || '(no text)';
}
