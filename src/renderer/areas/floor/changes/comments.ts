/**
 * Comments on lines of a bot's diff: where they stand, and the message that they make. Kept in the browser by bot until they are sent. Must not know
 * how they are shown.
 */
import { z } from 'zod';
import { readJson, writeJson } from '../../../base/data/settings.ts';
import { type DiffRow, isLine } from '../../../ui/diff/diff-rows.ts';
import { visibleText } from '../../../ui/visible-text.ts';

/** Characters of a message that the send route takes. */
export const maxMessage = 100_000;
/** Lines of a range that the message quotes; the numbers name the rest. */
const maxQuoted = 40;
/** Characters of a quoted line. */
const widestQuoted = 500;

const Comment = z.strictObject({
  id: z.string(),
  path: z.string(),
  /** First and last line by their numbers, of the present file if it has the line. */
  first: z.strictObject({ number: z.number(), gone: z.boolean() }),
  last: z.strictObject({ number: z.number(), gone: z.boolean() }),
  hunk: z.string(),
  /** The lines as the diff had them, with their signs. */
  lines: z.array(z.string()),
  text: z.string(),
});
export type Comment = z.infer<typeof Comment>;

const Kept = z.strictObject({
  comments: z.array(Comment).max(1000),
  /** The one that is being written; one of `comments` while it is changed. */
  draft: Comment.nullable(),
  /** A message that was sent and not yet answered: sent again, it is the same one. */
  sending: z.strictObject({ key: z.string(), text: z.string() }).nullable(),
});
export type Kept = z.infer<typeof Kept>;

const nothing: Kept = { comments: [], draft: null, sending: null };

export interface CommentStore {
  get(): Kept;
  set(next: Kept): void;
  subscribe(listener: () => void): () => void;
}

/** Of one bot. Another tab's changes are taken over, so that none is sent from both. */
export function createCommentStore(window: Window, botId: string): CommentStore {
  const key = `gantry.comments.${botId}`;
  const read = (): Kept => Kept.catch(nothing).parse(readJson(window.localStorage, key) ?? nothing);
  let kept = read();
  const listeners = new Set<() => void>();
  const onStorage = (event: StorageEvent): void => {
    if (event.key !== key) return;
    kept = read();
    for (const listener of listeners) listener();
  };
  return {
    get: () => kept,
    set(next) {
      kept = next;
      if (next.comments.length === 0 && next.draft === null) window.localStorage.removeItem(key);
      else writeJson(window.localStorage, key, next);
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      if (listeners.size === 0) window.addEventListener('storage', onStorage);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) window.removeEventListener('storage', onStorage);
      };
    },
  };
}

const signs = { same: ' ', added: '+', removed: '-' } as const;
const signed = (row: DiffRow): string[] => (isLine(row) ? [`${signs[row.kind]}${row.text}`] : []);

/** On the rows from one to the other, both included; null where there is no line. */
export function commentOn(
  rows: readonly DiffRow[],
  from: number,
  to: number,
  text: string,
  id: string,
): Comment | null {
  const first = rows[from];
  const last = rows[to];
  if (!isLine(first) || !isLine(last)) return null;
  const numberOf = (row: typeof first) => ({ number: row.after ?? row.before ?? 0, gone: row.after === null });
  return {
    id,
    path: first.path,
    first: numberOf(first),
    last: numberOf(last),
    hunk: first.hunk,
    lines: rows.slice(from, to + 1).flatMap(signed),
    text,
  };
}

/** The row under which each comment stands: below its last line, wherever that is by now. Without one: its lines have changed since. */
export function placesOf(rows: readonly DiffRow[], comments: readonly Comment[]): Map<string, number> {
  const places = new Map<string, number>();
  const files = new Map<string, number[]>();
  for (const [at, row] of rows.entries()) {
    if (!isLine(row)) continue;
    const known = files.get(row.path);
    if (known === undefined) files.set(row.path, [at]);
    else known.push(at);
  }
  for (const comment of comments) {
    const wanted = comment.lines.join('\n');
    let nearest: { at: number; away: number } | null = null;
    const inFile = files.get(comment.path) ?? [];
    for (const [index, at] of inFile.entries()) {
      const [line] = signed(rows[at] as DiffRow);
      if (line !== comment.lines[0]) continue;
      const stretch = inFile.slice(index, index + comment.lines.length);
      if (stretch.flatMap((one) => signed(rows[one] as DiffRow)).join('\n') !== wanted) continue;
      const row = rows[at];
      const number = isLine(row) ? (row.after ?? row.before ?? 0) : 0;
      const away = Math.abs(number - comment.first.number);
      if (nearest === null || away < nearest.away) nearest = { at: stretch.at(-1) ?? at, away };
    }
    if (nearest !== null) places.set(comment.id, nearest.at);
  }
  return places;
}

/** `line 12`, `lines 12 to 14`, `former line 9`. */
export function linesWords({ first, last }: Pick<Comment, 'first' | 'last'>): string {
  if (first.number === last.number && first.gone === last.gone)
    return `${first.gone ? 'former line' : 'line'} ${first.number}`;
  if (first.gone === last.gone) return `${first.gone ? 'former lines' : 'lines'} ${first.number} to ${last.number}`;
  const word = (end: Comment['first']) => `${end.gone ? 'former line' : 'line'} ${end.number}`;
  return `${word(first)} to ${word(last)}`;
}

export const countWords = (count: number): string => `${count} ${count === 1 ? 'comment' : 'comments'}`;

/** One message of all comments, in the order of the diff: path, lines, hunk and text of each. */
export function messageOf(comments: readonly Comment[]): string {
  const parts = comments.map((comment) => {
    const quoted = comment.lines
      .slice(0, maxQuoted)
      .map((line) => visibleText(line.length > widestQuoted ? `${line.slice(0, widestQuoted)}…` : line));
    const more = comment.lines.length - quoted.length;
    const body = [visibleText(comment.hunk), ...quoted, ...(more > 0 ? [`(${more} more lines)`] : [])].join('\n');
    // A fence longer than any in the quoted lines: what is quoted cannot end it.
    const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map(([run]) => run.length));
    const fence = '`'.repeat(longest + 1);
    return `${visibleText(comment.path)}, ${linesWords(comment)}\n${fence}diff\n${body}\n${fence}\n${comment.text.trim()}`;
  });
  return `${countWords(comments.length)} on your changes:\n\n${parts.join('\n\n')}`;
}
