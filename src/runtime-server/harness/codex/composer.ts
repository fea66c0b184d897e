/** Finds Codex's composer and the last message above it on the screen. Reads facts; must not type. */
import type { View } from '../judge/view.ts';
import type { Composer } from '../paste-delivery.ts';
import { sameText } from '../same-text.ts';
import { squeeze } from '../wording.ts';
import { ghostTexts } from './rules.ts';

/** Codex shows this instead of a paste of more than a thousand characters. */
const pasteMarker = /^\[Pasted Content \d+ chars\](?: #\d+)?$/u;
/** A composer that is taller than the screen allows shows its last rows, and this at the end of the first. */
const cutMark = /\s+↑$/u;
/** A choice in a dialog, or a row under one, looks like the composer's first row. */
const choice = /^› \d+\. /u;
/** Rows under the composer: the model and folder, key hints, warnings. */
const footerRows = 2;
/** A long text that is shown in part is known by at least this much of its end. */
const tail = 120;

interface Place {
  readonly first: number;
  readonly rows: readonly string[];
  readonly cut: boolean;
}

/** The composer is the last `›` of the screen, its rows indented by two, a footer of at most two rows behind an empty one. */
function place(view: View): Place | null {
  const first = view.bottom.findLastIndex((row) => row === '›' || row.startsWith('› '));
  if (first < 0 || choice.test(view.bottom[first] ?? '')) return null;
  const behind = view.bottom.slice(first + 1);
  // Text without indentation is not part of the composer: a dialog, a list, an answer.
  if (behind.some((row) => row !== '' && !/^ /u.test(row))) return null;
  const lastGap = behind.lastIndexOf('');
  const footer = lastGap < 0 ? [] : behind.slice(lastGap + 1);
  const body = lastGap >= 0 && footer.length <= footerRows ? behind.slice(0, lastGap) : behind;
  const [row = '', ...rest] = [view.bottom[first] ?? '', ...body];
  return {
    first,
    rows: [row.slice(1).replace(/^ /u, '').replace(cutMark, ''), ...rest.map((one) => one.replace(/^ {1,2}/u, ''))],
    cut: cutMark.test(row),
  };
}

export function readComposer(view: View): Composer & { readonly cut?: boolean } {
  const found = place(view);
  if (!found) return { kind: 'closed' };
  const text = found.rows.join('\n').trim();
  if (text === '' || view.dimRows[found.first] === true || ghostTexts.some((ghost) => ghost.test(text))) {
    return { kind: 'empty' };
  }
  return { kind: 'text', text, cut: found.cut };
}

/** Whether the composer holds exactly our text, its end where it is cut, or the one marker that it collapsed to. Rows wrap, so blanks do not count. */
export function holdsOurs(composer: Composer & { readonly cut?: boolean }, ours: string): boolean {
  if (composer.kind !== 'text') return false;
  if (pasteMarker.test(composer.text)) return true;
  if (composer.cut === true && squeeze(composer.text).length >= tail)
    return sameText(composer.text, ours, { tail: true });
  return sameText(composer.text, ours);
}

/** The red message right above the composer (`■ …`), which says why the turn ended; null where there is none. */
export function lastFailure(view: View): string | null {
  const found = place(view);
  if (!found) return null;
  const above = view.bottom.slice(0, found.first);
  // Empty rows separate blocks; a long row continues at the margin.
  const end = above.findLastIndex((row) => row !== '');
  const start = above.slice(0, Math.max(0, end)).lastIndexOf('') + 1;
  const [first = '', ...rest] = above.slice(start, end + 1);
  return first.startsWith('■ ') ? [first.slice(2), ...rest].map((row) => row.trim()).join(' ') : null;
}
