/** Owns tables in Markdown (GFM): one header row, cells on one line. Must not know any document format. */

/** Cell as it may stand between two pipes. The content is Markdown already. */
function cell(content: string): string {
  return (
    content
      .trim()
      // One that is escaped already stays: a second backslash would take the meaning from the first.
      .replace(/(\\*)\|/g, (all, before: string) => (before.length % 2 === 0 ? `${before}\\|` : all))
      .replace(/(?<!\s)\s*[\r\n]\s*/g, '<br>')
  );
}

/**
 * The first row is the header. Rows may be ragged: short ones are filled. `hasHeader: false` puts an empty header
 * above, for tables whose first row is data. An empty table is an empty string.
 */
export function table(rows: readonly (readonly string[])[], options: { hasHeader?: boolean } = {}): string {
  const width = rows.reduce((max, row) => Math.max(max, row.length), 0);
  if (width === 0) return '';
  const all = options.hasHeader === false ? [Array<string>(width).fill(''), ...rows] : rows;
  const line = (row: readonly string[]) =>
    `| ${Array.from({ length: width }, (_, index) => cell(row[index] ?? '')).join(' | ')} |`;
  const [header, ...body] = all;
  if (header === undefined) return '';
  return [line(header), `| ${Array<string>(width).fill('---').join(' | ')} |`, ...body.map(line)].join('\n');
}
