/**
 * How deep a YAML or JSON text nests, told before a parser sees it: parsers follow each level with a call of their own, so that a text
 * of a few kilobytes can take seconds and a hundred megabytes. Pure.
 */

/** Nobody writes more by hand. */
export const deepestNesting = 64;

/** Counts too much rather than too little: brackets in quotes count, as long as they are not closed. */
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
