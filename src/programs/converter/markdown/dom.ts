/**
 * Owns reading HTML into a tree and the few members of it that conversion uses; what could run or is never shown is gone, and no
 * tree is deeper than what recursion stands. Scripts never run and nothing is fetched. Must not know Markdown or any format.
 */
import { parseHTML } from 'linkedom';
import { type DefaultTreeAdapterTypes, Parser } from 'parse5';

export interface DomNode {
  readonly nodeType: number;
  readonly nodeName: string;
  nodeValue: string | null;
  textContent: string | null;
  readonly parentNode: DomElement | null;
  readonly firstChild: DomNode | null;
  readonly lastChild: DomNode | null;
  readonly nextSibling: DomNode | null;
  readonly previousSibling: DomNode | null;
}

export interface DomElement extends DomNode {
  readonly localName: string;
  readonly childNodes: ArrayLike<DomNode> & Iterable<DomNode>;
  readonly children: ArrayLike<DomElement> & Iterable<DomElement>;
  readonly ownerDocument: DomDocument;
  innerHTML: string;
  id: string;
  className: string;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): Iterable<DomElement> & { readonly length: number };
  closest(selector: string): DomElement | null;
  appendChild(node: DomNode): unknown;
  insertBefore(node: DomNode, before: DomNode | null): unknown;
  replaceWith(...nodes: (DomNode | string)[]): void;
  remove(): void;
  normalize(): void;
}

export interface DomDocument extends DomElement {
  readonly documentElement: DomElement;
  readonly head: DomElement;
  readonly body: DomElement;
  readonly title: string;
  createElement(name: string): DomElement;
  createTextNode(text: string): DomNode;
}

export const isElement = (node: DomNode): node is DomElement => node.nodeType === 1;
const isText = (node: DomNode): boolean => node.nodeType === 3 || node.nodeType === 4;

/** Deeper elements become part of their ancestor here. Browsers stop at 512; what converts a tree needs several frames a level. */
const deepest = 200;

/** Neither shown nor worth words: what runs, what is drawn, and fields without text of the page. */
const dropped =
  'script, style, template, noscript, iframe, object, embed, applet, canvas, svg, select, datalist, textarea, title, meta, link, rp';

/** A document from HTML, whole page or fragment, as a browser reads it: always with html, head and body. */
export function parseDocument(text: string): DomDocument {
  // Browsers drop it too, and a check that it stands in the middle of would not hold.
  const html = text.replaceAll('\0', '');
  const document = parseHTML('<!doctype html><html><head></head><body></body></html>')
    .document as unknown as DomDocument;
  const parser = new BoundedParser(html.length);
  parser.tokenizer.write(html, true);
  for (const node of parser.document.childNodes) {
    if (node.nodeName !== 'html') continue;
    const { attrs, childNodes } = node as DefaultTreeAdapterTypes.Element;
    setAttributes(document.documentElement, attrs);
    for (const part of childNodes as DefaultTreeAdapterTypes.Element[]) {
      // A page of frames has no body, and nothing that could be read.
      const own = part.nodeName === 'head' ? document.head : part.nodeName === 'body' ? document.body : null;
      if (own === null) continue;
      setAttributes(own, part.attrs);
      copyChildren(part, own);
    }
  }
  return document;
}

type Tree = DefaultTreeAdapterTypes.DefaultTreeAdapterMap;

/** As many open elements as Chromium keeps. The parser looks through them at many tags. */
const maxOpen = 512;

/** Keeps a page from becoming far more than it is. */
class BoundedParser extends Parser<Tree> {
  #left: number;

  /** `characters`: of the page. */
  constructor(characters: number) {
    super({});
    this.#left = 10_000 + characters / 4;
  }

  override onItemPush(...pushed: Parameters<Parser<Tree>['onItemPush']>): void {
    super.onItemPush(...pushed);
    this.#left -= 1;
    const { openElements } = this;
    const around = openElements.items[openElements.stackTop - 1];
    // The one around is closed early: what follows stays in its place, and nothing is lost.
    if (openElements.stackTop >= maxOpen && around !== undefined)
      openElements.remove(around as DefaultTreeAdapterTypes.Element);
  }

  /** Emphasis that was never closed is opened again in each paragraph that follows: thousands of both would be millions of elements. */
  override _reconstructActiveFormattingElements(): void {
    if (this.#left < 0) this.activeFormattingElements.clearToLastMarker();
    super._reconstructActiveFormattingElements();
  }
}

/** Without recursion: pages are as deep as somebody made them. */
function copyChildren(from: DefaultTreeAdapterTypes.Element, to: DomElement): void {
  const document = to.ownerDocument;
  const open: {
    readonly nodes: readonly DefaultTreeAdapterTypes.ChildNode[];
    at: number;
    readonly into: DomElement;
  }[] = [{ nodes: from.childNodes, at: 0, into: to }];
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const node = level.nodes[level.at];
    level.at += 1;
    if (node === undefined) open.pop();
    else if ('value' in node) level.into.appendChild(document.createTextNode(node.value));
    else if ('tagName' in node) {
      const element = document.createElement(node.tagName);
      setAttributes(element, node.attrs);
      level.into.appendChild(element);
      if (node.childNodes.length > 0) open.push({ nodes: node.childNodes, at: 0, into: element });
    }
  }
}

function setAttributes(element: DomElement, attributes: DefaultTreeAdapterTypes.Element['attrs']): void {
  for (const { name, value } of attributes) element.setAttribute(name, value);
}

/** Takes out what is never shown. Call after what is needed from scripts (such as TeX) was read. */
export function removeUnshown(root: DomElement): void {
  for (const element of [...root.querySelectorAll(dropped)]) element.remove();
  // What holds a picture, each element looked at once.
  const pictured = new Set<DomElement>();
  for (const picture of root.querySelectorAll('img')) {
    for (let each = picture.parentNode; each !== null && !pictured.has(each); each = each.parentNode)
      pictured.add(each);
  }
  for (const element of [...root.querySelectorAll('[hidden], [style], [aria-hidden="true"]')]) {
    const style = element.getAttribute('style') ?? '';
    const invisible =
      (element.hasAttribute('hidden') && element.getAttribute('hidden') !== 'until-found') ||
      /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style) ||
      (element.getAttribute('aria-hidden') === 'true' && !pictured.has(element));
    if (invisible) element.remove();
  }
  // Buttons belong to the page, not to its text, unless a button is the only content, as in a collapsible heading.
  const texts = new Map<DomElement | null, string>();
  for (const button of [...root.querySelectorAll('button')]) {
    const parent = button.parentNode;
    const around = texts.get(parent) ?? (parent?.textContent ?? '').trim();
    texts.set(parent, around);
    if (around !== (button.textContent ?? '').trim()) button.remove();
  }
}

/** White space longer than this only draws. The converter looks through it again from each of its characters. */
const maxGap = 1000;
const maxBreaks = 300;

/** Shortens long runs of white space, of spaces that do not break as well, and of breaks. Call after texts were joined. */
export function shortenGaps(root: DomElement): void {
  let breaks = 0;
  let node: DomNode | null = root;
  while (node !== null) {
    let spare: DomElement | null = null;
    if (isText(node)) {
      const text = node.nodeValue ?? '';
      if (text.trim() !== '') breaks = 0;
      if (text.length > maxGap) node.nodeValue = text.replace(/(?<!\s)\s{1000,}/g, (gap) => gap.slice(0, maxGap));
    } else if (isElement(node) && node.localName === 'br') {
      breaks += 1;
      if (breaks > maxBreaks) spare = node;
    } else if (node.firstChild === null) breaks = 0;
    node = following(node, root);
    spare?.remove();
  }
}

/** In the order of the document. */
function following(node: DomNode, root: DomElement): DomNode | null {
  if (node.firstChild !== null) return node.firstChild;
  let from: DomNode | null = node;
  while (from !== null && from !== root && from.nextSibling === null) from = from.parentNode;
  return from === null || from === root ? null : from.nextSibling;
}

/** Moves children of too deep elements up, so that recursion over the tree ends. Text is kept in order. */
export function flatten(root: DomElement): void {
  let depth = 0;
  let node: DomNode | null = root;
  while (node !== null) {
    if (isElement(node) && node.firstChild !== null) {
      if (depth < deepest) {
        depth += 1;
        node = node.firstChild;
        continue;
      }
      const first: DomNode = node.firstChild;
      const parent: DomElement | null = node.parentNode;
      if (parent === null) return;
      // One level at a time: what comes up is looked at next, and again if it has children itself.
      let child: DomNode | null = first;
      while (child !== null) {
        const next: DomNode | null = child.nextSibling;
        parent.insertBefore(child, node);
        child = next;
      }
      (node as DomElement).remove();
      node = first;
      continue;
    }
    while (node !== null && node !== root && node.nextSibling === null) {
      node = node.parentNode;
      depth -= 1;
    }
    if (node === null || node === root) return;
    node = node.nextSibling;
  }
}
