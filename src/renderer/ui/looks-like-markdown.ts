/** Whether a text is Markdown, by what is in it. Pure. */

/** Headings, lists, tables, quotes, fences: nobody writes several of these by chance. A single one may be chance. */
export function looksLikeMarkdown(text: string): boolean {
  const start = text.slice(0, 20_000);
  if (/^(#{1,6} \S|```)/m.test(start) || /^\|?[ :|-]*---[ :|-]*\|/m.test(start)) return true;
  const signs = [/^\s*[-*] \S/m, /^\s*\d+\. \S/m, /\[[^\]\n]+\]\([^)\n]+\)/, /\*\*[^*\n]+\*\*/, /^> /m];
  return signs.filter((sign) => sign.test(start)).length >= 2;
}
