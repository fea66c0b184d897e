/** What a page of the docs consists of: its text as shown, its headings with their anchors, its links, and what a search finds in it. Pure. */

/** Notes for programs, which a reader does not see, and the title, which the page shows itself. */
export function shownText(markdown: string): string {
  return markdown.replace(/<!--[\s\S]*?-->\n?/g, '').replace(/^\s*# .*\n/, '');
}

/** As GitHub makes it from a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

interface DocLink {
  readonly page: string;
  readonly at: string | undefined;
}

/** Where a link of `page` leads within the docs; null: it leads elsewhere. */
export function docLink(href: string, page: string, known: (page: string) => boolean): DocLink | null {
  if (isElsewhere(href)) return null;
  const [file = '', at] = href.split('#');
  if (file === '') return { page, at };
  const name = pathFrom(page, file).replace(/\.md$/, '');
  return file.endsWith('.md') && !file.startsWith('../..') && known(name) ? { page: name, at } : null;
}

/** Which file below `docs/` a picture of `page` is; null: it would come from elsewhere. */
export const docPicture = (src: string, page: string): string | null => (isElsewhere(src) ? null : pathFrom(page, src));

const isElsewhere = (address: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(address) || address.startsWith('//');

/** The path below `docs/` that `page` calls `file`. */
function pathFrom(page: string, file: string): string {
  const parts = page.split('/').slice(0, -1);
  for (const part of file.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

export interface Hit extends DocLink {
  readonly heading: string;
  readonly excerpt: string;
}

/** The sections that have all the words, those with a word in their heading first, then those that have the words most often. */
export function findIn(pages: ReadonlyMap<string, string>, query: string, max = 40): readonly Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const hits: { hit: Hit; score: number }[] = [];
  for (const [page, markdown] of pages) {
    for (const { heading, text } of sectionsOf(markdown)) {
      const title = heading.toLowerCase();
      const lower = text.toLowerCase();
      if (!words.every((word) => title.includes(word) || lower.includes(word))) continue;
      const inTitle = words.filter((word) => title.includes(word)).length;
      const often = words.reduce((sum, word) => sum + lower.split(word).length - 1, 0);
      const excerpt = excerptOf(text, lower, words);
      hits.push({ hit: { page, at: anchorOf(heading) || undefined, heading, excerpt }, score: inTitle * 1000 + often });
    }
  }
  return hits
    .sort((a, b) => b.score - a.score)
    .slice(0, max)
    .map(({ hit }) => hit);
}

function sectionsOf(markdown: string): { heading: string; text: string }[] {
  const sections = [{ heading: '', text: '' }];
  let fenced = false;
  for (const line of markdown.replace(/<!--[\s\S]*?-->\n?/g, '').split('\n')) {
    if (line.startsWith('```')) fenced = !fenced;
    const heading = fenced ? undefined : /^#{1,4} (.*)$/.exec(line)?.[1];
    if (heading === undefined) sections.at(-1)!.text += `${line}\n`;
    else sections.push({ heading: heading.replaceAll('`', ''), text: '' });
  }
  return sections.filter(({ heading, text }) => heading !== '' || text.trim() !== '');
}

function excerptOf(text: string, lower: string, words: readonly string[]): string {
  const at = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((one) => one >= 0), text.length) - 60,
  );
  const from = at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const flat = text
    .slice(from, from + 260)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*|#>]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return flat.length > 180 ? `${flat.slice(0, 180)}…` : flat;
}
