/** Web pages: the main content as Markdown under the page's title. The charset is found by the caller's sniffing. */
import type { Format } from '../../format.ts';
import { escapeLine } from '../../markdown/escape.ts';
import { elementToMarkdown } from '../../markdown/html.ts';
import { readPage } from '../../markdown/page.ts';

export const htmlFormat: Format = {
  name: 'html',
  family: 'html',
  kinds: ['html'],
  async convert(_bytes, context) {
    const page = readPage(context.text());
    const body = elementToMarkdown(page.content, { mustHaveTime: context.mustHaveTime });
    const titled = page.title === '' || /^# /m.test(body);
    const markdown = titled ? body : `# ${escapeLine(page.title)}\n\n${body}`.trim();
    const notes: string[] = [];
    if (page.cut)
      notes.push('Only the main content of the page is given: navigation and parts around it are left out.');
    if (body === '') notes.push('The page has no text of its own: it may be filled in by scripts, which are not run.');
    return { markdown, metadata: page.metadata, notes };
  },
};
