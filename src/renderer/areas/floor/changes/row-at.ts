/** Where a line of a file is in a diff. Pure. */
import { type DiffRow, isLine } from '../../../ui/diff/diff-rows.ts';

/** The row of that line as the present file has it, or of the file where no line is asked for; null: the diff does not show it. */
export function rowAt(rows: readonly DiffRow[], path: string, line: number | null): number | null {
  const at = rows.findIndex((row) =>
    line === null ? row.kind === 'file' && row.path === path : isLine(row) && row.path === path && row.after === line,
  );
  return at === -1 ? null : at;
}
