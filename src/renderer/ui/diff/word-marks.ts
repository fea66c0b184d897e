/** Which words of a changed line are new, or gone. Loaded with the first diff. Pure. */
import { diffWordsWithSpace } from 'diff';

export interface Stretch {
  readonly text: string;
  readonly marked: boolean;
}

/** Longer lines are machine-made: comparing their words takes long and helps nobody. Characters. */
const longest = 1000;
/** Below this share of common characters the line was rewritten, and marks would be everywhere. */
const leastCommon = 0.3;

/** Both lines in stretches; null where marks would not help. */
export function wordMarks(before: string, after: string): { before: Stretch[]; after: Stretch[] } | null {
  if (before.length > longest || after.length > longest) return null;
  const changes = diffWordsWithSpace(before, after);
  let common = 0;
  for (const { added, removed, value } of changes) if (!added && !removed) common += value.trim().length;
  const whole = Math.max(before.trim().length, after.trim().length);
  if (whole === 0 || common / whole < leastCommon || common === whole) return null;
  return {
    before: changes.filter((one) => !one.added).map(({ value, removed }) => ({ text: value, marked: removed })),
    after: changes.filter((one) => !one.removed).map(({ value, added }) => ({ text: value, marked: added })),
  };
}
