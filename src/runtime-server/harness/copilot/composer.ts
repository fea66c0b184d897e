/** Finds Copilot's composer on the screen. Reads facts; must not type. */
import { promptBox, type View } from '../judge/view.ts';
import type { Composer } from '../paste-delivery.ts';
import { sameText } from '../same-text.ts';
import { squeeze } from '../wording.ts';

/** Copilot shows this instead of a paste of more than ten lines; without its blanks, because it wraps. */
const pasteMarker = /\[Paste#\d+-\d+lines\]/u;
/** Its composer draws blanks in place of these, and submits them. */
const undrawn = /[\u2500-\u259f]/gu;
/** A taller text shows its last rows only, and no sign of it: then it is compared from its end. */
const tallRows = 10;
/** A long text that is shown in part is known by at least this much of its end. */
const tail = 120;

/** In its shell mode a text would run. */
const shellMode = / · Shell · /u;
/** Where terminal and program do not agree how wide a character is, what was drawn before may show through, such as the scroll bar at the edge. */
const shadeTop = /^╻[▄▀ ]{20,}┃?$/u;
const shadeEnd = /^╹[▄▀ ]{20,}┃?$/u;

/** Its rows without what stands before them. It has a shade where the terminal tells its colours, and lines above and below where it does not. */
function rowsOf(view: View): { readonly rows: readonly string[]; readonly behind: readonly string[] } | null {
  const { bottom } = view;
  const end = bottom.findLastIndex((row) => shadeEnd.test(row));
  const top = bottom.slice(0, Math.max(0, end)).findLastIndex((row) => shadeTop.test(row));
  if (end > 0 && top >= 0) {
    const rows = bottom.slice(top + 1, end);
    if (!rows.every((row) => row.startsWith('┃'))) return null;
    return { rows: rows.map((row) => row.replace(/^┃ ?/u, '').replace(/ +┃$/u, '')), behind: bottom.slice(end + 1) };
  }
  const box = promptBox(view);
  if (!box?.rows[0]?.startsWith('❯')) return null;
  const rows = box.rows.map((row, at) => (at === 0 ? row.slice(1).trimStart() : row.replace(/^ {1,2}/u, '')));
  return { rows, behind: bottom.slice(box.first + box.rows.length + 1) };
}

export function readComposer(view: View): Composer & { readonly tall?: boolean } {
  const found = rowsOf(view);
  // Only its footer follows it: a dialog is drawn in its place.
  if (found === null || found.behind.some((row) => /^[╭│╰]/u.test(row) || shellMode.test(row)))
    return { kind: 'closed' };
  const { rows } = found;
  const text = rows.join('\n').trimEnd();
  if (text === '' && rows.length === 1) return { kind: 'empty' };
  return { kind: 'text', text, tall: rows.length >= tallRows };
}

/** Whether the composer holds exactly our text, its end where it is tall, or markers in place of its pastes. Rows wrap, so blanks do not count. */
export function holdsOurs(composer: Composer & { readonly tall?: boolean }, ours: string): boolean {
  if (composer.kind !== 'text') return false;
  const [shown, text] = [composer.text, ours].map((one) => squeeze(one.replace(undrawn, ''))) as [string, string];
  const aroundMarkers = shown.split(pasteMarker);
  if (aroundMarkers.length > 1) return aroundMarkers.every((part) => text.includes(part));
  const isPart = composer.tall === true && shown.length >= tail;
  return sameText(shown, text, { tail: isPart });
}
