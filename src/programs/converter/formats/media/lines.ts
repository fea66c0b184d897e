/** Owns how a media file's metadata is written: one line a field, under the names that media tools use. */

import type { MetadataValue } from '../../format.ts';
import { escapeLine } from '../../markdown/escape.ts';

/** Values longer than this are cut: they are pasted documents. Characters. */
const maxLength = 4000;

export type Field = readonly [name: string, value: unknown];

interface Fields {
  readonly markdown: string;
  readonly metadata: Record<string, MetadataValue>;
}

export function fieldLines(fields: readonly Field[]): Fields {
  const metadata: Record<string, MetadataValue> = {};
  const lines: string[] = [];
  for (const [name, value] of fields) {
    const text = textOf(value).trim();
    if (text === '' || metadata[name] !== undefined) continue;
    const shown = text.slice(0, maxLength);
    metadata[name] = typeof value === 'number' ? value : shown;
    lines.push(`${name}: ${escapeLine(shown)}`);
  }
  return { markdown: lines.join('  \n'), metadata };
}

/** Lists with commas; texts in several languages, as XMP has them, by their default. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value))
    return value
      .map(textOf)
      .filter((each) => each !== '')
      .join(', ');
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return '';
  if (typeof value === 'object') return 'value' in value ? textOf(value.value) : '';
  return String(value).replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
}
