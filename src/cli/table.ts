/**
 * Aligned columns for a terminal. Escapes every cell and value here, so that no command has to. Knows widths, not
 * meanings.
 */
import type { Context } from './command.ts';
import { inCell } from './words.ts';

/** Columns are as wide as their widest cell; the last one is cut to the width of the terminal. `width` 0: never cut. */
export function table(head: readonly string[], given: readonly (readonly string[])[], width: number): string {
  const rows = given.map((row) => row.map(inCell));
  const widths = head.map((title, column) => Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map(cells)));
  const line = (row: readonly string[]): string => {
    const text = row
      .map((cell, column) => (column === row.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
      .join('  ');
    return cut(text.trimEnd(), width);
  };
  return [head.map((title) => title.toUpperCase()), ...rows].map(line).join('\n');
}

/** A table of `rows` with a column for each heading; `none` where there are no rows, and how to read on where there are more. */
export function listed<Row>(
  { output: { width } }: Pick<Context, 'output'>,
  rows: readonly Row[],
  none: string,
  columns: Readonly<Record<string, (row: Row) => string>>,
  next: string | null = null,
): string {
  if (rows.length === 0) return none;
  const cellsOf = Object.values(columns);
  const body = rows.map((row) => cellsOf.map((cell) => cell(row)));
  return table(Object.keys(columns), body, width) + moreAt(next);
}

/** How to read on, where there is more. */
export function moreAt(cursor: string | null): string {
  return cursor === null ? '' : `\nMore: --cursor ${cursor}`;
}

/** Lines `name  value`, names aligned; rows whose value is null are left out. */
export function facts(rows: readonly (readonly [string, string | null])[]): string {
  const shown = rows.flatMap(([name, value]) => (value === null ? [] : [[inCell(name), inCell(value)] as const]));
  const widest = Math.max(0, ...shown.map(([name]) => cells(name)));
  return shown.map(([name, value]) => `${pad(name, widest)}  ${value}`).join('\n');
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - cells(text)));
}

function cut(text: string, width: number): string {
  if (width <= 0 || cells(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    const wide = cells(character);
    if (used + wide > width - 1) break;
    kept += character;
    used += wide;
  }
  return `${kept}…`;
}

/** Terminal cells of a text: East Asian wide characters and emoji take two, combining marks none. */
function cells(text: string): number {
  let total = 0;
  for (const character of text) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(character)) continue;
    const code = character.codePointAt(0) ?? 0;
    const wide =
      (code >= 0x1100 && code <= 0x115f) ||
      (code >= 0x2e80 && code <= 0xa4cf) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0x1f300 && code <= 0x1faff) ||
      (code >= 0x20000 && code <= 0x3fffd);
    total += wide ? 2 : 1;
  }
  return total;
}
