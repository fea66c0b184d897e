/**
 * Finds Gemini CLI's composer on the screen: between a row of half blocks above and one below, under a rule. A sent message is drawn in the same
 * way, but without that rule. Reads facts; must not type.
 */
import type { View } from '../judge/view.ts';
import type { Composer } from '../paste-delivery.ts';
import { sameText } from '../same-text.ts';
import { ghostTexts } from './rules.ts';

const top = /^▄{20,}\s*$/u;
const end = /^▀{20,}\s*$/u;
const rule = /^─{20,}\s*$/u;
/** Between the rule and the composer is at most its mode line. */
const rowsUnderRule = 3;
/** Gemini CLI shows this instead of a paste of more than five lines or about five hundred characters. */
const pasteMarker = /^\[Pasted Text: \d+ (?:lines|chars)\](?: #\d+)?$/u;

export function readComposer(view: View): Composer {
  const { bottom } = view;
  const last = bottom.findLastIndex((row) => end.test(row));
  const first = last < 0 ? -1 : bottom.slice(0, last).findLastIndex((row) => top.test(row));
  if (first < 0) return { kind: 'closed' };
  const above = bottom.slice(Math.max(0, first - rowsUnderRule), first);
  const behind = bottom.slice(last + 1);
  // Only the footer follows it: a dialog or an answer is drawn under a sent message.
  if (!above.some((row) => rule.test(row)) || behind.some((row) => /^ ?[╭│╰✦ℹ✕▄─]/u.test(row)))
    return { kind: 'closed' };
  const [row = '', ...rest] = bottom.slice(first + 1, last);
  // Another sign than `>` is its shell mode, where a text would run.
  if (!row.startsWith(' >')) return { kind: 'closed' };
  const text = [row.slice(2).trim(), ...rest.map((one) => one.replace(/^ {1,3}/u, ''))].join('\n').trim();
  if (text === '' || ghostTexts.some((ghost) => ghost.test(text))) return { kind: 'empty' };
  return { kind: 'text', text };
}

/** Whether the composer holds exactly our text or the one marker that it collapsed to. Rows wrap, so blanks do not count. */
export function holdsOurs(composer: Composer, ours: string): boolean {
  if (composer.kind !== 'text') return false;
  return sameText(composer.text, ours) || pasteMarker.test(composer.text);
}
