/** Documents made in tests, and the whole conversion of them as the program does it. */

import { burn } from '@kenjiuno/msgreader/lib/Burner.js';
import { strToU8, zipSync } from 'fflate';
import { type Conversion, type ConvertRequest, convert } from '../../../../src/programs/converter/convert.ts';

export function converted(bytes: Uint8Array | string, request: Partial<ConvertRequest> = {}): Promise<Conversion> {
  const content = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
  const whole = { filename: '', mimeType: '', family: null, deadlineMs: 60_000, ...request };
  return convert(content, whole, () => performance.now());
}

export function zipOf(files: Record<string, string | Uint8Array>): Uint8Array {
  return zipSync(
    Object.fromEntries(
      Object.entries(files).map(([name, content]) => [name, typeof content === 'string' ? strToU8(content) : content]),
    ),
  );
}

export const xmlHead = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const relationshipsSpace = 'http://schemas.openxmlformats.org/package/2006/relationships';
const officeSpace = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** `[id, type, target, external?]` each. */
export function relationships(...all: readonly (readonly [string, string, string, boolean?])[]): string {
  const each = all.map(
    ([id, type, target, external]) =>
      `<Relationship Id="${id}" Type="${officeSpace}/${type}" Target="${target}"${external === true ? ' TargetMode="External"' : ''}/>`,
  );
  return `${xmlHead}<Relationships xmlns="${relationshipsSpace}">${each.join('')}</Relationships>`;
}

export const spaces =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ' +
  'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" ' +
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ' +
  'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" ' +
  'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" ' +
  'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" ' +
  'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" ' +
  `xmlns:r="${officeSpace}"`;

export const coreProperties = (title: string, author: string) =>
  `${xmlHead}<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>${title}</dc:title><dc:creator>${author}</dc:creator><dcterms:created>2024-05-06T07:08:09Z</dcterms:created></cp:coreProperties>`;

const openSpaces = [
  'office',
  'style',
  'text',
  'table',
  'drawing',
  'presentation',
  'svg-compatible',
  'xsl-fo-compatible',
]
  .map((name) => {
    const short = { drawing: 'draw', 'svg-compatible': 'svg', 'xsl-fo-compatible': 'fo' }[name] ?? name;
    return `xmlns:${short}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`;
  })
  .concat('xmlns:dc="http://purl.org/dc/elements/1.1/"', 'xmlns:xlink="http://www.w3.org/1999/xlink"')
  .join(' ');

/** A document of OpenDocument with this body and these automatic styles, as LibreOffice writes them. */
export function openDocument(kind: string, body: string, styles = '', more: Record<string, string> = {}): Uint8Array {
  return zipOf({
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    'content.xml': `${xmlHead}<office:document-content ${openSpaces}><office:automatic-styles>${styles}</office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
    'meta.xml': `${xmlHead}<office:document-meta ${openSpaces} xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"><office:meta><dc:title>The plan</dc:title><meta:initial-creator>Ada Writer</meta:initial-creator><meta:document-statistic meta:page-count="2"/></office:meta></office:document-meta>`,
    ...more,
  });
}

export type CompoundFolder = { readonly [name: string]: Uint8Array | CompoundFolder };

/** A compound file ([MS-CFB]) of streams and folders, such as Outlook and older office programs write. */
export function compoundOf(root: CompoundFolder): Uint8Array {
  type Entry = Parameters<typeof burn>[0][number];
  const entries: Entry[] = [];
  const add = (name: string, content: Uint8Array | CompoundFolder, type: number): number => {
    const at = entries.length;
    if (content instanceof Uint8Array) {
      entries.push({ name, type: 2, binaryProvider: () => content, length: content.length });
      return at;
    }
    const folder: Entry = { name, type, length: 0, children: [] };
    entries.push(folder);
    folder.children = Object.entries(content).map(([inner, inside]) => add(inner, inside, 1));
    return at;
  };
  add('Root Entry', root, 5);
  return burn(entries);
}
