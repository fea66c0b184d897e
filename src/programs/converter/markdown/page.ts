/**
 * Owns finding a web page's content: containers that declare it, else what looks like an article, else the page without its navigation; and the
 * page's metadata. Must not know how content becomes Markdown.
 */
import { Readability } from '@mozilla/readability';
import { type DomDocument, type DomElement, parseDocument } from './dom.ts';

interface Page {
  readonly content: DomElement;
  /** Navigation, side columns or the like are not in `content`. */
  readonly cut: boolean;
  /** For a heading: the page's only `h1` where its title repeats it, else its title. */
  readonly title: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What holds the content and nothing else on pages of well-known makers. */
const known = ['#mw-content-text', '[itemprop="articleBody"]', '.markdown-body', '#readme article'];
const declared = ['main', '[role="main"]', 'article'];
/** Parts around the content, by element and role. */
const around =
  'nav, [role="navigation"], [role="banner"], [role="contentinfo"], [role="search"], [role="complementary"], aside, dialog, ' +
  'body > header, body > footer, body > div > header, body > div > footer, .mw-editsection, .navbox, .noprint';
/** The same by the names that pages give; only whole words. */
const aroundNames =
  /(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|side-bar|breadcrumbs?|cookies?|cookie-?consent|footer|masthead|social|share|newsletter|advert|ads?)(?:$|[\s_-])/i;
/** A part that holds less than this share of all text is not the content, whatever it calls itself. */
const leastShare = 0.25;
/** Beyond this many elements the search for an article costs more than it gives. */
const maxElements = 50_000;

export function readPage(html: string): Page {
  const document = parseDocument(html);
  const metadata = describe(document);
  const body = document.body;
  const title = headingOf(body, metadata.title ?? '');
  const found = knownContent(body) ?? declaredContent(body);
  if (found !== null) {
    const removed = strip(found);
    return { content: found, cut: removed || holdsMore(body, found), title, metadata };
  }
  // Reports and exported documents have nothing around them: all of it is content.
  if (aroundParts(body).length === 0) return { content: body, cut: false, title, metadata };
  const article = articleOf(html, body);
  if (article !== null) return { content: article, cut: true, title, metadata };
  strip(body);
  return { content: body, cut: true, title, metadata };
}

const lengthOf = (element: DomElement) => {
  // Scripts are text to the tree, not to a reader.
  let hidden = 0;
  for (const each of element.querySelectorAll('script, style, template, noscript'))
    hidden += (each.textContent ?? '').length;
  return (element.textContent ?? '').length - hidden;
};

/** Titles often end in the name of the site. */
function headingOf(body: DomElement, title: string): string {
  const headings = body.querySelectorAll('h1');
  const [only] = headings;
  const text = (only?.textContent ?? '').replace(/\s+/g, ' ').trim();
  return headings.length === 1 && text !== '' && title.includes(text) ? text : title;
}

function knownContent(body: DomElement): DomElement | null {
  for (const selector of known) {
    const all = body.querySelectorAll(selector);
    const [only] = all;
    if (all.length === 1 && only !== undefined && lengthOf(only) > 0) return only;
  }
  return null;
}

function declaredContent(body: DomElement): DomElement | null {
  const whole = lengthOf(body);
  for (const selector of declared) {
    const all = body.querySelectorAll(selector);
    const [only] = all;
    if (all.length === 1 && only !== undefined && lengthOf(only) >= whole * leastShare) return only;
  }
  return null;
}

function holdsMore(body: DomElement, found: DomElement): boolean {
  return lengthOf(body) > lengthOf(found) + 20;
}

function aroundParts(root: DomElement): DomElement[] {
  const whole = lengthOf(root);
  const named = [
    ...root.querySelectorAll('div[class], div[id], ul[class], ul[id], section[class], section[id]'),
  ].filter((each) => aroundNames.test(`${each.className} ${each.id}`) && lengthOf(each) < whole * 0.5);
  return [...root.querySelectorAll(around), ...named];
}

function strip(root: DomElement): boolean {
  const parts = aroundParts(root);
  for (const part of parts) part.remove();
  return parts.length > 0;
}

/** By the reader view of Firefox. Null where it finds no article or one that is too small a part of the page. */
function articleOf(html: string, body: DomElement): DomElement | null {
  try {
    // It changes its document, so it gets a copy.
    const copy = parseDocument(html) as unknown as ConstructorParameters<typeof Readability>[0];
    const article = new Readability<DomElement>(copy, {
      maxElemsToParse: maxElements,
      keepClasses: true,
      disableJSONLD: true,
      serializer: (node) => node as unknown as DomElement,
    }).parse();
    if (article?.content === null || article?.content === undefined) return null;
    const length = lengthOf(article.content);
    return length >= 200 && length >= lengthOf(body) * leastShare ? article.content : null;
  } catch {
    // Too many elements, or markup it stumbles over: the page without its parts around is given instead.
    return null;
  }
}

const names: readonly (readonly [string, readonly string[]])[] = [
  ['description', ['description', 'og:description', 'twitter:description', 'dc.description']],
  ['author', ['author', 'article:author', 'dc.creator', 'citation_author']],
  ['keywords', ['keywords']],
  ['site', ['og:site_name', 'application-name']],
  ['published', ['article:published_time', 'date', 'dc.date', 'dcterms.created', 'citation_publication_date']],
  ['modified', ['article:modified_time', 'dcterms.modified', 'last-modified']],
];

function describe(document: DomDocument): Record<string, string> {
  const metadata: Record<string, string> = {};
  const put = (name: string, value: string | null | undefined) => {
    const text = (value ?? '').replace(/\s+/g, ' ').trim().slice(0, 2000);
    if (text !== '' && metadata[name] === undefined) metadata[name] = text;
  };
  const said = new Map<string, string>();
  for (const meta of document.querySelectorAll('meta[content]')) {
    const name = (
      meta.getAttribute('name') ??
      meta.getAttribute('property') ??
      meta.getAttribute('itemprop') ??
      ''
    ).toLowerCase();
    if (name !== '' && !said.has(name)) said.set(name, meta.getAttribute('content') ?? '');
  }
  put('title', document.querySelector('title')?.textContent);
  put('title', said.get('og:title'));
  put('title', document.querySelector('h1')?.textContent);
  for (const [name, sources] of names) for (const source of sources) put(name, said.get(source));
  put('language', document.documentElement.getAttribute('lang') ?? document.documentElement.getAttribute('xml:lang'));
  const address = document.querySelector('link[rel~="canonical"]')?.getAttribute('href') ?? said.get('og:url');
  if (address !== undefined && /^https?:/i.test(address)) put('url', address);
  return metadata;
}
