/** CSV and TSV as a table: the separator is detected, quotes and ragged rows are read, long tables are cut with a note. */
import type { Format } from '../../format.ts';
import { escapeLine } from '../../markdown/escape.ts';
import { table } from '../../markdown/table.ts';

/** More rows than these say nothing to a reader. */
const maxRows = 5000;
const maxColumns = 200;
/** Of one cell, characters. */
const maxCellLength = 2000;

export const separatedFormat: Format = {
  name: 'csv',
  family: 'data',
  kinds: ['csv', 'tsv'],
  async convert(_bytes, context) {
    const text = context.text();
    const { parse } = await import('csv-parse/sync');
    const separator = context.sniffed.kind === 'tsv' ? '\t' : separatorOf(text);
    const options = {
      delimiter: separator,
      relax_column_count: true,
      // A quote inside a cell that is not quoted is a quote: inches and quotations are written so.
      relax_quotes: true,
      skip_empty_lines: true,
      to: maxRows + 2,
    } as const;
    const notes: string[] = [];
    let rows: string[][];
    try {
      rows = parse(text, options);
    } catch {
      notes.push('Its quotes do not match; every line was read as one row.');
      rows = parse(text, { ...options, quote: false });
    }
    context.mustHaveTime();
    const all = text.split('\n').filter((line) => line.trim() !== '').length;
    if (rows.length > maxRows + 1) {
      rows = rows.slice(0, maxRows + 1);
      notes.push(`The table was cut: ${maxRows} of about ${all - 1} rows are here.`);
    }
    const columns = rows.reduce((max, row) => Math.max(max, row.length), 0);
    if (columns > maxColumns) notes.push(`The table was cut: ${maxColumns} of ${columns} columns are here.`);
    if (rows.some((row) => row.length !== (rows[0] as string[]).length))
      notes.push('Its rows have different numbers of cells.');
    const long = rows.some((row) => row.some((cell) => cell.length > maxCellLength));
    if (long) notes.push(`Cells longer than ${maxCellLength} characters were cut.`);
    const cells = rows.map((row) => row.slice(0, maxColumns).map((cell) => escapeLine(cell.slice(0, maxCellLength))));
    const markdown = table(cells);
    return {
      markdown: markdown === '' ? '' : `${markdown}\n`,
      metadata: { rows: Math.max(0, rows.length - 1), columns, separator: separator === '\t' ? 'tab' : separator },
      notes,
    };
  },
};

/** The one that most of the first lines have equally often. */
function separatorOf(text: string): string {
  const lines = text
    .slice(0, 64 * 1024)
    .split(/\r?\n/, 30)
    .filter((line) => line !== '');
  const scored = [',', ';', '\t', '|'].map((separator) => {
    const counts = lines.map((line) => line.replace(/"(?:[^"]|"")*"/g, '').split(separator).length - 1);
    const usual = counts[0] ?? 0;
    return {
      separator,
      score: usual === 0 ? 0 : counts.filter((count) => count === usual).length * 100 + Math.min(usual, 99),
    };
  });
  return scored.reduce((best, one) => (one.score > best.score ? one : best)).separator;
}
