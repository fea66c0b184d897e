/** JSON and JSON Lines in a fence, formatted for reading; text that is not JSON to its end is shown unchanged. */
import type { Format } from '../../format.ts';
import { codeBlock } from '../../markdown/escape.ts';

/** Set out, a document grows: beyond this it stays as it was written. Characters. */
const maxPrettyLength = 512 * 1024;
/** Shown, with a word about the rest. Characters. */
const maxShownLength = 1024 * 1024;
const maxRecords = 5000;

export const jsonFormat: Format = {
  name: 'json',
  family: 'data',
  kinds: ['json'],
  async convert(_bytes, context) {
    const text = context.text().trim();
    const notes: string[] = [];
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      notes.push(
        `It is not valid JSON (${(error as Error).message.slice(0, 120)}): it may be cut. It is given as it is.`,
      );
      return { markdown: shown(text, 'json', notes), metadata: {}, notes };
    }
    const pretty = text.length > maxPrettyLength ? text : JSON.stringify(value, null, 2);
    const metadata = Array.isArray(value)
      ? { type: 'array', items: value.length }
      : { type: value === null ? 'null' : typeof value, ...keysOf(value) };
    return { markdown: shown(pretty, 'json', notes), metadata, notes };
  },
};

export const jsonLinesFormat: Format = {
  name: 'jsonl',
  family: 'data',
  kinds: ['jsonl'],
  async convert(_bytes, context) {
    const lines = context
      .text()
      .split(/\r?\n/)
      .filter((line) => line.trim() !== '');
    const notes: string[] = [];
    const broken = lines.flatMap((line, index) => (isJson(line) ? [] : [index + 1]));
    if (broken.length > 0)
      notes.push(
        `Lines that are not valid JSON, given as they are: ${broken.slice(0, 10).join(', ')}${broken.length > 10 ? ' …' : ''}.`,
      );
    if (lines.length > maxRecords) notes.push(`It was cut: ${maxRecords} of ${lines.length} records are here.`);
    return {
      markdown: shown(lines.slice(0, maxRecords).join('\n'), 'json', notes),
      metadata: { records: lines.length },
      notes,
    };
  },
};

function keysOf(value: unknown): { keys?: string[] } {
  return typeof value === 'object' && value !== null ? { keys: Object.keys(value).slice(0, 50) } : {};
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** In a fence, cut at a line. Adds a note when it was. */
export function shown(text: string, language: string, notes: string[]): string {
  if (text.length <= maxShownLength) return `${codeBlock(text, language)}\n`;
  const line = text.lastIndexOf('\n', maxShownLength);
  const end = line > maxShownLength / 2 ? line : maxShownLength;
  notes.push(`It was cut: ${end} of ${text.length} characters are here.`);
  return `${codeBlock(text.slice(0, end), language)}\n`;
}
