/**
 * Turns lines into headings, paragraphs, lists and tables, and removes what repeats at the edges of pages. Sizes and gaps decide, because a PDF does
 * not say. Must not know the library that read it.
 */
import { escapeLine } from '../../markdown/escape.ts';
import { link } from '../../markdown/link.ts';
import { table } from '../../markdown/table.ts';
import type { Part, Row, Segment } from './page-text.ts';

export interface PageRows {
  readonly rows: readonly Row[];
  readonly height: number;
}

interface Measures {
  /** Font size that most characters have. */
  readonly body: number;
  /** Sizes of headings, largest first. */
  readonly headings: readonly number[];
  /** Titles of the outline, by their words, with their depth. */
  readonly outline: ReadonlyMap<string, number>;
}

/** A line larger than the body by this may be a heading. */
const headingFrom = 1.12;
const maxHeadingLength = 200;
/** Lines of one paragraph stand at most this far apart, in font sizes. */
const paragraphGap = 1.75;
/** Part of a page's height, above and below, where headers and footers stand. */
const edge = 0.1;

export const plain = (text: string): string => text.replace(/\s+/g, ' ').trim().toLowerCase();

/** Without what stands at the same place of many pages: headers, footers, page numbers. Answers how many lines were dropped. */
export function withoutRepeats(pages: readonly PageRows[]): { pages: PageRows[]; dropped: number } {
  const seen = new Map<string, number>();
  const keyOf = (row: Row, { rows, height }: PageRows): string | null => {
    const zone = row.y < height * edge ? 'top' : row.y > height * (1 - edge) ? 'bottom' : null;
    if (zone === null) return null;
    // Further in stands what the page itself says.
    const outside = rows.filter((other) => (zone === 'top' ? other.y < row.y - 2 : other.y > row.y + 2)).length;
    const text = plain(textOf(row));
    // Numbers in several places are a row of a table, not the number of the page.
    if (outside > 2 || (row.segments.length > 1 && !/\p{L}/u.test(text))) return null;
    return `${zone} ${Math.round(row.y / 4)} ${text.replace(/\d+/g, '#').replace(/^[ivxlc]+$/, '#')}`;
  };
  for (const page of pages) {
    for (const key of new Set(page.rows.map((row) => keyOf(row, page))))
      if (key !== null) seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  // Left and right pages may have headers of their own, and chapters theirs.
  const often = Math.max(2, Math.min(pages.length * 0.25, 8));
  let dropped = 0;
  const kept = pages.map((page) => ({
    height: page.height,
    rows: page.rows.filter((row) => {
      const key = keyOf(row, page);
      const repeats = pages.length > 1 && key !== null && (seen.get(key) ?? 0) >= often;
      if (repeats) dropped += 1;
      return !repeats;
    }),
  }));
  return { pages: kept, dropped };
}

export function measure(pages: readonly PageRows[], outline: ReadonlyMap<string, number>): Measures {
  const bySize = new Map<number, number>();
  for (const { rows } of pages) {
    for (const { segments } of rows) {
      for (const { size, text } of segments) bySize.set(round(size), (bySize.get(round(size)) ?? 0) + text.length);
    }
  }
  const body = [...bySize].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 10;
  const large = [...bySize.keys()].filter((size) => size >= body * headingFrom).toSorted((a, b) => b - a);
  // Sizes that hardly differ are one level.
  const headings = large.filter((size, index) => index === 0 || size < (large[index - 1] as number) * 0.96);
  return { body, headings, outline };
}

const round = (size: number): number => Math.round(size * 2) / 2;

function headingLevel(rows: readonly Row[], { body, headings, outline }: Measures): number | null {
  const text = rows.map((row) => row.segments.map((segment) => segment.text).join(' ')).join(' ');
  if (text.length > maxHeadingLength || !/\p{L}/u.test(text)) return null;
  const size = round((rows[0] as Row).size);
  const named = outline.get(plain(text));
  if (size < body * headingFrom) return named === undefined || size < body * 0.95 ? null : Math.min(6, named + 1);
  const level = headings.findIndex((heading) => size >= heading * 0.99);
  return named !== undefined && named > 0
    ? Math.min(6, named + 1)
    : Math.min(6, (level < 0 ? headings.length : level) + 1);
}

export function markdownOf(page: PageRows, measures: Measures): string[] {
  const blocks: string[] = [];
  const { rows } = page;
  for (let at = 0; at < rows.length; ) {
    const end = tableEnd(rows, at);
    if (end > at) {
      blocks.push(tableOf(rows.slice(at, end)));
      at = end;
      continue;
    }
    const item = itemEnd(rows, at);
    if (item > at) {
      const last = listEnd(rows, at);
      blocks.push(listOf(rows.slice(at, last)));
      at = last;
      continue;
    }
    const next = paragraphEnd(rows, at);
    const lines = rows.slice(at, next);
    const level = headingLevel(lines, measures);
    blocks.push(level === null ? joined(lines) : `${'#'.repeat(level)} ${joined(lines).replace(/ {2}\n/g, ' ')}`);
    at = next;
  }
  return blocks.filter((block) => block.trim() !== '');
}

/** Index after the paragraph that begins at `at`: same size, near enough, and nothing else begins. */
function paragraphEnd(rows: readonly Row[], at: number): number {
  const first = rows[at] as Row;
  let end = at + 1;
  for (; end < rows.length; end += 1) {
    const [before, row] = [rows[end - 1] as Row, rows[end] as Row];
    const gap = row.y - before.y;
    if (gap <= 0 || gap > paragraphGap * Math.max(row.size, before.size)) break;
    if (Math.abs(row.size - first.size) > 0.08 * first.size) break;
    if (itemEnd(rows, end) > end || tableEnd(rows, end) > end) break;
    // A first line that is drawn in begins a paragraph, where the line before ended one.
    const indented = left(row) > left(before) + row.size * 0.8 && left(before) <= left(first) + row.size * 0.5;
    if (indented && /[.!?:”"»)]$/.test(textOf(before))) break;
  }
  return end;
}

const left = (row: Row): number => (row.segments[0] as Segment).left;
const textOf = (row: Row): string => row.segments.map((segment) => segment.text).join(' ');

const bulleted = /^(?:[•◦▪▫‣●○■□➢➤✓]|[\uf0b7\uf0a7\uf0d8\uf076\uf0fc]|[–—-](?=\s))\s*/;
/** Of two digits at most, and none before the first: `(415) 555-0199`, `007. Bond` and `1984. It was` are no items. */
const numbered = /^\(?([1-9]\d?)[.)]\s+/;
const lettered = /^\(?[a-z][.)]\s+/;

/** As far as a list is looked for around one of its items, in lines. */
const nearby = 60;

/**
 * A number at the beginning of a line counts an item only where its neighbour in a list stands near, at the same edge: Markdown would show
 * the number of anything else as another one.
 */
function isCounted(rows: readonly Row[], at: number): boolean {
  const row = rows[at] as Row;
  const number = numberOf(row);
  if (number === null) return false;
  if (number === 1) return true;
  const counts = (other: Row, wanted: number) =>
    numberOf(other) === wanted && Math.abs(left(other) - left(row)) < 1.5 * row.size;
  return (
    rows.slice(Math.max(0, at - nearby), at).some((other) => counts(other, number - 1)) ||
    rows.slice(at + 1, at + nearby).some((other) => counts(other, number + 1))
  );
}

function numberOf(row: Row): number | null {
  const found = numbered.exec(textOf(row))?.[1];
  return found === undefined ? null : Number(found);
}

/** Index after the list item that begins at `at`, or `at`. */
function itemEnd(rows: readonly Row[], at: number): number {
  const row = rows[at] as Row;
  const text = textOf(row);
  if (!bulleted.test(text) && !isCounted(rows, at) && !lettered.test(text)) return at;
  let end = at + 1;
  for (; end < rows.length; end += 1) {
    const [before, next] = [rows[end - 1] as Row, rows[end] as Row];
    const gap = next.y - before.y;
    if (gap <= 0 || gap > 1.6 * Math.max(next.size, row.size) || Math.abs(next.size - row.size) > 0.08 * row.size)
      break;
    const nextText = textOf(next);
    // Continuation lines are indented to the text of their item.
    if (left(next) <= left(row) + 0.4 * row.size || bulleted.test(nextText) || isCounted(rows, end)) break;
    if (lettered.test(nextText)) break;
  }
  return end;
}

function listEnd(rows: readonly Row[], at: number): number {
  let end = at;
  for (;;) {
    const next = end < rows.length ? itemEnd(rows, end) : end;
    if (next === end) return end;
    const gap = end === at ? 0 : (rows[end] as Row).y - (rows[end - 1] as Row).y;
    if (gap > 3 * (rows[end] as Row).size || gap < 0) return end;
    end = next;
  }
}

/** A single number is not a list: it is a numbered heading or a sentence that begins with one. */
function listOf(rows: readonly Row[]): string {
  const items: { row: Row; lines: Row[] }[] = [];
  for (let at = 0; at < rows.length; ) {
    const end = Math.max(at + 1, itemEnd(rows, at));
    items.push({ row: rows[at] as Row, lines: rows.slice(at, end) });
    at = end;
  }
  const indents = [...new Set(items.map(({ row }) => Math.round(left(row) / 6)))].toSorted((a, b) => a - b);
  const lines = items.map(({ row, lines }) => {
    const depth = indents.indexOf(Math.round(left(row) / 6));
    const text = textOf(row);
    const mark = bulleted.test(text) ? '-' : (numbered.exec(text)?.[1] ?? null);
    const rest = joined(lines, (first) => first.replace(bulleted, '').replace(mark === '-' ? /^$/ : numbered, ''));
    return `${'   '.repeat(Math.min(depth, 5))}${mark === null || mark === '-' ? '-' : `${mark}.`} ${rest}`;
  });
  return lines.join('\n');
}

/**
 * Index after the table that begins at `at`, or `at`: rows of several segments, between which white strips run down all of them.
 */
function tableEnd(rows: readonly Row[], at: number): number {
  if ((rows[at] as Row).segments.length < 2) return at;
  let end = at;
  let cells = 0;
  let columns = 0;
  for (; end < rows.length; end += 1) {
    const row = rows[end] as Row;
    const before = rows[end - 1];
    if (end > at && before !== undefined && (row.y <= before.y || row.y - before.y > 4 * row.size)) break;
    if (row.segments.length < 2 && !goesOnInCell(rows, at, end) && !isDivided(rows, at, end)) break;
    const all = columnsOf(rows.slice(at, end + 1));
    // A row that would merge two columns is not part of this table, or begins another one.
    if (all.length < 2 || all.length < columns) break;
    columns = all.length;
    cells += row.segments.length;
  }
  // A separate line below the table is not one of its cells.
  const isSeparate = (last: number) =>
    (rows[last] as Row).segments.length < 2 && gapAbove(rows, last) > 1.5 && !isDivided(rows, at, last);
  while (end - 1 > at && isSeparate(end - 1)) end -= 1;
  const several = rows.slice(at, end).filter((row) => row.segments.length > 1).length;
  return several >= 2 && cells >= 4 ? end : at;
}

/** In font sizes. */
const gapAbove = (rows: readonly Row[], at: number): number =>
  ((rows[at] as Row).y - (rows[at - 1] as Row).y) / (rows[at] as Row).size;

/** A line with a single cell: in a column other than the first, or close below the line before. */
function goesOnInCell(rows: readonly Row[], at: number, end: number): boolean {
  const [row, before] = [rows[end] as Row, rows[end - 1] as Row];
  const [first, ...others] = columnsOf(rows.slice(at, end));
  const [only] = row.segments as [Segment];
  if (first === undefined || others.length === 0) return false;
  const inFirst = only.left < first.right;
  if (inFirst)
    return row.y - before.y < 1.5 * row.size && only.right < (others[0] as Column).left && itemEnd(rows, end) === end;
  return row.y - before.y < 3 * row.size;
}

interface Column {
  left: number;
  right: number;
}

/**
 * By the rows that have a segment in every column, where those stand below each other; else what stays of the width when all segments
 * are laid over each other. A sum or a long name that reaches into the next column does not make one of two.
 */
function columnsOf(rows: readonly Row[]): Column[] {
  const max = Math.max(...rows.map((row) => row.segments.length));
  const whole = rows.filter((row) => row.segments.length === max);
  const columns = Array.from({ length: max }, (_, index) => {
    const cells = whole.map((row) => row.segments[index] as Segment);
    return { left: Math.min(...cells.map((cell) => cell.left)), right: Math.max(...cells.map((cell) => cell.right)) };
  });
  const apart = columns.every((column, index) => index === 0 || column.left > (columns[index - 1] as Column).right + 1);
  // One row says nothing about where the others have their cells.
  if (!apart || max < 2 || (whole.length === 1 && rows.length > 1)) return laidOver(rows);
  // Rows with fewer segments must have them in these columns, not across their borders.
  const fits = rows.every((row) => {
    const taken = cellsIn(row, columns).map((cells) => cells.length);
    return row.segments.length < 2 || taken.filter((count) => count > 0).length >= row.segments.length;
  });
  return fits ? columns : laidOver(rows);
}

function laidOver(rows: readonly Row[]): Column[] {
  const spans = rows
    .flatMap((row) => row.segments.map(({ left, right }) => ({ left, right })))
    .toSorted((a, b) => a.left - b.left);
  const columns: Column[] = [];
  for (const span of spans) {
    const last = columns.at(-1);
    if (last !== undefined && span.left < last.right + 1) last.right = Math.max(last.right, span.right);
    else columns.push({ ...span });
  }
  return columns;
}

type Cell = Pick<Part, 'runs' | 'left' | 'right'>;

/** What of a row stands in each column: a part is of the one that it shares most of its width with, else of the nearest. */
function cellsIn(row: Row, columns: readonly Column[]): Cell[][] {
  const cells: Cell[][] = columns.map(() => []);
  for (const part of row.segments.flatMap((segment) => segment.parts).flatMap((part) => dividedBy(columns, part))) {
    const near = columns.map((column) => Math.min(part.right, column.right) - Math.max(part.left, column.left));
    cells[near.indexOf(Math.max(...near))]?.push(part);
  }
  return cells;
}

/** A part where a cell almost touches the next one: divided at each small gap at which a column begins. */
function dividedBy(columns: readonly Column[], { pieces, size }: Part): Cell[] {
  const slack = size * 0.3;
  const cells: Cell[] = [];
  for (const piece of pieces.flatMap((one) => numbersOf(columns, one))) {
    const before = cells.at(-1);
    const begins = ({ left }: Column) =>
      before !== undefined && before.right <= left + slack && piece.left >= left - slack;
    if (before === undefined || columns.some(begins)) cells.push(piece);
    else {
      const runs = [...before.runs, { text: ' ', link: null }, ...piece.runs];
      cells[cells.length - 1] = { runs, left: before.left, right: piece.right };
    }
  }
  return cells;
}

/** Widths of its digits and of its other signs, in font sizes. */
const [digitWidth, signWidth] = [0.55, 0.3];
const numberAtEnd = /^(.*\S)\s+([\p{Sc}(+−-]?\d[\d.,:'’]*\)?[\p{Sc}%]?)$/u;

/**
 * The library that reads a page puts text together that is less than 0.6 font sizes apart. A number at the end that begins or ends where a column does
 * is a cell of that column.
 */
function numbersOf(columns: readonly Column[], piece: Part['pieces'][number]): Cell[] {
  const [run, ...more] = piece.runs;
  if (run === undefined || more.length > 0) return [piece];
  const slack = piece.size * 0.5;
  const numbers: Cell[] = [];
  let { right } = piece;
  let rest = run.text.trim();
  for (const column of columns.slice(1).toReversed()) {
    const [, before, number] = numberAtEnd.exec(rest) ?? [];
    if (before === undefined || number === undefined || right < column.left || right > column.right + slack) continue;
    const digits = number.replace(/\D/g, '').length;
    const left = right - (digits * digitWidth + (number.length - digits) * signWidth) * piece.size;
    if (Math.abs(left - column.left) > slack && Math.abs(right - column.right) > slack) continue;
    numbers.unshift({ runs: [{ text: number, link: run.link }], left, right });
    rest = before;
    right = left - slack;
  }
  return numbers.length === 0
    ? [piece]
    : [{ runs: [{ text: rest, link: run.link }], left: piece.left, right }, ...numbers];
}

/** A line without a wide gap that has cells in several of the columns above it. */
function isDivided(rows: readonly Row[], at: number, end: number): boolean {
  const [row, before] = [rows[end] as Row, rows[end - 1] as Row];
  const columns = columnsOf(rows.slice(at, end));
  if (columns.length < 2 || row.y - before.y >= 3 * row.size) return false;
  return cellsIn(row, columns).filter((cell) => cell.length > 0).length > 1;
}

function tableOf(rows: readonly Row[]): string {
  const columns = columnsOf(rows);
  const cells: string[][] = [];
  let before: readonly boolean[] = [];
  for (const [index, row] of rows.entries()) {
    const parts = cellsIn(row, columns);
    const line = parts.map((cell) => cell.map((part) => runsOf(part.runs)).join(' '));
    const filled = parts.map((cell) => cell.length > 0);
    const last = cells.at(-1);
    const gap = index === 0 ? Number.POSITIVE_INFINITY : row.y - (rows[index - 1] as Row).y;
    // Cells that are centred beside one of several lines stand between its lines; a cell that continues stands close below. Rows that have the
    // same cells are two rows, however tight they are set.
    const between = gap < 0.95 * row.size && !filled.some((has, at) => has && before[at] === true);
    const goesOn = filled.filter(Boolean).length === 1 && gap < 1.5 * row.size;
    if (last !== undefined && (between || goesOn))
      for (const [at, text] of line.entries()) last[at] = `${last[at] ?? ''} ${text}`.trim();
    else cells.push(line);
    before = filled;
  }
  return table(cells);
}

/** Lines as one: words that were divided are put together, where that can be known. */
function joined(rows: readonly Row[], clean: (first: string) => string = (first) => first): string {
  let text = '';
  const bound = Math.max(...rows.map(right));
  for (const [index, row] of rows.entries()) {
    const runs = row.segments.flatMap((segment, at) =>
      at === 0 ? segment.runs : [{ text: ' ', link: null }, ...segment.runs],
    );
    let line = runsOf(index === 0 ? cleaned(runs, clean) : runs);
    if (index > 0) line = line.trimStart();
    const before = rows[index - 1];
    if (before !== undefined && right(before) + firstWord(row) < bound - row.size) text += `  \n${line}`;
    else if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(line)) text = text.slice(0, -1) + line;
    else if (
      /[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]$/.test(text) &&
      /^[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]/.test(line)
    )
      text += line;
    else text += `${text === '' ? '' : ' '}${line}`;
  }
  return text.trim();
}

const right = (row: Row): number => (row.segments.at(-1) as Segment).right;

/** How wide its first word and a space are, about: had it fitted into the line before, that line was ended on purpose. */
function firstWord(row: Row): number {
  const [segment] = row.segments as [Segment];
  const word = /^\S+/.exec(segment.text)?.[0].length ?? 0;
  return ((word + 1) / Math.max(1, segment.text.length)) * (segment.right - segment.left);
}

type Run = { readonly text: string; readonly link: string | null };

function cleaned(runs: readonly Run[], clean: (first: string) => string): Run[] {
  const whole = runs
    .map((run) => run.text)
    .join('')
    .trimStart();
  let cut = whole.length - clean(whole).length + (runs.map((run) => run.text).join('').length - whole.length);
  return runs.map((run) => {
    const away = Math.min(cut, run.text.length);
    cut -= away;
    return { text: run.text.slice(away), link: run.link };
  });
}

function runsOf(runs: readonly Run[]): string {
  return runs
    .map(({ text, link: address }) => {
      const shown = escapeLine(text);
      if (shown === '') return text === '' ? '' : ' ';
      const [before, after] = [/^\s/.test(text) ? ' ' : '', /\s$/.test(text) ? ' ' : ''];
      if (address === null) return `${before}${shown}${after}`;
      const itself = plain(text) === address.toLowerCase() && /^https?:[^\s<>\\&`]+$/i.test(address);
      return `${before}${itself ? `<${address}>` : link(shown, address)}${after}`;
    })
    .join('')
    .replace(/ {2,}/g, ' ')
    .trim();
}
