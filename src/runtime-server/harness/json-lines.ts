/** Reads a growing file of JSON objects, one a line, from where reading stopped. Must not know what the lines mean. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { parseObject } from './values.ts';

/** Read at once. */
const pageBytes = 4 * 1024 * 1024;
/** Longer lines are skipped. */
const maxLineLength = 64 * 1024 * 1024;
const newline = 0x0a;
/** Opening a pipe would wait for its writer. Windows has no such flag. */
const nonBlocking = constants.O_NONBLOCK ?? 0;

interface JsonLine {
  readonly entry: Readonly<Record<string, unknown>>;
  /** Offset of its first byte. */
  readonly start: number;
}

interface JsonLines {
  readonly lines: readonly JsonLine[];
  /** Behind the last whole line. */
  readonly offset: number;
  readonly more: boolean;
}

/** Lines that begin at or after `offset`; from the start where the file is shorter. Skips lines that hold no JSON object. */
export async function readJsonLines(
  file: string,
  offset: number,
  wanted?: (line: string) => boolean,
): Promise<JsonLines> {
  const handle = await open(file, constants.O_RDONLY | nonBlocking).catch(() => null);
  if (handle === null) return { lines: [], offset, more: false };
  try {
    const about = await handle.stat();
    const { size } = about;
    if (!about.isFile()) return { lines: [], offset, more: false };
    const from = offset > size ? 0 : offset;
    for (let max = pageBytes; ; max *= 4) {
      const length = Math.min(size - from, max);
      if (length <= 0) return { lines: [], offset: from, more: false };
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from);
      const bytes = buffer.subarray(0, bytesRead);
      const end = bytes.lastIndexOf(newline);
      const whole = from + bytesRead >= size;
      if (end < 0) {
        if (whole) return { lines: [], offset: from, more: false };
        if (max < maxLineLength) continue;
        return { lines: [], offset: from + bytesRead, more: true };
      }
      return { lines: parse(bytes.subarray(0, end), from, wanted), offset: from + end + 1, more: !whole };
    }
  } finally {
    await handle.close();
  }
}

function parse(bytes: Buffer, from: number, wanted: (line: string) => boolean = () => true): JsonLine[] {
  const lines: JsonLine[] = [];
  for (let at = 0; at < bytes.length; ) {
    const next = bytes.indexOf(newline, at);
    const end = next < 0 ? bytes.length : next;
    const text = bytes.toString('utf8', at, end);
    if (wanted(text)) {
      const entry = parseObject(text);
      if (entry !== null) lines.push({ entry, start: from + at });
    }
    at = end + 1;
  }
  return lines;
}
