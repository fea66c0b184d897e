/** The docs in the app: every page is listed, every page of the app has its help, links stay inside, and a search finds sections. */
import { expect, test } from 'vitest';
import { contents, firstPage, helpFor } from '../../../../src/renderer/areas/docs/contents.ts';
import {
  anchorOf,
  docLink,
  docPicture,
  findIn,
  shownText,
} from '../../../../src/renderer/areas/docs/markdown-parts.ts';
import { addressOfPicture } from '../../../../src/renderer/areas/docs/read-docs.ts';
import { sectionsIn } from '../../../../src/renderer/areas/settings/sections.ts';
import { places } from '../../../../src/renderer/base/rail-places.ts';

const texts = import.meta.glob<string>(
  ['../../../../docs/*.md', '../../../../docs/how-to/*.md', '../../../../docs/api/*.md'],
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
);
const pageOf = (file: string) => file.replace('../../../../docs/', '').replace(/\.md$/, '');
const files = Object.keys(texts).map(pageOf);
const listed = contents.flatMap(({ pages }) => pages.map(([page]) => page));
const isPage = (page: string) => files.includes(page);
const textOf = (page: string) => texts[`../../../../docs/${page}.md`] ?? '';

test('every page of the docs is listed once, and every listed page exists', () => {
  expect(listed.toSorted()).toEqual(files.toSorted());
});

test.each([...places.map(({ path }) => path), ...sectionsIn(true).map(({ path }) => path)])(
  '%s has a page of help, which is the first page only where a person begins',
  (path) => {
    expect(isPage(helpFor(path))).toBe(true);
    expect(helpFor(path) === firstPage).toBe(['/', '/docs', '/settings/set-up'].includes(path));
  },
);

test('help is that of the longest address that fits', () => {
  expect(helpFor('/inbox')).toBe('approvals');
  expect(helpFor('/queue/sessions/7')).toBe('work-queue');
  expect(helpFor('/settings/notifications')).toBe('notifications');
  expect(helpFor('/inboxes')).toBe('tutorial');
});

test('links between pages stay in the app, with their anchor; others lead nowhere in it', () => {
  expect(docLink('tool-server.md#tools', 'factory', isPage)).toEqual({ page: 'tool-server', at: 'tools' });
  expect(docLink('../models.md', 'how-to/local-model', isPage)).toEqual({ page: 'models', at: undefined });
  expect(docLink('local-model.md', 'how-to/phone-number', isPage)).toEqual({
    page: 'how-to/local-model',
    at: undefined,
  });
  expect(docLink('#texts', 'phone', isPage)).toEqual({ page: 'phone', at: 'texts' });
  for (const href of [
    'https://example.com/a.md',
    'javascript:alert(1)',
    '../src/main.ts',
    'adr/0002-one-store-on-two-engines.md',
    '//x.example/phone.md',
  ]) {
    expect(docLink(href, 'factory', isPage), href).toBeNull();
  }
});

test('what only programs read is not shown', () => {
  const shown = shownText('# Title\n\n<!-- not run: why -->\n```\nls\n```\nText\n');
  expect(shown).not.toMatch(/Title|not run/);
  expect(shown).toContain('ls');
});

test('every picture of a page is one that the docs ship; none comes from elsewhere', () => {
  const shown = Object.entries(texts).flatMap(([file, text]) =>
    [...text.matchAll(/^!\[[^\]]*\]\((\S+)\)$/gm)].map(([, src = '']) => docPicture(src, pageOf(file))),
  );
  expect(shown.length).toBeGreaterThan(30);
  expect(shown.filter((path) => path === null || addressOfPicture(path) === null)).toEqual([]);
  expect(docPicture('../images/a.png', 'how-to/local-model')).toBe('images/a.png');
  for (const src of ['https://example.com/a.png', '//x.example/a.png', 'data:image/png;base64,AA'])
    expect(docPicture(src, 'factory'), src).toBeNull();
  expect(addressOfPicture('../README.md')).toBeNull();
});

test('a search finds the sections that have all words, headings first, and where they are', () => {
  const pages = new Map(listed.map((page) => [page, textOf(page)]));
  const [first] = findIn(pages, 'Delivery MEANS');
  expect(first).toMatchObject({ page: 'factory', at: 'what-a-delivery-means', heading: 'What a delivery means' });
  expect(findIn(pages, 'worktree discard').length).toBeGreaterThan(0);
  expect(findIn(pages, 'zzzunknownzzz')).toEqual([]);
  expect(findIn(pages, ' ')).toEqual([]);
});

test('a heading has the anchor that links of the pages use', () => {
  expect(anchorOf('What a delivery means')).toBe('what-a-delivery-means');
  expect(anchorOf('`gantry start`, and more')).toBe('gantry-start-and-more');
});
