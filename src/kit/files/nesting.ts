/**
 * How deep a YAML or JSON text nests, measured before a parser sees it: parsers recurse into each level, so that a text of a few kilobytes can take
 * seconds and a hundred megabytes. Pure.
 */

/** Nobody writes more by hand. */
export const deepestNesting = 64;

/** Counts too much rather than too little: brackets in quotes count while they are open. */
export function isNestedDeeper(text: string, limit: number = deepestNesting): boolean {
  let brackets = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '[' || char === '{') {
      brackets += 1;
      if (brackets > limit) return true;
    } else if ((char === ']' || char === '}') && brackets > 0) brackets -= 1;
  }
  // `- - - x` and `? ? ? x` open a level with each sign.
  return new RegExp(`^[ \\t]*(?:[-?:][ \\t]+){${limit}}`, 'm').test(text);
}
