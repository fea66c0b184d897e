/**
 * Owns how foreign text is written into Markdown so that it stays text: what would be read as emphasis, a link, a
 * heading or a tag is escaped, and only what would be. Must not know any document format.
 */

/**
 * `\` before punctuation would vanish; elsewhere, as in `C:\Users`, it is text as it is. At the end nobody knows what follows: the next
 * piece of text may begin with what it would take the meaning from.
 */
const backslash = /\\(?=[!-/:-@[-`{-~]|$)/g;
/** `*`, except between two spaces, where it cannot open or close anything. */
const star = /(?<!(?:^|\s))\*|\*(?!\s|$)/g;
/** `_` at the edge of a word; inside one (`snake_case`) it is text in CommonMark. */
const underscore = /(?<![\p{L}\p{N}])_(?!\s|$)|(?<!\s|^)_(?![\p{L}\p{N}])/gu;
/**
 * What begins a tag, a comment or an autolink, or would with the text that follows. `a < b` is none of them. It becomes `&lt;`: after an
 * address a backslash is taken for its last character, and no longer for an escape.
 */
const tag = /<(?=[a-zA-Z/!?]|$)/g;
/** A character reference that a reader of Markdown would replace. */
const reference = /&(?=#?[a-zA-Z0-9]+;)/g;
const lineStart = /^(\s{0,3})(#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+(?=\s*$)|-{2,}(?=\s*$)|~{3,})/gm;
const numbered = /^(\s{0,3}\d{1,9})([.)])(?=\s|$)/gm;

/** Text as Markdown that shows exactly that text. Line breaks stay. */
export function escapeText(text: string): string {
  return text
    .replace(backslash, '\\\\')
    .replace(/[`[\]]/g, '\\$&')
    .replace(star, '\\*')
    .replace(underscore, '\\_')
    .replace(/~~/g, '\\~\\~')
    .replace(reference, '\\&')
    .replace(tag, '&lt;')
    .replace(lineStart, '$1\\$2')
    .replace(numbered, '$1\\$2');
}

/** Text of one line: white space and line breaks become single spaces. */
export function escapeLine(text: string): string {
  return escapeText(text.replace(/\s+/g, ' ').trim());
}

/** One line of several, Markdown or not. A run of white space is looked at once, however long it is. */
export function joinLines(text: string): string {
  return text.replace(/(?<!\s)\s*\n\s*/g, ' ').trim();
}

/** Text between HTML tags, for documents that go through HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char);
}

/**
 * A formula between dollar signs. Not every reader of Markdown knows formulas: what would be a tag or a link without is divided by a space,
 * which means nothing in TeX, and a backtick, which is an opening quotation mark there, is written as one.
 */
export function formula(tex: string, display: boolean): string {
  const text = joinLines(tex)

    .replace(/<(?=[a-zA-Z/!?])/g, '< ')
    .replace(/\]\(/g, '] (')
    .replaceAll('`', '‘');
  const mark = display ? '$$' : '$';
  return text === '' ? '' : `${mark}${text}${mark}`;
}

/** A run of code in backticks, with a fence longer than any inside it. */
export function inlineCode(text: string): string {
  const line = text.replace(/\r?\n|\r/g, ' ');
  if (line === '') return '';
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = '`'.repeat(longest + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

/** A fenced block; the fence is longer than any inside the text. */
export function codeBlock(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((match) => match[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language.replace(/[^\w+#.-]/g, '')}\n${text.replace(/(?<!\n)\n+$/, '')}\n${fence}`;
}
