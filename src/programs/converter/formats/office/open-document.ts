/**
 * Text documents and presentations of OpenDocument (odt, odp; ISO 26300), as LibreOffice and others write them: made into HTML, which the rules for
 * HTML make Markdown of. Own reader: what there is for spreadsheets reads no text. Must not know how HTML becomes Markdown.
 */
import { type ConvertContext, type Converted, ConvertFault, type Format, type MetadataValue } from '../../format.ts';
import { type DomElement, parseDocument } from '../../markdown/dom.ts';
import { escapeHtml } from '../../markdown/escape.ts';
import { elementToMarkdown } from '../../markdown/html.ts';
import { commentLead, footnote } from '../../markdown/notes.ts';
import { readZip, type ZipReader } from '../../zip-reader.ts';
import {
  attribute,
  child,
  childrenOf,
  descendants,
  elements,
  isXmlElement,
  localName,
  parseXml,
  path,
  textOf,
  type XmlElement,
  type XmlNode,
} from '../xml-tree.ts';

/** A cell or row that is repeated to fill a page says nothing by it. */
const maxRepeated = 100;

export const openDocumentFormat: Format = {
  name: 'open-document',
  family: 'office',
  kinds: ['odt', 'odp'],
  async convert(bytes, context) {
    const zip = await readZip(bytes, context);
    // It encrypts part by part; the container itself is open.
    if ((await zip.readText('META-INF/manifest.xml'))?.includes('encryption-data') === true) {
      throw new ConvertFault(
        'encrypted',
        'The document is protected by a password.',
        'Open it with its password, save it without one and convert that.',
      );
    }
    const content = await partOf(zip, 'content.xml', context);
    if (content === undefined)
      throw new ConvertFault('damaged', 'The document has no content.xml.', 'Get a complete copy of the file.');
    const styles = await partOf(zip, 'styles.xml', context);
    const writer = createWriter([styles, content], context);
    const slides = path(content, 'body', 'presentation');
    const body = path(content, 'body', 'text');
    const pages = childrenOf(slides, 'page');
    const markdown =
      slides === undefined
        ? rendered(writer.html(body?.children ?? []), writer, context)
        : slidesToMarkdown(pages, writer, context);
    return {
      markdown,
      metadata: {
        ...properties(await partOf(zip, 'meta.xml', context)),
        ...(slides === undefined ? {} : { slides: pages.length }),
      },
      notes: losses(zip, content, styles),
    } satisfies Converted;
  },
};

async function partOf(zip: ZipReader, name: string, context: ConvertContext): Promise<XmlElement | undefined> {
  const text = await zip.readText(name);
  context.mustHaveTime();
  return text === null ? undefined : parseXml(text, JSON.stringify(name));
}

function rendered(html: string, writer: Writer, context: ConvertContext): string {
  const render = (element: DomElement) =>
    elementToMarkdown(element, {
      keepLink: (address) => !address.startsWith('#'),
      mustHaveTime: context.mustHaveTime,
      inline: (each) => {
        const note = each.getAttribute('data-note');
        return note === null ? undefined : `[^${note}]`;
      },
    });
  const main = render(parseDocument(html).body);
  const below = writer.takeNotes().map(({ label, lead, html: said }) => {
    return footnote(label, lead + render(parseDocument(said).body));
  });
  return [main, ...below].filter((part) => part !== '').join('\n\n');
}

function slidesToMarkdown(pages: readonly XmlElement[], writer: Writer, context: ConvertContext): string {
  const pieces: string[] = [];
  for (const [index, page] of pages.entries()) {
    context.mustHaveTime();
    pieces.push(`<!-- Slide number: ${index + 1} -->`);
    const shapes = elements(page).filter((shape) => localName(shape) !== 'notes');
    const isTitle = (shape: XmlElement) => attribute(shape, 'class') === 'title';
    const title = shapes
      .filter(isTitle)
      .map((shape) => textOf(shape).replace(/\s+/g, ' ').trim())
      .join(' ');
    const rest = shapes.filter((shape) => !isTitle(shape));
    const heading = title === '' ? '' : `<h1>${escapeHtml(title)}</h1>`;
    pieces.push(rendered(`${heading}${writer.html(rest)}`, writer, context));
    const spoken = childrenOf(child(page, 'notes'), 'frame').filter((frame) => attribute(frame, 'class') === 'notes');
    const notes = rendered(writer.html(spoken), writer, context);
    if (notes !== '') pieces.push(`### Notes:\n\n${notes}`);
  }
  return pieces.filter((piece) => piece !== '').join('\n\n');
}

interface Note {
  readonly label: string;
  /** Who says it, Markdown. */
  readonly lead: string;
  readonly html: string;
}

interface Writer {
  html(nodes: readonly XmlNode[]): string;
  /** What was noted since it was asked last. */
  takeNotes(): Note[];
}

interface Look {
  readonly bold: boolean;
  readonly italic: boolean;
  readonly strike: boolean;
  readonly raised: 'sup' | 'sub' | null;
}

/** Left out with all that is in them: what is deleted, what only positions, the reading above a word, the form of a field. */
const dropped = new Set([
  'tracked-changes',
  'sequence-decls',
  'forms',
  'ruby-text',
  'notes',
  'script',
  'variable-decls',
]);

function createWriter(parts: readonly (XmlElement | undefined)[], context: ConvertContext): Writer {
  const styles = createStyles(parts);
  const notes: Note[] = [];
  let numbers = 0;
  let comments = 0;
  /** The last number at each level, by list style: another list of that style may continue it. */
  const counted = new Map<string, number[]>();

  function html(nodes: readonly XmlNode[], list: Place | null = null): string {
    let made = '';
    for (const node of nodes) made += isXmlElement(node) ? element(node, list) : escapeHtml(node);
    // Lines of code are paragraphs of their own.
    return made.replaceAll('</pre><pre>', '\n');
  }

  function element(node: XmlElement, list: Place | null): string {
    const name = localName(node);
    const inner = () => html(node.children, list);
    const style = attribute(node, 'style-name');
    if (dropped.has(name)) return '';
    switch (name) {
      case 'h': {
        const level = Math.min(6, Math.max(1, Number(attribute(node, 'outline-level') ?? 1) || 1));
        return `<h${level}>${inner()}</h${level}>`;
      }
      case 'p':
        context.mustHaveTime();
        if (styles.named(style, /^(?:Preformatted|Source_20_Code|HTML_20_Preformatted)/))
          return `<pre>${inner()}</pre>`;
        if (styles.named(style, /^Title$/)) return `<h1>${inner()}</h1>`;
        if (styles.named(style, /^Quotations$/)) return `<blockquote><p>${inner()}</p></blockquote>`;
        return `<p>${marked(inner(), style)}</p>`;
      case 'span':
        return marked(inner(), style);
      case 'a':
        return `<a href="${escapeHtml(attribute(node, 'href') ?? '')}">${inner()}</a>`;
      case 's':
        return ' '.repeat(Math.min(Number(attribute(node, 'c') ?? 1) || 1, 200));
      case 'tab':
        return '\t';
      case 'line-break':
        return '<br>';
      case 'list':
        return listHtml(node, list);
      case 'note':
        return note(String(++numbers), '', html(childrenOf(node, 'note-body')));
      case 'annotation': {
        const author = textOf(child(node, 'creator')).trim();
        const said = elements(node).filter((each) => ['p', 'list'].includes(localName(each)));
        return note(`comment-${++comments}`, commentLead(author), html(said));
      }
      case 'table':
        return tableHtml(node);
      case 'frame':
        return frame(node);
      case 'title':
      case 'desc':
        return '';
      default:
        return inner();
    }
  }

  function marked(inner: string, style: string | undefined): string {
    const { bold, italic, strike, raised } = styles.lookOf(style);
    let made = inner;
    if (inner.trim() === '') return made;
    if (raised !== null) made = `<${raised}>${made}</${raised}>`;
    if (italic) made = `<em>${made}</em>`;
    if (bold) made = `<strong>${made}</strong>`;
    return strike ? `<del>${made}</del>` : made;
  }

  function note(label: string, lead: string, said: string): string {
    notes.push({ label, lead, html: said });
    return `<span data-note="${label}">x</span>`;
  }

  function listHtml(node: XmlElement, around: Place | null): string {
    const level = (around?.level ?? -1) + 1;
    const style = attribute(node, 'style-name') ?? around?.style ?? '';
    const rule = elements(styles.list(style)).find((each) => attribute(each, 'level') === String(level + 1));
    const ordered =
      rule !== undefined &&
      localName(rule) === 'list-level-style-number' &&
      (attribute(rule, 'num-format') ?? '') !== '';
    const counts = counted.get(style) ?? [];
    counted.set(style, counts);
    const goesOn = attribute(node, 'continue-numbering') === 'true' || attribute(node, 'continue-list') !== undefined;
    let number = goesOn ? (counts[level] ?? 0) : Number(attribute(rule, 'start-value') ?? 1) - 1;
    let made = '';
    for (const item of elements(node)) {
      const isItem = localName(item) === 'list-item';
      // Some programs set a list in only to reach its level.
      const only = elements(item);
      const bare = isItem && only.length > 0 && only.every((each) => localName(each) === 'list');
      if (isItem && !bare) number = Number(attribute(item, 'start-value') ?? number + 1);
      counts[level] = number;
      const place = { level, style };
      if (bare) made += html(item.children, place);
      else {
        // The first paragraph is the item: between it and a list below stands no empty line.
        const said = html(item.children, place).replace(/^<p>([\s\S]*?)<\/p>/, '$1');
        made += `<li${ordered && isItem ? ` value="${number}"` : ''}>${said}</li>`;
      }
    }
    return made.startsWith('<li') ? `<${ordered ? 'ol' : 'ul'}>${made}</${ordered ? 'ol' : 'ul'}>` : made;
  }

  function tableHtml(node: XmlElement): string {
    const rows = (parent: XmlElement, head: boolean): string =>
      elements(parent)
        .map((each) => {
          const name = localName(each);
          if (name === 'table-row') return times(row(each, head), repeated(each, 'number-rows-repeated'));
          if (name === 'table-header-rows') return `<thead>${rows(each, true)}</thead>`;
          return name === 'table-rows' || name === 'table-row-group' ? rows(each, head) : '';
        })
        .join('');
    return `<table>${rows(node, false)}</table>`;
  }

  /** Tables within tables that are repeated would unpack a few bytes to more than any memory holds. */
  function times(made: string, count: number): string {
    context.unpacked(made.length * (count - 1));
    return made.repeat(count);
  }

  function row(node: XmlElement, head: boolean): string {
    const cells = childrenOf(node, 'table-cell').map((cell) => {
      const span = ['col', 'row']
        .map((way) => [way, attribute(cell, `number-${way === 'col' ? 'columns' : 'rows'}-spanned`)] as const)
        .map(([way, count]) => (count === undefined ? '' : ` ${way}span="${Number(count) || 1}"`))
        .join('');
      const tag = head ? 'th' : 'td';
      const made = `<${tag}${span}>${html(cell.children)}</${tag}>`;
      return times(made, repeated(cell, 'number-columns-repeated'));
    });
    return `<tr>${cells.join('')}</tr>`;
  }

  function frame(node: XmlElement): string {
    const said = textOf(child(node, 'title')) || textOf(child(node, 'desc'));
    const inside = elements(node).filter((each) => ['text-box', 'table'].includes(localName(each)));
    if (inside.length > 0) return `<div>${html(inside)}</div>`;
    const picture = attribute(child(node, 'image'), 'href') ?? '';
    const kind = /\.(\w{2,5})$/.exec(picture)?.[1]?.toLowerCase() ?? 'png';
    if (child(node, 'object') !== undefined || picture === '') return escapeHtml(said);
    return `<img alt="${escapeHtml(said)}" src="data:image/${kind === 'jpg' ? 'jpeg' : kind};base64,">`;
  }

  return {
    html: (nodes) => html(nodes),
    takeNotes: () => notes.splice(0),
  };
}

/** The styles of a document, its own and those of its program, and what they come to for a text. */
function createStyles(parts: readonly (XmlElement | undefined)[]) {
  const styles = new Map<string, XmlElement>();
  const lists = new Map<string, XmlElement>();
  for (const part of parts) {
    for (const group of ['styles', 'automatic-styles']) {
      for (const style of elements(child(part, group))) {
        const name = attribute(style, 'name') ?? '';
        if (localName(style) === 'style') styles.set(name, style);
        if (localName(style) === 'list-style') lists.set(name, style);
      }
    }
  }

  /** A style and those that it is made from, the nearest first. */
  function chain(name: string | undefined): XmlElement[] {
    const found: XmlElement[] = [];
    for (let at = name; at !== undefined && found.length < 20; at = attribute(found.at(-1), 'parent-style-name')) {
      const style = styles.get(at);
      if (style === undefined) break;
      found.push(style);
    }
    return found;
  }

  function lookOf(name: string | undefined): Look {
    const all = chain(name).flatMap((style) => childrenOf(style, 'text-properties'));
    const first = (property: string) =>
      all.map((each) => attribute(each, property)).find((value) => value !== undefined);
    const position = first('text-position') ?? '';
    return {
      bold: /^(?:bold|[6-9]00)$/.test(first('font-weight') ?? ''),
      italic: /^(?:italic|oblique)$/.test(first('font-style') ?? ''),
      strike: !/^(?:none)?$/.test(first('text-line-through-style') ?? ''),
      raised: /^(?:super|[1-9])/.test(position) ? 'sup' : /^(?:sub|-)/.test(position) ? 'sub' : null,
    };
  }

  /** Also by the name of a style that the file does not have. */
  function named(style: string | undefined, pattern: RegExp): boolean {
    const above = chain(style).map((each) => attribute(each, 'parent-style-name'));
    return [style, ...above].some((name) => name !== undefined && pattern.test(name));
  }

  return { lookOf, named, list: (name: string) => lists.get(name) };
}

interface Place {
  /** 0 is the outermost. */
  readonly level: number;
  readonly style: string;
}

function repeated(node: XmlElement, name: string): number {
  // Cells of nothing fill a sheet to its edge.
  if (textOf(node).trim() === '' && Number(attribute(node, name) ?? 1) > 20) return 1;
  return Math.min(maxRepeated, Math.max(1, Number(attribute(node, name) ?? 1) || 1));
}

const names: Readonly<Record<string, string>> = {
  title: 'title',
  'initial-creator': 'author',
  subject: 'subject',
  description: 'description',
  keyword: 'keywords',
  creator: 'lastModifiedBy',
  'creation-date': 'created',
  date: 'modified',
  language: 'language',
};

function properties(root: XmlElement | undefined): Record<string, MetadataValue> {
  const found: Record<string, MetadataValue> = {};
  for (const each of elements(child(root, 'meta'))) {
    const name = names[localName(each)];
    const text = textOf(each).replace(/\s+/g, ' ').trim().slice(0, 2000);
    if (name !== undefined && text !== '') found[name] = found[name] === undefined ? text : `${found[name]}, ${text}`;
    const pages = localName(each) === 'document-statistic' ? Number(attribute(each, 'page-count')) : Number.NaN;
    if (pages > 0) found.pages = pages;
  }
  if (found.author === undefined && found.lastModifiedBy !== undefined) found.author = found.lastModifiedBy;
  return found;
}

function losses(zip: ZipReader, content: XmlElement, styles: XmlElement | undefined): string[] {
  const notes: string[] = [];
  const edges = ['header', 'footer'].flatMap((name) => descendants(child(styles, 'master-styles'), name));
  if (edges.some((edge) => textOf(edge).trim() !== '')) notes.push('Page headers and footers are left out.');
  if (descendants(content, 'tracked-changes').length > 0)
    notes.push('Text that tracked changes delete is left out; what they insert is given.');
  if (zip.entries.some(({ name }) => /^Object [^/]+\/content\.xml$/.test(name)))
    notes.push('Charts, formulas and other embedded objects are left out.');
  return notes;
}
