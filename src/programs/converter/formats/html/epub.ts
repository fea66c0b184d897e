/**
 * Books (EPUB 2 and 3): chapters in the order of the spine, without the navigation page, below the book's metadata. Must not know how HTML becomes
 * Markdown.
 */
import { posix } from 'node:path';
import { type ConvertContext, type Converted, ConvertFault, type Format, type MetadataValue } from '../../format.ts';
import { type DomDocument, parseDocument } from '../../markdown/dom.ts';
import { escapeLine } from '../../markdown/escape.ts';
import { elementToMarkdown } from '../../markdown/html.ts';
import { readZip, type ZipReader } from '../../zip-reader.ts';
import {
  attribute,
  child,
  childrenOf,
  descendants,
  elements,
  localName,
  parseXml,
  textOf,
  type XmlElement,
} from '../xml-tree.ts';

interface Item {
  readonly path: string;
  readonly type: string;
  readonly navigation: boolean;
}

export const epubFormat: Format = {
  name: 'epub',
  family: 'html',
  kinds: ['epub'],
  async convert(bytes, context) {
    const zip = await readZip(bytes, context);
    const container = await xml(zip, 'META-INF/container.xml');
    const packagePath = attribute(descendants(container, 'rootfile')[0], 'full-path') ?? '';
    const root = await xml(zip, packagePath);
    if (root === undefined) {
      throw new ConvertFault(
        'damaged',
        'The book does not say where its contents are.',
        'Get a complete copy of the file.',
      );
    }
    const metadata = describe(child(root, 'metadata'));
    const { pieces, notes } = await chapters(zip, root, packagePath, context);
    return { markdown: [...heading(metadata), ...pieces].join('\n\n'), metadata, notes };
  },
};

async function xml(zip: ZipReader, name: string): Promise<XmlElement | undefined> {
  const text = await zip.readText(name);
  return text === null ? undefined : parseXml(text, JSON.stringify(name));
}

async function chapters(
  zip: ZipReader,
  root: XmlElement,
  packagePath: string,
  context: ConvertContext,
): Promise<{ pieces: string[]; notes: string[] }> {
  const items = manifest(root, posix.dirname(packagePath));
  const encrypted = await encryptedParts(zip);
  const pieces: string[] = [];
  const notes: string[] = [];
  let missing = 0;
  for (const reference of childrenOf(child(root, 'spine'), 'itemref')) {
    context.mustHaveTime();
    const item = items.get(attribute(reference, 'idref') ?? '');
    if (item === undefined || !zip.has(item.path)) {
      missing += 1;
      continue;
    }
    if (item.navigation || !/x?html|xml/i.test(item.type)) continue;
    if (encrypted.has(item.path)) {
      throw new ConvertFault(
        'encrypted',
        'The book is protected against copying (DRM).',
        'Convert a copy without protection.',
      );
    }
    const document = parseDocument(selfClosed((await zip.readText(item.path)) ?? ''));
    // Books of the second version name no navigation page: it is one that holds little but a table of contents.
    if (isContents(document)) continue;
    const chapter = elementToMarkdown(document.body, { keepLink: leadsOut, mustHaveTime: context.mustHaveTime });
    if (chapter !== '') pieces.push(chapter);
  }
  if (missing > 0) notes.push(`Chapters named in the book but not in the file: ${missing}.`);
  if (pieces.length === 0) notes.push('The book has no text: its pages may be pictures.');
  return { pieces, notes };
}

function manifest(root: XmlElement, folder: string): Map<string, Item> {
  const items = new Map<string, Item>();
  for (const item of childrenOf(child(root, 'manifest'), 'item')) {
    const address = (attribute(item, 'href') ?? '').replace(/#.*$/, '');
    let path = address;
    try {
      path = decodeURIComponent(address);
    } catch {
      // A lone percent sign in a name is taken as it is.
    }
    items.set(attribute(item, 'id') ?? '', {
      path: posix.join(folder, path),
      type: attribute(item, 'media-type') ?? '',
      navigation: (attribute(item, 'properties') ?? '').split(/\s+/).includes('nav'),
    });
  }
  return items;
}

/** Fonts may be obfuscated, which hides no text; whole chapters are only encrypted by protection against copying. */
async function encryptedParts(zip: ZipReader): Promise<Set<string>> {
  const root = await xml(zip, 'META-INF/encryption.xml');
  return new Set(descendants(root, 'CipherReference').map((each) => attribute(each, 'URI') ?? ''));
}

/** XHTML closes empty elements by a slash, which HTML ignores: `<a id="x"/>` would swallow what follows, `<title/>` all of it. */
function selfClosed(text: string): string {
  return text.replace(
    /<(a|p|div|span|title|script|style|i|b|em|strong|td|th|li|h[1-6])(\s[^<>]*)?\/>/gi,
    '<$1$2></$1>',
  );
}

function isContents(document: DomDocument): boolean {
  const nav = document.querySelector('nav');
  if (nav === null) return false;
  const type = nav.getAttribute('epub:type') ?? nav.getAttribute('role') ?? '';
  return /toc/.test(type) && (nav.textContent ?? '').length > (document.body.textContent ?? '').length * 0.5;
}

/** Links between chapters lead into files that are no longer there: their text stays. */
const leadsOut = (address: string) => /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address);

function describe(metadata: XmlElement | undefined): Record<string, MetadataValue> {
  const found: Record<string, MetadataValue> = {};
  const authors: string[] = [];
  const subjects: string[] = [];
  for (const each of elements(metadata)) {
    const text = textOf(each)
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 4000);
    if (text === '') continue;
    const name = localName(each);
    if (name === 'creator') authors.push(text);
    else if (name === 'subject') subjects.push(text);
    else if (['title', 'language', 'publisher', 'date', 'description', 'identifier', 'rights'].includes(name))
      found[name] ??= text;
  }
  if (authors.length > 0) found.authors = authors;
  if (subjects.length > 0) found.subjects = subjects;
  return found;
}

const shown: readonly (readonly [string, string])[] = [
  ['title', 'Title'],
  ['authors', 'Authors'],
  ['language', 'Language'],
  ['publisher', 'Publisher'],
  ['date', 'Date'],
  ['description', 'Description'],
  ['identifier', 'Identifier'],
];

function heading(metadata: Converted['metadata']): string[] {
  const lines = shown.flatMap(([name, label]) => {
    const value = metadata[name];
    if (value === undefined) return [];
    return [`**${label}:** ${escapeLine(Array.isArray(value) ? value.join(', ') : String(value))}`];
  });
  return lines.length === 0 ? [] : [lines.join('  \n')];
}
