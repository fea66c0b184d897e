/**
 * Owns XML as a tree for the formats that are made of it (office documents, books, feeds). No entity of a document type is ever
 * expanded, nothing is fetched, and trees deeper than any real document are refused. Must not know what any element means.
 */
import { XMLParser } from 'fast-xml-parser';
import { ConvertFault, saidBy } from '../format.ts';

export interface XmlElement {
  /** With its prefix, as written: `w:p`. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlNode[];
}
export type XmlNode = XmlElement | string;

/** Real documents stay below 100; each level costs frames of recursion in what walks the tree. */
const deepest = 400;
const textName = '#text';
const dataName = '#data';
const attributesName = ':@';

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  textNodeName: textName,
  cdataPropName: dataName,
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: deepest,
  jPath: false,
});

type Parsed = Record<string, unknown>;

/** The root element. `what` names the part in the fault, such as `"word/document.xml"`. Throws `damaged`. */
export function parseXml(text: string, what: string): XmlElement {
  let nodes: XmlNode[];
  try {
    nodes = convert(parser.parse(text.replace(/^\ufeff/, '')) as Parsed[]);
  } catch (cause) {
    throw broken(what, saidBy(cause).slice(2) || 'it is not XML', cause);
  }
  const root = nodes.find((node): node is XmlElement => typeof node !== 'string');
  if (root === undefined) throw broken(what, 'it has no element');
  return root;
}

function broken(what: string, why: string, cause?: unknown): ConvertFault {
  const line = why.replace(/\s+/g, ' ').slice(0, 200).replace(/\.$/, '');
  return new ConvertFault(
    'damaged',
    `The XML of ${what} cannot be read: ${line}.`,
    'Get a complete copy of the file.',
    {
      cause,
    },
  );
}

function convert(items: readonly Parsed[]): XmlNode[] {
  const nodes: XmlNode[] = [];
  for (const item of items) {
    for (const name of Object.keys(item)) {
      if (name === attributesName) continue;
      const value = item[name];
      if (name === textName) nodes.push(decode(String(value)));
      else if (name === dataName) {
        // Text as it stands: nothing in it is a reference.
        for (const part of value as Parsed[]) nodes.push(String(part[textName] ?? ''));
      } else nodes.push({ name, attributes: attributesOf(item), children: convert(value as Parsed[]) });
    }
  }
  return nodes;
}

function attributesOf(item: Parsed): Record<string, string> {
  const raw = item[attributesName] as Record<string, unknown> | undefined;
  if (raw === undefined) return none;
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) attributes[name] = decode(String(value));
  return attributes;
}
const none: Record<string, string> = {};

const predefined: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Only what XML predefines, and numbers; any other reference stays as written. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(\w{2,4}));/g, (all, hex, decimal, name) => {
    if (name !== undefined) return predefined[name] ?? all;
    const code = Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
  });
}

export const isXmlElement = (node: XmlNode): node is XmlElement => typeof node !== 'string';

/** The name without its prefix. */
export function localName(element: XmlElement): string {
  return element.name.slice(element.name.indexOf(':') + 1);
}

export function elements(parent: XmlElement | undefined): XmlElement[] {
  return parent === undefined ? [] : parent.children.filter(isXmlElement);
}

/** The first child with the name, prefix or not. */
export function child(parent: XmlElement | undefined, name: string): XmlElement | undefined {
  return elements(parent).find((each) => localName(each) === name);
}

/** Children with the name. */
export function childrenOf(parent: XmlElement | undefined, name: string): XmlElement[] {
  return elements(parent).filter((each) => localName(each) === name);
}

/** Follows first children: `path(root, 'a', 'b')`. */
export function path(parent: XmlElement | undefined, ...names: string[]): XmlElement | undefined {
  return names.reduce<XmlElement | undefined>((at, name) => child(at, name), parent);
}

/** Every element with the name under the parent, in document order. */
export function descendants(parent: XmlElement | undefined, name: string): XmlElement[] {
  const found: XmlElement[] = [];
  const walk = (element: XmlElement) => {
    for (const each of elements(element)) {
      if (localName(each) === name) found.push(each);
      walk(each);
    }
  };
  if (parent !== undefined) walk(parent);
  return found;
}

/** All text inside, joined. */
export function textOf(node: XmlNode | undefined): string {
  if (node === undefined) return '';
  return typeof node === 'string' ? node : node.children.map(textOf).join('');
}

/** An attribute by its name, prefix or not. */
export function attribute(element: XmlElement | undefined, name: string): string | undefined {
  if (element === undefined) return undefined;
  const direct = element.attributes[name];
  if (direct !== undefined) return direct;
  for (const key of Object.keys(element.attributes)) if (key.endsWith(`:${name}`)) return element.attributes[key];
  return undefined;
}

/** The id of a relationship (`r:id`, `r:embed`), which stands beside a plain `id` on some elements. */
export function relationshipId(element: XmlElement | undefined, name = 'id'): string | undefined {
  for (const [key, value] of Object.entries(element?.attributes ?? {})) if (key.endsWith(`:${name}`)) return value;
  return undefined;
}
