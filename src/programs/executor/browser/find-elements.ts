/** `find`: what the tree says first, then the attributes that it does not show. Must not know members. */
import type { ElementHandle } from 'playwright-core';
import { findIn, maxFound, wordsOf } from './find.ts';
import { describe } from './in-page.ts';
import type { Tab } from './tab.ts';
import { lineOf, readFields, readTree, withTexts } from './tree.ts';

const attributes = [
  'id',
  'name',
  'title',
  'type',
  'alt',
  'autocomplete',
  'data-testid',
  'data-test',
  'aria-label',
  'class',
];
const anything = 'a,button,input,select,textarea,summary,[role],[onclick],[tabindex],[contenteditable],label,img';

export async function findElements(tab: Tab, query: string, timeoutMs: number): Promise<string> {
  const fields = await readFields(tab.page);
  const found = findIn(withTexts(await readTree(tab.page, timeoutMs), fields), query);
  const lines = found.map(({ branch }) => lineOf(branch, tab.refs.ofSnapshot));
  if (!found.some(({ whole }) => whole)) {
    const more = await byAttributes(tab, query, maxFound - lines.length);
    lines.unshift(...more);
  }
  return lines.length === 0 ? 'Nothing on the page matches. Try other words, or read_page.' : lines.join('\n');
}

/** Elements that have every word in their attributes. */
async function byAttributes(tab: Tab, query: string, max: number): Promise<string[]> {
  const words = wordsOf(query);
  const lines: string[] = [];
  for (const frame of tab.page.frames()) {
    if (lines.length >= max || words.length === 0) break;
    const list = await frame
      .locator(anything)
      .evaluateAll(
        (elements, { names, wanted }) =>
          elements.flatMap((element, index) => {
            const text = names
              .map((name) => element.getAttribute(name) ?? '')
              .join(' ')
              .toLowerCase();
            return wanted.every((word) => text.includes(word)) ? [index] : [];
          }),
        { names: attributes, wanted: words },
      )
      .catch(() => []);
    for (const index of list.slice(0, max - lines.length)) {
      const element = (await frame
        .locator(anything)
        .nth(index)
        .elementHandle({ timeout: 500 })
        .catch(() => null)) as ElementHandle<Element> | null;
      if (element === null) continue;
      const { words: said } = await element.evaluate(describe);
      const shown = await element.evaluate(
        (one, names) => names.flatMap((name) => (one.hasAttribute(name) ? [`${name}=${one.getAttribute(name)}`] : [])),
        ['id', 'name', 'data-testid'],
      );
      lines.push(`${said} [${tab.refs.ofElement(element)}] ${shown.join(' ')}`.trim().slice(0, 500));
    }
  }
  return lines;
}
