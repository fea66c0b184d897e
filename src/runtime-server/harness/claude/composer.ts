/** Finds Claude Code's composer on the screen. Reads facts; must not type. */
import { promptBox, type View } from '../judge/view.ts';
import type { Composer } from '../paste-delivery.ts';
import { sameText } from '../same-text.ts';
import { ghostTexts } from './rules.ts';

/** Claude Code shows this instead of a paste of six lines or more, or of more than about 800 characters. */
const pasteMarker = /^\[Pasted text #\d+(?: \+\d+ lines)?\]$/u;

export function readComposer(view: View): Composer {
  const box = promptBox(view);
  const first = box?.rows[0];
  if (!box || first === undefined || !first.startsWith('❯')) return { kind: 'closed' };
  const text = box.rows
    .map((row, index) => (index === 0 ? row.slice(1).trimStart() : row.replace(/^ {1,2}/u, '')))
    .join('\n')
    .trimEnd();
  const dim = view.dimRows[box.first] === true;
  if (text === '' || dim || ghostTexts.some((ghost) => ghost.test(text))) return { kind: 'empty' };
  return { kind: 'text', text };
}

/** Whether the composer holds exactly our text or the one marker that replaced it. Rows wrap, so blanks do not count. */
export function holdsOurs(composer: Composer, ours: string): boolean {
  if (composer.kind !== 'text') return false;
  return sameText(composer.text, ours) || pasteMarker.test(composer.text.trim());
}
