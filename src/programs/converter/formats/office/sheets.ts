/**
 * Spreadsheets (xlsx, xlsb, xls, ods): a table a sheet, cells as they are shown, dates as ISO 8601 whatever the sheet's own order
 * of day and month, comments below with their cells. Caps on rows and columns say what they cut. Must not know how a file is
 * unpacked or what a cell's format string means (the library's).
 */
import { type CellObject, read, SSF, utils, type WorkBook, type WorkSheet } from '@e965/xlsx';
import {
  type ConvertContext,
  type Converted,
  ConvertFault,
  type Format,
  type MetadataValue,
  saidBy,
} from '../../format.ts';
import { escapeLine, escapeText } from '../../markdown/escape.ts';
import { link } from '../../markdown/link.ts';
import { table } from '../../markdown/table.ts';
import { readZip } from '../../zip-reader.ts';
import { repack } from './repack.ts';
import { withSoundProperties } from './xls-properties.ts';

/** Rows read of one sheet: more is no longer a document but a database. */
const maxRows = 10_000;
const maxColumns = 256;
/** Cells of all sheets that are written out; each costs memory several times over. */
const maxCells = 500_000;
/** Comments listed of one sheet. */
const maxComments = 1000;

interface Comment {
  readonly cell: string;
  readonly text: string;
}

interface Sheet {
  readonly rows: readonly (readonly string[])[];
  readonly comments: readonly Comment[];
  /** Sentences about what was cut, without the sheet's name. */
  readonly cut: readonly string[];
}

export const sheetsFormat: Format = {
  name: 'sheets',
  family: 'office',
  kinds: ['xlsx', 'xls', 'ods'],
  async convert(bytes, context) {
    const { book, lost } = await readBook(bytes, context);
    return toMarkdown(book, lost, context);
  },
};

async function readBook(bytes: Uint8Array, context: ConvertContext): Promise<{ book: WorkBook; lost: string[] }> {
  const lost: string[] = [];
  let content = bytes;
  if (context.sniffed.kind !== 'xls') {
    const zip = await readZip(bytes, context);
    const names = zip.entries.map((entry) => entry.name);
    if (names.some((name) => /^xl\/charts\//.test(name)))
      lost.push('Charts are left out: their data is in the sheets.');
    if (names.some((name) => /^(?:xl\/media|Pictures)\//.test(name))) lost.push('Pictures in sheets are left out.');
    // OpenDocument encrypts part by part; the container itself is open.
    if ((await zip.readText('META-INF/manifest.xml'))?.includes('encryption-data') === true) throw encrypted();
    content = await repack(
      zip,
      (name) => /\.(?:xml|rels|bin|vml)$|^mimetype$/i.test(name) && !/^xl\/(?:media|embeddings)\//.test(name),
    );
  }
  context.mustHaveTime();
  try {
    // Formulas, styles and macros are not even looked at: cells keep the values that were saved with them.
    const book = read(context.sniffed.kind === 'xls' ? withSoundProperties(content) : content, {
      type: 'array',
      dense: true,
      cellNF: true,
      cellHTML: false,
      cellFormula: false,
      sheetRows: maxRows + 1,
    });
    return { book, lost };
  } catch (cause) {
    const why = (cause as Error).message;
    if (/password|encrypt/i.test(why)) throw encrypted(cause);
    throw new ConvertFault(
      'damaged',
      `The spreadsheet is truncated or damaged${saidBy(cause)}.`,
      'Open it in its program, save it again and convert that.',
      { cause },
    );
  }
}

function encrypted(cause?: unknown): ConvertFault {
  return new ConvertFault(
    'encrypted',
    'The spreadsheet is protected by a password.',
    'Open it with its password, save it without one and convert that.',
    { cause },
  );
}

function toMarkdown(book: WorkBook, lost: readonly string[], context: ConvertContext): Converted {
  const pieces: string[] = [];
  const notes = [...lost];
  let left = maxCells;
  const date1904 = book.Workbook?.WBProps?.date1904 === true;
  for (const [index, name] of book.SheetNames.entries()) {
    context.mustHaveTime();
    context.step(index, book.SheetNames.length, 'sheets');
    const sheet = book.Sheets[name];
    if (sheet === undefined) continue;
    pieces.push(`## ${escapeLine(name) || `Sheet ${index + 1}`}`);
    const shown = JSON.stringify(name);
    if ((book.Workbook?.Sheets?.[index]?.Hidden ?? 0) !== 0)
      notes.push(`The sheet ${shown} is hidden in the file; it is given.`);
    const read = readSheet(sheet, date1904, left, context);
    left -= read.rows.reduce((sum, row) => sum + row.length, 0);
    notes.push(...read.cut.map((sentence) => `Sheet ${shown}: ${sentence}`));
    pieces.push(table(read.rows));
    if (read.comments.length > 0) {
      pieces.push(`### Comments:\n\n${read.comments.map(({ cell, text }) => `* ${cell}: ${text}`).join('\n')}`);
    }
  }
  return {
    markdown: pieces.filter((piece) => piece !== '').join('\n\n'),
    metadata: { ...properties(book), sheets: book.SheetNames },
    notes,
  };
}

function readSheet(sheet: WorkSheet, date1904: boolean, maxCellsHere: number, context: ConvertContext): Sheet {
  const data = (sheet['!data'] ?? []) as readonly (readonly (CellObject | undefined)[] | undefined)[];
  const rows: string[][] = [];
  const comments: Comment[] = [];
  const cut: string[] = [];
  let cells = 0;
  let widest = 0;
  for (const [y, line] of data.entries()) {
    if (line === undefined) continue;
    if (y % 500 === 0) context.mustHaveTime();
    if (y >= maxRows || cells > maxCellsHere) {
      const total = rowCount(sheet['!fullref'] ?? sheet['!ref']);
      cut.push(`only the first ${y}${total > y ? ` of ${total}` : ''} rows are given.`);
      break;
    }
    widest = Math.max(widest, line.length);
    const row: string[] = [];
    line.slice(0, maxColumns).forEach((cell, x) => {
      if (cell === undefined) return;
      row[x] = cellText(cell, date1904);
      for (const comment of cell.c ?? []) {
        const by = escapeLine(comment.a ?? '');
        // Excel begins the text of a note with its author's name.
        const said = escapeLine((comment.t ?? '').replace(comment.a ? `${comment.a}:` : '', ''));
        if (said === '') continue;
        comments.push({ cell: utils.encode_cell({ r: y, c: x }), text: by === '' ? said : `**${by}:** ${said}` });
      }
    });
    const filled = Array.from(row, (text) => text ?? '');
    // Rows of nothing only divide; a table cannot.
    if (filled.some((text) => text !== '')) {
      rows.push(filled);
      cells += filled.length;
    }
  }
  if (widest > maxColumns) cut.push(`only the first ${maxColumns} of ${widest} columns are given.`);
  if (comments.length > maxComments)
    cut.push(`only the first ${maxComments} of ${comments.length} comments are given.`);
  return { rows: withoutEmptyColumns(rows), comments: comments.slice(0, maxComments), cut };
}

function rowCount(reference: string | undefined): number {
  return reference === undefined ? 0 : utils.decode_range(reference).e.r + 1;
}

function withoutEmptyColumns(rows: readonly (readonly string[])[]): string[][] {
  const used = new Set<number>();
  for (const row of rows) for (const [x, text] of row.entries()) if (text !== '') used.add(x);
  return rows.map((row) => row.filter((_, x) => used.has(x)));
}

function cellText(cell: CellObject, date1904: boolean): string {
  const text = escapeText(shownText(cell, date1904).trim());
  const target = cell.l?.Target;
  return target === undefined || target.startsWith('#') || text === '' ? text : link(text, target);
}

function shownText(cell: CellObject, date1904: boolean): string {
  if (cell.t === 'z' || cell.v === undefined) return '';
  if (cell.v instanceof Date)
    return cell.v
      .toISOString()
      .replace(/T00:00:00\.000Z$/, '')
      .replace(/\.000Z$/, 'Z');
  if (cell.t === 'n' && typeof cell.z === 'string' && typeof cell.v === 'number' && SSF.is_date(cell.z)) {
    return isoDate(cell.v, cell.z, date1904) ?? cell.w ?? String(cell.v);
  }
  if (cell.t === 'b') return cell.v ? 'TRUE' : 'FALSE';
  return plainNumber(cell) ?? cell.w ?? String(cell.v);
}

/**
 * A number that no format asks to be shown in powers of ten, with all its digits: a program shows 4.00638E+12 only because the cell is narrow,
 * and the number is lost to a reader. Excel keeps 15 digits. Null where what is shown says it all.
 */
function plainNumber({ t, v, w, z }: CellObject): string | null {
  const general = z === undefined || /^(?:general|@)?$/i.test(String(z));
  if (t !== 'n' || typeof v !== 'number' || !general) return null;
  if (!/\dE[+-]?\d|\d{17}/i.test(w ?? '')) return null;
  const digits = String(Number(v.toPrecision(15)));
  return digits.includes('e') ? null : digits;
}

/** Null for durations and times of day, which are written in one way everywhere. */
function isoDate(value: number, format: string, date1904: boolean): string | null {
  const letters = format.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, '');
  if (!/[yd]|m(?![^hs]*s)/i.test(letters) || /^[^yd]*h[^yd]*$/i.test(letters)) return null;
  const date = SSF.parse_date_code(value, { date1904 }) as {
    y: number;
    m: number;
    d: number;
    H: number;
    M: number;
    S: number;
  } | null;
  if (date === null || date === undefined) return null;
  const two = (number: number) => String(Math.floor(number)).padStart(2, '0');
  const day = `${String(date.y).padStart(4, '0')}-${two(date.m)}-${two(date.d)}`;
  if (date.H === 0 && date.M === 0 && date.S === 0) return day;
  return `${day} ${two(date.H)}:${two(date.M)}${date.S >= 1 ? `:${two(date.S)}` : ''}`;
}

const names: Readonly<Record<string, string>> = {
  Title: 'title',
  Author: 'author',
  Subject: 'subject',
  Keywords: 'keywords',
  Comments: 'description',
  LastAuthor: 'lastModifiedBy',
  CreatedDate: 'created',
  ModifiedDate: 'modified',
  Company: 'company',
};

function properties(book: WorkBook): Record<string, MetadataValue> {
  const metadata: Record<string, MetadataValue> = {};
  for (const [name, value] of Object.entries(book.Props ?? {})) {
    const own = names[name];
    if (own === undefined || value === undefined || value === '') continue;
    metadata[own] = value instanceof Date ? value.toISOString() : String(value).slice(0, 2000);
  }
  return metadata;
}
