/**
 * Owns HTML to Markdown: one set of rules for pages, books, feeds, mail and office documents. Must not know where the HTML came
 * from, what of a page is its main content (`page.ts`), or how tables are laid out (`html-table.ts`).
 */
import { strikethrough } from '@joplin/turndown-plugin-gfm';
import TurndownService from 'turndown';
import {
  type DomDocument,
  type DomElement,
  type DomNode,
  flatten,
  isElement,
  parseDocument,
  removeUnshown,
  shortenGaps,
} from './dom.ts';
import { codeBlock, escapeLine, escapeText, formula, inlineCode, joinLines } from './escape.ts';
import { replaceTables } from './html-table.ts';
import { image, link } from './link.ts';

interface HtmlOptions {
  /** Makes relative addresses absolute; without it they stay as they are. */
  readonly base?: string;
  /** Called between pieces of a large document; throws to end the conversion. */
  readonly mustHaveTime?: () => void;
  /** False leaves a link as its text: for formats whose own places do not survive. All are kept without it. */
  readonly keepLink?: (address: string) => boolean;
  /** Markdown that the caller gives for an inline element, such as the mark of a note; undefined where it gives none. */
  readonly inline?: (element: DomElement) => string | undefined;
}

/** Set on elements that stand for Markdown made before: see {@link replaceTables}. Foreign ones are taken off first. */
const renderedAttribute = 'data-rendered';

const blocks = new Set(
  (
    'address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 ' +
    'h5 h6 header hgroup hr html li main menu nav ol p pre section summary table tbody td tfoot th thead tr ul'
  ).split(' '),
);
const containers = new Set(['body', 'div', 'main', 'article', 'section', 'center', 'form']);
/** Around code until all is joined: two runs of code that touch would be one, and what is in them would be text. No document has it. */
const codeEdge = '\0';
/** The converter joins what it has by copying it all, so a long run of siblings is given to it in pieces of this size. */
const siblingsAtOnce = 100;

/** Markdown of an HTML text, whole page or fragment, all of it. */
export function htmlToMarkdown(html: string, options: HtmlOptions = {}): string {
  const document = parseDocument(html);
  return elementToMarkdown(document.body, options);
}

/** Markdown of an element. The tree is changed on the way. */
export function elementToMarkdown(root: DomElement, options: HtmlOptions = {}): string {
  const document = root.ownerDocument;
  for (const element of [...root.querySelectorAll(`[${renderedAttribute}]`)])
    element.removeAttribute(renderedAttribute);
  const rendered: string[] = [];
  const keep = (markdown: string) => {
    const stand = document.createElement('pre');
    stand.setAttribute(renderedAttribute, String(rendered.push(markdown) - 1));
    stand.appendChild(document.createTextNode('x'));
    return stand;
  };
  replaceMath(root, keep);
  replaceBoxes(root, keep);
  removeUnshown(root);
  flatten(root);
  // The parser splits text at character references; escaping must see it whole.
  root.normalize();
  shortenGaps(root);
  const service = createService(rendered, options);
  const render = (node: DomElement) => service.turndown(node as unknown as TurndownService.Node);
  const renderCell = (cell: DomElement) => wordsAlone(cell) ?? render(cell);
  replaceTables(root, { keep, code: codeOf, render: renderCell, mustHaveTime: options.mustHaveTime ?? (() => {}) });
  return tidy(renderPieces(root, document, render, options).join('\n\n'));
}

const codeOf = (node: DomElement) => ({ text: preformattedText(node), language: languageOf(node) });

/** Most cells hold only words; the converter would copy each as a separate document. Null for any other. */
function wordsAlone(cell: DomElement): string | null {
  const only = cell.firstChild;
  if (only === null) return '';
  if (only.nodeType !== 3 || only.nextSibling !== null) return null;
  return escapeText((only.nodeValue ?? '').replace(/[ \t\r\n]+/g, ' ').trim());
}

/** A longer run without white space is taken for an address. Characters. */
const maxRunLength = 2000;

/** Readers make a link of a bare address and take all that follows without white space for a part of it, also what begins code. */
function endsInAddress(before: string): boolean {
  const run = before.split(/\s/).at(-1) ?? '';
  return run.length === maxRunLength || /:\/\/|www\.|@/i.test(run);
}

/** Blank lines in rows become one, and trailing white space goes, except the two spaces that break a line. */
function tidy(joined: string): string {
  const markdown = joined.replaceAll(`${codeEdge}${codeEdge}`, ' ');
  return markdown
    .replace(/\0(?=`)/g, (_, at: number) =>
      endsInAddress(markdown.slice(Math.max(0, at - maxRunLength), at)) ? ' ' : '',
    )
    .replaceAll(codeEdge, '')
    .replace(/\u00a0/g, ' ')
    .replace(/(?<![ \t])[ \t]+$/gm, (run) => (run === '  ' ? run : ''))
    .replace(/ {2}\n(?=[^\S\n]*(?:\n|$))/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function renderPieces(
  root: DomElement,
  document: DomDocument,
  render: (node: DomElement) => string,
  options: HtmlOptions,
): string[] {
  options.mustHaveTime?.();
  const children = [...root.childNodes];
  const large = children.filter(
    (child) => isElement(child) && containers.has(child.localName) && child.children.length > 20,
  );
  if (!containers.has(root.localName) || (children.length <= siblingsAtOnce && large.length === 0))
    return [render(root)];
  const pieces: string[] = [];
  let group: DomNode[] = [];
  const flush = () => {
    if (group.length === 0) return;
    const wrapper = document.createElement('div');
    for (const node of group) wrapper.appendChild(node);
    group = [];
    options.mustHaveTime?.();
    pieces.push(render(wrapper));
  };
  for (const child of children) {
    const block = isElement(child) && blocks.has(child.localName);
    if (block && containers.has(child.localName) && child.children.length > 20) {
      flush();
      pieces.push(...renderPieces(child, document, render, options));
      continue;
    }
    // Only between blocks: a sentence of inline elements stays in one piece.
    if (block && group.length >= siblingsAtOnce) flush();
    group.push(child);
  }
  flush();
  return pieces.filter((piece) => piece.trim() !== '');
}

/** The same stand within a line. */
function inText(stand: DomElement): DomElement {
  const inline = stand.ownerDocument.createElement('span');
  inline.setAttribute(renderedAttribute, stand.getAttribute(renderedAttribute) ?? '');
  inline.appendChild(stand.ownerDocument.createTextNode('x'));
  return inline;
}

/** Boxes to check, wherever they stand: in a list this is how Markdown writes them, elsewhere it is what they say. */
function replaceBoxes(root: DomElement, keep: (markdown: string) => DomElement): void {
  for (const box of [...root.querySelectorAll('input[type="checkbox" i]')]) {
    const spaced = /^\s/.test(box.nextSibling?.textContent ?? '');
    box.replaceWith(inText(keep(`${box.hasAttribute('checked') ? '[x]' : '[ ]'}${spaced ? '' : ' '}`)));
  }
}

/** Formulas whose TeX is in the page: MathML with an annotation (KaTeX, MathJax 3) and MathJax's scripts. */
function replaceMath(root: DomElement, keep: (markdown: string) => DomElement): void {
  const place = (element: DomElement, tex: string, display: boolean) => {
    const markdown = formula(tex, display);
    if (markdown === '') return;
    element.replaceWith(display ? keep(markdown) : inText(keep(markdown)));
  };
  for (const math of [...root.querySelectorAll('math')]) {
    const annotation = [...math.querySelectorAll('annotation')].find((each) =>
      (each.getAttribute('encoding') ?? '').toLowerCase().includes('tex'),
    );
    const tex = annotation?.textContent ?? math.getAttribute('alttext') ?? '';
    place(math, tex, math.getAttribute('display') === 'block');
  }
  for (const script of [...root.querySelectorAll('script[type^="math/tex"]')]) {
    place(script, script.textContent ?? '', (script.getAttribute('type') ?? '').includes('display'));
  }
}

function createService(rendered: readonly string[], options: HtmlOptions): TurndownService {
  const service = new TurndownService({
    headingStyle: 'atx',
    hr: '---',
    bulletListMarker: '*',
    codeBlockStyle: 'fenced',
    emDelimiter: '*',
    strongDelimiter: '**',
  });
  service.escape = escapeText;
  service.use([strikethrough]);
  const element = (node: unknown) => node as DomElement;
  const linkOptions = (node: DomElement) => ({
    title: node.getAttribute('title') ?? undefined,
    ...(options.base === undefined ? {} : { base: options.base }),
  });

  service.addRule('heading', {
    filter: ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'],
    replacement: (content, node) => {
      const text = joinLines(content);
      return text === '' ? '' : `\n\n${'#'.repeat(Number(element(node).localName[1]))} ${text}\n\n`;
    },
  });
  service.addRule('list item', { filter: 'li', replacement: listItem() });
  service.addRule('strikethrough', {
    filter: ['del', 's', 'strike'] as TurndownService.Filter,
    replacement: (content) => (content.trim() === '' ? '' : `~~${content}~~`),
  });
  service.addRule('link', {
    filter: (node) => element(node).localName === 'a' && element(node).hasAttribute('href'),
    replacement: (content, node) => {
      const address = element(node).getAttribute('href') ?? '';
      // A card is a link around headings and paragraphs: their text is the label.
      const label = joinLines(content.trimStart().replace(/^[^\S\n]*(?:#{1,6}|>|\*|\d+\.)\s+/gm, ''));
      if (options.keepLink?.(address) === false) return label;
      // A heading's link to itself says nothing, nor does the sign that shows it.
      if (address.startsWith('#') && element(node).closest('h1, h2, h3, h4, h5, h6') !== null) {
        return /^[^\p{L}\p{N}]*$/u.test(label) ? '' : label;
      }
      return link(label, address, linkOptions(element(node)));
    },
  });
  service.addRule('image', {
    filter: 'img',
    replacement: (_content, node) => {
      const alt = element(node).getAttribute('alt') ?? '';
      const source = element(node).getAttribute('src') || element(node).getAttribute('data-src') || '';
      return source === '' ? escapeLine(alt) : image(alt, source, linkOptions(element(node)));
    },
  });
  service.addRule('code', {
    filter: (node) => ['code', 'kbd', 'samp', 'tt'].includes(element(node).localName),
    replacement: (_content, node) => {
      const code = inlineCode(element(node).textContent ?? '');
      return code === '' ? '' : `${codeEdge}${code}${codeEdge}`;
    },
  });
  service.addRule('raised', {
    filter: ['sup', 'sub'],
    replacement: (content, node) => {
      const plain =
        element(node).querySelector('a, [data-rendered]') !== null ||
        /^(?:th|st|nd|rd|e|er|o|a)$/i.test(content.trim());
      const name = element(node).localName;
      return plain || content.trim() === '' ? content : `<${name}>${content}</${name}>`;
    },
  });
  service.addRule('term', {
    filter: ['dt', 'summary'],
    replacement: (content) => {
      const term = content.trim();
      // Bold in bold would end it.
      return term === '' ? '' : `\n\n${term.includes('**') ? term : `**${term}**`}\n\n`;
    },
  });
  service.addRule('quotation', { filter: 'q', replacement: (content) => `"${content}"` });
  service.addRule('preformatted', {
    filter: 'pre',
    replacement: (_content, node) => `\n\n${codeBlock(preformattedText(element(node)), languageOf(element(node)))}\n\n`,
  });
  // The last rules added are asked first.
  service.addRule('given', {
    filter: (node) => options.inline?.(element(node)) !== undefined,
    replacement: (_content, node) => options.inline?.(element(node)) ?? '',
  });
  service.addRule('rendered before', {
    filter: (node) => element(node).hasAttribute(renderedAttribute),
    replacement: (_content, node) => {
      const markdown = rendered[Number(element(node).getAttribute(renderedAttribute))] ?? '';
      return element(node).localName === 'pre' ? `\n\n${markdown}\n\n` : markdown;
    },
  });
  return service;
}

/** `* ` and `1. `, following lines indented to the text. Numbers are counted once a list, not looked up for each item. */
function listItem(): TurndownService.ReplacementFunction {
  const counted = new WeakMap<DomElement, number>();
  return (content, node) => {
    const item = node as unknown as DomElement;
    const parent = item.parentNode;
    let marker = '* ';
    if (parent?.localName === 'ol') {
      const start = Number.parseInt(parent.getAttribute('start') ?? '1', 10);
      const own = Number.parseInt(item.getAttribute('value') ?? '', 10);
      const number = Number.isNaN(own) ? (counted.get(parent) ?? (Number.isNaN(start) ? 1 : start)) : own;
      counted.set(parent, number + 1);
      marker = `${number}. `;
    }
    const body = content
      .replace(/^\n+/, '')
      .replace(/(?<!\n)\n+$/, '')
      .replace(/\n(?=[^\n])/g, `\n${' '.repeat(marker.length)}`);
    return `${marker}${body}${item.nextSibling === null ? '' : '\n'}`;
  };
}

/** As it is shown, with its spaces and lines. */
function preformattedText(node: DomElement): string {
  for (const line of [...node.querySelectorAll('br')]) line.replaceWith('\n');
  return (node.textContent ?? '').replace(/^\n/, '');
}

/** `language-ts`, `lang-ts`, `highlight-source-ts`, `brush: ts` on the block, its code or what holds it. */
function languageOf(node: DomElement): string {
  const classes = [node.querySelector('code')?.className, node.className, node.parentNode?.className].join(' ');
  return /(?:language-|lang-|highlight-source-|brush:\s*)([\w+#.-]+)/.exec(classes)?.[1] ?? '';
}
