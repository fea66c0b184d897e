/**
 * Owns reading HTML into a tree and the few members of it that conversion uses; what could run or is never shown is gone, and no
 * tree is deeper than what recursion stands. Scripts never run and nothing is fetched. Must not know Markdown or any format.
 */
import { parseHTML } from 'linkedom';

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
export const isText = (node: DomNode): boolean => node.nodeType === 3 || node.nodeType === 4;

/** Deeper elements become part of their ancestor here. Browsers stop at 512; what converts a tree needs several frames a level. */
const deepest = 200;

/** Neither shown nor worth words: what runs, what is drawn, and fields without text of the page. */
const dropped =
  'script, style, template, noscript, iframe, object, embed, applet, canvas, svg, select, datalist, textarea, title, meta, link, rp';

/** A document from HTML, whole page or fragment: always with html, head and body. */
export function parseDocument(text: string): DomDocument {
  // Browsers drop it too, and a check that it stands in the middle of would not hold.
  const html = text.replaceAll('\0', '');
  const whole = /<(?:html|body|head|!doctype)[\s>]/i.test(html.slice(0, 4096)) || /<body[\s>]/i.test(html);
  const source = whole ? html : `<!doctype html><html><head></head><body>${html}</body></html>`;
  const document = parseHTML(source).document as unknown as DomDocument;
  withBody(document);
  return document;
}

/** The parser does not add what a page leaves out (`<html>` without `<body>` is right in HTML). */
function withBody(document: DomDocument): void {
  const root = document.documentElement;
  if (root === null || root.localName !== 'html') {
    const html = document.createElement('html');
    const body = document.createElement('body');
    for (const node of [...document.childNodes]) if (node.nodeType !== 10) body.appendChild(node);
    html.appendChild(document.createElement('head'));
    html.appendChild(body);
    document.appendChild(html);
    return;
  }
  const strays = [...document.childNodes].filter((node) => node !== root && (isElement(node) || isText(node)));
  if (root.querySelector('body') === null) {
    const body = document.createElement('body');
    for (const node of [...root.childNodes]) {
      if (!(isElement(node) && node.localName === 'head')) body.appendChild(node);
    }
    root.appendChild(body);
  }
  for (const node of strays) document.body.appendChild(node);
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
  // Buttons are the page's, not its text, unless one is all that there is, as in a heading that folds.
  const texts = new Map<DomElement | null, string>();
  for (const button of [...root.querySelectorAll('button')]) {
    const parent = button.parentNode;
    const around = texts.get(parent) ?? (parent?.textContent ?? '').trim();
    texts.set(parent, around);
    if (around !== (button.textContent ?? '').trim()) button.remove();
  }
}

/** White space longer than this only draws. The converter looks through it again from each of its characters. */
const longestGap = 1000;
const mostBreaks = 300;

/** Shortens long runs of white space, of spaces that do not break as well, and of breaks. Call after texts were joined. */
export function shortenGaps(root: DomElement): void {
  let breaks = 0;
  let node: DomNode | null = root;
  while (node !== null) {
    let spare: DomElement | null = null;
    if (isText(node)) {
      const text = node.nodeValue ?? '';
      if (text.trim() !== '') breaks = 0;
      if (text.length > longestGap)
        node.nodeValue = text.replace(/(?<!\s)\s{1000,}/g, (gap) => gap.slice(0, longestGap));
    } else if (isElement(node) && node.localName === 'br') {
      breaks += 1;
      if (breaks > mostBreaks) spare = node;
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
