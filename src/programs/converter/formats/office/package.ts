/**
 * Owns the container of Office Open XML (ECMA-376 part 2): parts, the relationships between them, and the file's metadata. Relationships that lead
 * out of the file are addresses and never read. Must not know documents, slides or sheets.
 */
import { posix } from 'node:path';
import { type ConvertContext, ConvertFault, type MetadataValue } from '../../format.ts';
import { readZip, type ZipReader } from '../../zip-reader.ts';
import { attribute, childrenOf, elements, localName, parseXml, textOf, type XmlElement } from '../xml-tree.ts';

export interface Relationship {
  /** The last part of the type's address: `slide`, `hyperlink`, `notesSlide`. */
  readonly type: string;
  /** A part's name, or the address as written where `external`. */
  readonly target: string;
  readonly external: boolean;
}

export interface OfficePackage {
  readonly zip: ZipReader;
  /** The part as XML; undefined if it is missing. */
  xml(part: string): Promise<XmlElement | undefined>;
  /** By id; empty where the part has none. */
  relationships(part: string): Promise<ReadonlyMap<string, Relationship>>;
  /** The main part, by the root's relationships. Throws `damaged` if it is missing. */
  mainPart(): Promise<string>;
  /** Title, author, dates and the like. Never throws: a file is read without them. */
  properties(): Promise<Record<string, MetadataValue>>;
}

export async function openPackage(bytes: Uint8Array, context: ConvertContext, what: string): Promise<OfficePackage> {
  const zip = await readZip(bytes, context);

  async function xml(part: string): Promise<XmlElement | undefined> {
    const text = await zip.readText(part);
    context.mustHaveTime();
    return text === null ? undefined : parseXml(text, JSON.stringify(part));
  }

  async function relationships(part: string): Promise<ReadonlyMap<string, Relationship>> {
    const folder = posix.dirname(part);
    const root = await xml(posix.join(folder, '_rels', `${posix.basename(part)}.rels`));
    const found = new Map<string, Relationship>();
    for (const each of childrenOf(root, 'Relationship')) {
      const target = attribute(each, 'Target') ?? '';
      const external = attribute(each, 'TargetMode') === 'External';
      found.set(attribute(each, 'Id') ?? '', {
        type: (attribute(each, 'Type') ?? '').split('/').at(-1) ?? '',
        target: external ? target : partName(folder, target),
        external,
      });
    }
    return found;
  }

  return {
    zip,
    xml,
    relationships,
    async mainPart() {
      for (const each of (await relationships('')).values()) {
        if (each.type === 'officeDocument' && zip.has(each.target)) return each.target;
      }
      throw new ConvertFault(
        'damaged',
        `The ${what} does not say which of its parts is the document.`,
        'Open it in the program that made it, save it again and convert that.',
      );
    },
    async properties() {
      try {
        return readProperties(await xml('docProps/core.xml'), await xml('docProps/app.xml'));
      } catch (cause) {
        if (cause instanceof ConvertFault && cause.code !== 'damaged') throw cause;
        return {};
      }
    },
  };
}

function partName(folder: string, target: string): string {
  let plain = target;
  try {
    plain = decodeURIComponent(target);
  } catch {
    // A name with a lone percent sign is taken as it is.
  }
  return plain.startsWith('/') ? posix.normalize(plain).slice(1) : posix.join(folder, plain);
}

const coreNames: Readonly<Record<string, string>> = {
  title: 'title',
  creator: 'author',
  subject: 'subject',
  description: 'description',
  keywords: 'keywords',
  category: 'category',
  lastModifiedBy: 'lastModifiedBy',
  created: 'created',
  modified: 'modified',
  language: 'language',
};
const appNames: Readonly<Record<string, string>> = { Company: 'company', Pages: 'pages', Words: 'words' };

function readProperties(core: XmlElement | undefined, app: XmlElement | undefined): Record<string, MetadataValue> {
  const properties: Record<string, MetadataValue> = {};
  for (const [root, names] of [
    [core, coreNames],
    [app, appNames],
  ] as const) {
    for (const each of elements(root)) {
      const name = names[localName(each)];
      const text = textOf(each).replace(/\s+/g, ' ').trim().slice(0, 2000);
      if (name !== undefined && text !== '')
        properties[name] = root === app && /^\d+$/.test(text) ? Number(text) : text;
    }
  }
  return properties;
}
