/**
 * From the pieces of text that a page paints to its lines in reading order: pieces that stand together make a segment, segments on
 * one baseline a row, columns are read one after the other. Coordinates in points, from the top left. Must not know Markdown.
 */

/** A piece as the page paints it. */
export interface Piece {
  readonly text: string;
  readonly x: number;
  /** Of the baseline. */
  readonly y: number;
  readonly width: number;
  readonly size: number;
  readonly link: string | null;
}

/** Text without a gap that means something. */
export interface Segment {
  /** In reading order; text with its own link stays separate. */
  readonly runs: readonly { readonly text: string; readonly link: string | null }[];
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly size: number;
  /** The same, divided at gaps that would be cells beside each other in a table, and are spaces in a line of text. */
  readonly parts: readonly Part[];
}

export interface Part extends Omit<Segment, 'parts'> {
  /** The same, divided also at gaps that divide cells only where a column begins. */
  readonly pieces: readonly Omit<Segment, 'parts'>[];
}

/** Segments on one baseline, from the left. */
export interface Row {
  readonly segments: readonly Segment[];
  readonly y: number;
  readonly size: number;
}

/** A gap this wide, in font sizes, is more than a space in justified text. */
const wideGap = 1.4;
/** A gap this wide, in font sizes, may divide two cells of a table. */
const cellGap = 0.7;
/** A gap this wide, in font sizes, is more than a space between words: it divides two cells where a column of a table begins. */
const closeCellGap = 0.4;
/** A gap this wide is a space that was not painted. */
const spaceGap = 0.18;
/** Baselines within this part of the font size are one: indices and powers are a little off. */
const sameLine = 0.35;

function rowsOf(pieces: readonly Piece[]): Row[] {
  const sorted = pieces.filter((piece) => piece.text.trim() !== '').toSorted((a, b) => a.y - b.y || a.x - b.x);
  const rows: Piece[][] = [];
  for (const piece of sorted) {
    const row = rows.at(-1);
    const first = row?.[0];
    // Against the first of the row: a slanting scan must not pull a whole page into one line.
    if (row !== undefined && first !== undefined && piece.y - first.y <= sameLine * Math.max(piece.size, first.size))
      row.push(piece);
    else rows.push([piece]);
  }
  return rows.map(rowOf);
}

function rowOf(pieces: readonly Piece[]): Row {
  const sorted = pieces.toSorted((a, b) => a.x - b.x);
  const segments: Segment[] = [];
  let group: Piece[] = [];
  let right = 0;
  for (const piece of sorted) {
    const gap = piece.x - right;
    const size = Math.max(piece.size, group.at(-1)?.size ?? 0);
    if (group.length > 0 && gap > wideGap * size && !isBullet(group)) {
      segments.push(withParts(group));
      group = [];
    }
    // Painted twice a little apart: a poor program's bold.
    const last = group.at(-1);
    const twice =
      last !== undefined &&
      last.text === piece.text &&
      Math.abs(last.x - piece.x) < 0.15 * size &&
      last.text.length > 1;
    if (!twice) group.push(piece);
    right = Math.max(group.length === 1 ? 0 : right, piece.x + piece.width);
  }
  if (group.length > 0) segments.push(withParts(group));
  const main = segments.toSorted((a, b) => b.text.length - a.text.length)[0] as Segment;
  return { segments, y: main.y, size: main.size };
}

const bullet = /^(?:[•◦▪▫‣●○■□➢➤✓–—-]|[\uf0b7\uf0a7\uf0d8\uf076\uf0fc]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])$/;

/** The mark of a list item stands well before its text. */
function isBullet(group: readonly Piece[]): boolean {
  return bullet.test(
    group
      .map((piece) => piece.text)
      .join('')
      .trim(),
  );
}

function withParts(pieces: readonly Piece[]): Segment {
  return { ...segmentOf(pieces), parts: dividedAt(cellGap, pieces).map(partOf) };
}

function partOf(pieces: readonly Piece[]): Part {
  return { ...segmentOf(pieces), pieces: dividedAt(closeCellGap, pieces).map(segmentOf) };
}

/** `gap`: in font sizes. */
function dividedAt(gap: number, pieces: readonly Piece[]): Piece[][] {
  const groups: Piece[][] = [];
  let right = Number.NEGATIVE_INFINITY;
  for (const piece of pieces) {
    const group = groups.at(-1);
    if (group === undefined || piece.x - right > gap * piece.size) groups.push([piece]);
    else group.push(piece);
    right = Math.max(right, piece.x + piece.width);
  }
  return groups;
}

function segmentOf(pieces: readonly Piece[]): Omit<Segment, 'parts'> {
  const runs: { text: string; link: string | null }[] = [];
  let right = pieces[0]?.x ?? 0;
  for (const piece of pieces) {
    const before = runs.at(-1);
    const spaced =
      before !== undefined &&
      !/\s$/.test(before.text) &&
      !/^\s/.test(piece.text) &&
      piece.x - right > spaceGap * piece.size;
    if (before !== undefined && before.link === piece.link) before.text += `${spaced ? ' ' : ''}${piece.text}`;
    else {
      if (before !== undefined && spaced) before.text += ' ';
      runs.push({ text: piece.text, link: piece.link });
    }
    right = Math.max(right, piece.x + piece.width);
  }
  // Most of its characters have this size: a raised number does not make it another line.
  const bySize = new Map<number, number>();
  for (const piece of pieces) bySize.set(piece.size, (bySize.get(piece.size) ?? 0) + piece.text.length);
  const size = [...bySize].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
  const main = pieces.find((piece) => piece.size === size) as Piece;
  const text = runs
    .map((run) => run.text)
    .join('')
    .trim();
  return { runs, text, left: pieces[0]?.x ?? 0, right, y: main.y, size };
}

/** Narrower is a space between words. Points. */
const narrowestGutter = 8;
/** So many lines on each side, or it is no column. */
const fewestLines = 5;
/** A column holds running text: half of its lines are at least this long. Characters. */
const shortestLine = 18;
/** Lines of a column stand at most this far apart, in font sizes. */
const columnGap = 2.6;

/** The rows of a page in reading order: where it has columns, each is read to its end before the next one. */
export function inReadingOrder(pieces: readonly Piece[]): Row[] {
  return ordered(rowsOf(pieces), 0);
}

function ordered(rows: readonly Row[], depth: number): Row[] {
  if (depth > 4 || rows.length < fewestLines) return [...rows];
  const left = Math.min(...rows.map((row) => (row.segments[0] as Segment).left));
  const right = Math.max(...rows.map((row) => (row.segments.at(-1) as Segment).right));
  const found: Row[] = [];
  for (let at = 0; at < rows.length; ) {
    const { end, gutter } = columnsFrom(rows, at, left, right);
    if (gutter === null) {
      found.push(rows[at] as Row);
      at += 1;
      continue;
    }
    const segments = rows.slice(at, end).flatMap((row) => row.segments);
    for (const side of [
      segments.filter((segment) => segment.right <= gutter),
      segments.filter((segment) => segment.left >= gutter),
    ]) {
      found.push(...ordered(regrouped(side), depth + 1));
    }
    at = end;
  }
  return found;
}

/** How far a white strip runs down between two columns of running text, from row `at`; null where it does not. */
function columnsFrom(
  rows: readonly Row[],
  at: number,
  left: number,
  right: number,
): { end: number; gutter: number | null } {
  const width = right - left;
  let free = [{ from: left + width * 0.15, to: right - width * 0.15 }];
  let end = at;
  for (; end < rows.length; end += 1) {
    const row = rows[end] as Row;
    const before = rows[end - 1];
    if (end > at && before !== undefined && row.y - before.y > columnGap * row.size) break;
    const rest = row.segments.reduce((strips, segment) => strips.flatMap((strip) => without(strip, segment)), free);
    if (rest.length === 0) break;
    free = rest;
  }
  const [widest] = free.toSorted((a, b) => b.to - b.from - (a.to - a.from));
  if (end - at < fewestLines || widest === undefined) return { end, gutter: null };
  const gutter = (widest.from + widest.to) / 2;
  const segments = rows.slice(at, end).flatMap((row) => row.segments);
  const both =
    isColumn(segments.filter((segment) => segment.right <= gutter)) &&
    isColumn(segments.filter((segment) => segment.left >= gutter));
  return { end, gutter: both ? gutter : null };
}

function without(strip: { from: number; to: number }, segment: Segment): { from: number; to: number }[] {
  if (segment.right < strip.from || segment.left > strip.to) return [strip];
  return [
    { from: strip.from, to: segment.left },
    { from: segment.right, to: strip.to },
  ].filter(({ from, to }) => to - from >= narrowestGutter);
}

function regrouped(segments: readonly Segment[]): Row[] {
  const byLine = new Map<number, Segment[]>();
  for (const segment of segments) {
    const near = [...byLine.keys()].findLast((y) => Math.abs(y - segment.y) <= sameLine * segment.size);
    if (near === undefined) byLine.set(segment.y, [segment]);
    else byLine.get(near)?.push(segment);
  }
  return [...byLine]
    .toSorted((a, b) => a[0] - b[0])
    .map(([y, line]) => ({ segments: line, y, size: (line[0] as Segment).size }));
}

/** Enough lines, long ones, and most of them fill the width: cells of a table do not. */
function isColumn(segments: readonly Segment[]): boolean {
  if (segments.length < fewestLines) return false;
  const lengths = segments.map((segment) => segment.text.length).toSorted((a, b) => a - b);
  if ((lengths[lengths.length >> 1] as number) < shortestLine) return false;
  const left = Math.min(...segments.map((segment) => segment.left));
  const widths = segments.map((segment) => segment.right - left);
  const width = Math.max(...widths);
  return widths.filter((one) => one > 0.8 * width).length >= 0.5 * widths.length;
}
