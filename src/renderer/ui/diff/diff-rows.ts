/** A unified diff of git as rows for the screen: files, hunks, and lines with their numbers before and after. Pure. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  /** Without its sign, and without the carriage return of a CRLF line. */
  readonly text: string;
  /** Ends in CRLF. */
  readonly crlf: boolean;
  /** Number in the former file; null for an added line. */
  readonly before: number | null;
  /** Number in the present file; null for a removed line. */
  readonly after: number | null;
  readonly path: string;
  /** The line that begins its hunk. */
  readonly hunk: string;
}

export type DiffRow =
  | { readonly kind: 'file'; readonly path: string; readonly from: string | null }
  | { readonly kind: 'hunk'; readonly text: string }
  /** What git says about a file or a line: a changed mode, a binary file, no newline at the end. */
  | { readonly kind: 'note'; readonly text: string }
  | DiffLine;

export const isLine = (row: DiffRow | undefined): row is DiffLine => row !== undefined && 'crlf' in row;

export function diffRows(patch: string): DiffRow[] {
  const rows: DiffRow[] = [];
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  let file: { path: string; from: string | null } = { path: '', from: null };
  let hunk = '';
  let before = 0;
  let after = 0;
  /** Lines of this hunk still to come, by side: only inside of them does a first character mean anything. */
  let left = { before: 0, after: 0 };
  for (const line of lines) {
    if (left.before > 0 || left.after > 0 || line.startsWith('\\')) {
      const sign = line.charAt(0);
      if (sign === '\\') {
        rows.push({ kind: 'note', text: line.slice(2) });
        continue;
      }
      const crlf = line.endsWith('\r');
      const row = { text: crlf ? line.slice(1, -1) : line.slice(1), crlf, path: file.path, hunk };
      if (sign === '+') rows.push({ ...row, kind: 'added', before: null, after });
      else if (sign === '-') rows.push({ ...row, kind: 'removed', before, after: null });
      else rows.push({ ...row, kind: 'same', before, after });
      if (sign !== '+') [before, left] = [before + 1, { ...left, before: left.before - 1 }];
      if (sign !== '-') [after, left] = [after + 1, { ...left, after: left.after - 1 }];
      continue;
    }
    const begins = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (begins !== null) {
      hunk = line.replace(/\r$/, '');
      before = Number(begins[1]);
      after = Number(begins[3]);
      left = { before: Number(begins[2] ?? 1), after: Number(begins[4] ?? 1) };
      rows.push({ kind: 'hunk', text: hunk });
    } else if (line.startsWith('diff --git ')) {
      file = { path: samePath(line.slice('diff --git '.length)), from: null };
      rows.push({ kind: 'file', ...file });
    } else {
      const known = headerOf(line, file);
      if (known === null) rows.push({ kind: 'note', text: line });
      else {
        file = known;
        const at = rows.findLastIndex((row) => row.kind === 'file');
        if (at === -1) rows.push({ kind: 'file', ...file });
        else rows[at] = { kind: 'file', ...file };
      }
    }
  }
  return rows;
}

/** What a line above the first hunk says about the file; null: something a person should read. */
function headerOf(line: string, file: { path: string; from: string | null }) {
  if (line.startsWith('index ') || line.startsWith('similarity index ') || line.startsWith('+++ /dev/null'))
    return file;
  if (line.startsWith('--- ')) return file.path === '' ? { ...file, path: unmarked(line.slice(4)) } : file;
  if (line.startsWith('+++ ')) return { ...file, path: unmarked(line.slice(4)) };
  if (line.startsWith('rename from ')) return { ...file, from: unquoted(line.slice('rename from '.length)) };
  if (line.startsWith('rename to ')) return { ...file, path: unquoted(line.slice('rename to '.length)) };
  return null;
}

/** `a/x b/x`: where both halves name one file, however many spaces it has. Else `rename to` or `+++` names it. */
function samePath(both: string): string {
  const middle = (both.length - 1) / 2;
  return both.charAt(middle) === ' ' ? unmarked(both.slice(middle + 1)) : '';
}

/** Without the `a/` or `b/` of git, and without the tab that it puts after a name with spaces. */
function unmarked(name: string): string {
  const plain = unquoted(name.replace(/\t$/, ''));
  return /^[ab]\//.test(plain) ? plain.slice(2) : plain;
}

const escapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/** git writes a name with unusual bytes in quotes, as C does. */
function unquoted(name: string): string {
  if (!/^".*"$/s.test(name)) return name;
  const bytes: number[] = [];
  for (const [, octal, letter, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(escapes[letter] ?? letter.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(plain));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** Rows from one to the other that are lines of one hunk, as far as they go from `anchor`; in order. */
export function rangeOf(rows: readonly DiffRow[], anchor: number, head: number): { from: number; to: number } {
  const step = head < anchor ? -1 : 1;
  let end = anchor;
  for (let at = anchor; ; at += step) {
    const kind = rows[at]?.kind;
    if (kind === undefined || kind === 'file' || kind === 'hunk') break;
    if (kind !== 'note') end = at;
    if (at === head) break;
  }
  return { from: Math.min(anchor, end), to: Math.max(anchor, end) };
}

/** The row that a changed line replaced, or was replaced by, by row: lines of a removed stretch and of the added one after it, in order. */
export function counterparts(rows: readonly DiffRow[]): Map<number, number> {
  const pairs = new Map<number, number>();
  let removed: number[] = [];
  let added: number[] = [];
  const pair = (): void => {
    // Where the stretches differ in length, nothing says which line became which.
    if (removed.length === added.length) {
      for (const [at, gone] of removed.entries()) {
        const come = added[at] as number;
        pairs.set(gone, come).set(come, gone);
      }
    }
    removed = [];
    added = [];
  };
  for (const [at, { kind }] of rows.entries()) {
    if (kind === 'removed') {
      if (added.length > 0) pair();
      removed.push(at);
    } else if (kind === 'added') added.push(at);
    else if (kind !== 'note') pair();
  }
  pair();
  return pairs;
}
