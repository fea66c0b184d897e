/** Text of others where every character counts, such as code or the name of a file: what would be invisible, or would turn the order round, is shown. */

/** Controls, directions, joiners and marks without a width. A tab is not among them. */
const hidden = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export const visibleText = (text: string): string =>
  text.replace(hidden, (one) => {
    const code = one.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
