/**
 * Feeds (RSS 0.9 to 2.0, RDF, Atom): each entry under its title with link, date and author; its HTML by the rules for HTML. Must
 * not fetch what an entry only names.
 */
import { type ConvertContext, ConvertFault, type Format, type MetadataValue } from '../../format.ts';
import { escapeHtml, escapeLine, joinLines } from '../../markdown/escape.ts';
import { htmlToMarkdown } from '../../markdown/html.ts';
import { link, safeAddress } from '../../markdown/link.ts';
import {
  attribute,
  child,
  childrenOf,
  elements,
  isXmlElement,
  localName,
  parseXml,
  textOf,
  type XmlElement,
} from '../xml-tree.ts';

/** Entries beyond are left out, with a word about it. */
const maxEntries = 1000;

export const feedFormat: Format = {
  name: 'feed',
  family: 'html',
  kinds: ['feed'],
  async convert(_bytes, context) {
    const root = parseXml(context.text(), 'the feed');
    // RDF keeps its items beside the channel, RSS inside it; Atom has no channel.
    const channel = child(root, 'channel') ?? root;
    const inside = localName(root) === 'feed' ? childrenOf(root, 'entry') : childrenOf(channel, 'item');
    const items = inside.length > 0 ? inside : childrenOf(root, 'item');
    if (items.length === 0 && plain(channel, 'title') === '') {
      throw new ConvertFault('damaged', 'The feed has neither a title nor entries.', 'Get a complete copy of it.');
    }
    const base = httpAddress(linkOf(channel));
    const title = plain(channel, 'title');
    const about = plain(channel, 'description') || plain(channel, 'subtitle');
    const pieces = [`# ${escapeLine(title) || 'Feed'}`];
    if (about !== '') pieces.push(content(about, base, context));
    for (const item of items.slice(0, maxEntries)) {
      context.mustHaveTime();
      pieces.push(...entry(item, base, context));
    }
    const metadata: Record<string, MetadataValue> = { items: items.length };
    if (title !== '') metadata.title = title;
    if (base !== undefined) metadata.url = base;
    const language = plain(channel, 'language') || attribute(root, 'lang');
    if (language !== undefined && language !== '') metadata.language = language;
    const updated = plain(channel, 'lastBuildDate') || plain(channel, 'updated') || plain(channel, 'pubDate');
    if (updated !== '') metadata.updated = updated;
    const notes =
      items.length > maxEntries ? [`Only the first ${maxEntries} of ${items.length} entries are given.`] : [];
    return { markdown: pieces.filter((piece) => piece !== '').join('\n\n'), metadata, notes };
  },
};

function entry(item: XmlElement, feedBase: string | undefined, context: ConvertContext): string[] {
  const address = linkOf(item);
  const title = joinLines(content(plain(item, 'title'), undefined, context));
  const published = plain(item, 'pubDate') || plain(item, 'published') || plain(item, 'date') || plain(item, 'updated');
  const authors = childrenOf(item, 'author').map((each) => textOf(child(each, 'name') ?? each).trim());
  const author = authors.filter((name) => name !== '').join(', ') || plain(item, 'creator');
  const lines = [
    ...(published === '' ? [] : [`Published: ${escapeLine(published)}`]),
    ...(author === '' ? [] : [`Author: ${escapeLine(author)}`]),
    ...(safeAddress(address) === null ? [] : [`Link: ${link(escapeLine(address), address)}`]),
  ];
  const enclosures = childrenOf(item, 'enclosure').flatMap((each) => {
    const at = attribute(each, 'url') ?? '';
    return safeAddress(at) === null ? [] : [`Enclosure: ${link(escapeLine(at), at)}`];
  });
  // The whole text where the feed has it, else its summary.
  const body = child(item, 'encoded') ?? child(item, 'content') ?? child(item, 'description') ?? child(item, 'summary');
  return [
    `## ${title || 'Untitled'}`,
    [...lines, ...enclosures].join('  \n'),
    content(markup(body), httpAddress(address) ?? feedBase, context),
  ];
}

const plain = (parent: XmlElement, name: string) => textOf(child(parent, name)).trim();

function linkOf(element: XmlElement): string {
  const links = childrenOf(element, 'link');
  const atom = links.filter((each) => attribute(each, 'href') !== undefined);
  const alternate = atom.find((each) => (attribute(each, 'rel') ?? 'alternate') === 'alternate') ?? atom[0];
  const text = links.map((each) => textOf(each).trim()).find((each) => each !== '');
  return text ?? attribute(alternate, 'href') ?? '';
}

const httpAddress = (address: string) => (/^https?:\/\//i.test(address) ? address : undefined);

/** The HTML of a body: text that holds it, or, in Atom's `type="xhtml"`, elements. */
function markup(body: XmlElement | undefined): string {
  if (body === undefined) return '';
  const type = attribute(body, 'type') ?? 'html';
  if (type === 'text' || type === 'text/plain') return escapeHtml(textOf(body));
  const hasElements = elements(body).length > 0;
  return hasElements ? body.children.map(serialize).join('') : textOf(body);
}

function serialize(node: XmlElement['children'][number]): string {
  if (!isXmlElement(node)) return escapeHtml(node);
  const name = localName(node);
  const attributes = Object.entries(node.attributes).map(([key, value]) => ` ${key}="${escapeHtml(value)}"`);
  return `<${name}${attributes.join('')}>${node.children.map(serialize).join('')}</${name}>`;
}

function content(html: string, base: string | undefined, context: ConvertContext): string {
  if (html === '') return '';
  return htmlToMarkdown(html, { mustHaveTime: context.mustHaveTime, ...(base === undefined ? {} : { base }) });
}
