/**
 * Whether the text on a screen is the text that was put there. Programs and emulators do not agree how wide an emoji or a mark is: the emulator may
 * lose a part of one, or keep a character of the row before beside it. So these are not compared, but the text around them is, exactly. Blanks do
 * not count. Must not know a harness.
 */
import { squeeze } from './wording.ts';

/** Emoji and their parts, marks, and what no Unicode version gives a width. */
const unsure =
  /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{M}\p{Co}\p{Cn}\u{e0020}-\u{e007f}]/u;
/** The screen may show one of them as itself plus the earlier content of the cells beside it. */
const maxStandInLength = 3;
/** Enough to know a text by, where it is looked for on a screen that may not show all of it. */
const telling = 400;

/** `tail`: the screen shows only the end of the text. */
export function sameText(shown: string, ours: string, { tail = false } = {}): boolean {
  const [left, right] = [squeeze(shown), squeeze(ours)];
  if (left === right) return true;
  const seen = [...left].reverse();
  // From the end, so that a text whose beginning is cut off is compared in the same way.
  let places = new Set([0]);
  for (const char of [...right].reverse()) {
    if (tail && places.has(seen.length)) return true;
    places = after(char, seen, places);
    if (places.size === 0) return false;
  }
  return places.has(seen.length);
}

/** How often the screen shows the text, or the end of a long one. */
export function countText(screen: string, ours: string): number {
  const seen = [...squeeze(screen)];
  let places = new Set(seen.keys());
  for (const char of [...squeeze(ours)].slice(-telling)) {
    places = after(char, seen, places);
    if (places.size === 0) return 0;
  }
  return places.size;
}

/** How far each reading of the screen comes with one more character of the text. */
function after(char: string, seen: readonly string[], places: ReadonlySet<number>): Set<number> {
  const next = new Set<number>();
  const sure = !unsure.test(char);
  for (const at of places) {
    if (!sure) for (let more = 0; more <= maxStandInLength && at + more <= seen.length; more += 1) next.add(at + more);
    else if (seen[at] === char) next.add(at + 1);
  }
  return next;
}
