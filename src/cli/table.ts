/**
 * Aligned columns for a terminal. Escapes every cell and value here, so that no command has to. Knows widths, not
 * meanings.
 */
import type { Context } from './command.ts';
import { paint, stateColour } from './paint.ts';
import { inCell } from './words.ts';

/** Columns with a state in them; their cells have the colour of the state. */
const states = new Set(['state', 'status', 'proof']);

/**
 * Columns are as wide as their widest cell. Where that is more than the terminal has, columns of prose are cut first, the last one before
 * the others; ids, addresses and names, which a person copies, stay whole as long as they can. `width` 0: never cut.
 */
export function table(head: readonly string[], given: readonly (readonly string[])[], width: number): string {
  const rows = given.map((row) => row.map(inCell));
  const titles = head.map((title) => title.toUpperCase());
  const wanted = titles.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map(cells)),
  );
  const prose = titles.map((_title, column) => rows.some((row) => (row[column] ?? '').includes(' ')));
  const widths = fitted(wanted, titles.map(cells), prose, width);
  const line = (row: readonly string[], look: (text: string, column: number) => string): string => {
    const last = row.length - 1;
    let left = width <= 0 ? Number.POSITIVE_INFINITY : width;
    const shown = row.map((cell, column) => {
      if (left <= 0) return '';
      const short = cut(cell, Math.min(widths[column] ?? 0, left));
      const gap =
        column === last
          ? ''
          : ' '.repeat(Math.max(0, Math.min(left - cells(short), (widths[column] ?? 0) - cells(short) + 2)));
      left -= cells(short) + gap.length;
      return look(short, column) + gap;
    });
    return shown.join('').trimEnd();
  };
  const colourOf = (text: string, column: number): string => {
    const colour = states.has(head[column] ?? '') ? stateColour(text) : null;
    return colour === null ? text : paint(colour, text);
  };
  return [line(titles, (text) => paint('bold', text)), ...rows.map((row) => line(row, colourOf))].join('\n');
}

/** Below this a column is cut rather than broken over lines: those would be many. */
const leastBroken = 40;

/** Like `table`, but nothing of the last column is lost: what does not fit in a line goes on below it. */
export function brokenTable(head: readonly string[], given: readonly (readonly string[])[], width: number): string {
  const last = head.length - 1;
  const before = head
    .slice(0, -1)
    .map((title, column) => Math.max(...[title, ...given.map((row) => inCell(row[column] ?? ''))].map(cells)) + 2)
    .reduce((sum, one) => sum + one, 0);
  if (width <= 0 || width - before < leastBroken) return table(head, given, width);
  const rows = given.flatMap((row) =>
    broken(inCell(row[last] ?? ''), width - before).map((part, index) => [
      ...row.slice(0, last).map((cell) => (index === 0 ? cell : '')),
      part,
    ]),
  );
  return table(head, rows, width);
}

/** A text in lines of at most `width` cells, broken between words; a longer word has a line of its own. `width` 0: one line. */
export function broken(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || (width > 0 && cells(line) + 1 + cells(word) > width)) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

/** Below this a column of prose says nothing. */
const leastProse = 12;

function fitted(wanted: number[], titles: readonly number[], prose: readonly boolean[], width: number): number[] {
  const widths = [...wanted];
  const over = () => widths.reduce((sum, one) => sum + one + 2, -2) - width;
  if (width <= 0) return widths;
  const shrink = (column: number, to: number) => {
    widths[column] = Math.max(
      Math.min(widths[column]!, Math.max(to, titles[column]!)),
      widths[column]! - Math.max(0, over()),
    );
  };
  const last = widths.length - 1;
  if (last >= 0) shrink(last, leastProse);
  while (over() > 0) {
    const able = widths.flatMap((one, column) =>
      prose[column] === true && one > Math.max(leastProse, titles[column]!) ? [column] : [],
    );
    const widest = able.sort((a, b) => widths[b]! - widths[a]!)[0];
    if (widest === undefined) break;
    const next = Math.max(0, ...able.filter((one) => one !== widest).map((one) => widths[one]!));
    shrink(widest, next < widths[widest]! ? Math.max(next, leastProse) : widths[widest]! - 1);
  }
  return widths;
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
  return shown
    .map(([name, value]) => {
      const colour = states.has(name.toLowerCase()) ? stateColour(value) : null;
      return `${paint('dim', pad(name, widest))}  ${colour === null ? value : paint(colour, value)}`;
    })
    .join('\n');
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
