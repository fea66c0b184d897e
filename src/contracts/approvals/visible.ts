/** Makes a question's text visible to a person: writes out characters that are invisible or change how others are drawn. Pure. */

/** Controls, marks of direction and of no width, blanks that are no space, and what no font knows. */
const unseen = /(?![\n\t \u3000])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Each such character as `\u{1b}`; new lines and tabs stay. Text that was treated before stays as it is. */
export function visible(text: string): string {
  return text.replace(unseen, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visible(text).replace(/[\n\t]/g, (char) => (char === '\n' ? '\\n' : '\\t'));
}
