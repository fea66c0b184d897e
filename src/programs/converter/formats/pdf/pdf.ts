/**
 * PDF: its text with the structure that sizes and places show. No pictures are drawn and no text is recognised in them: a scan says
 * so. Scripts in it are never run. Loads pdf.js, which reads in this thread and needs neither a canvas nor a network.
 */

import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist';
import {
  type ConvertContext,
  type Converted,
  ConvertFault,
  type Format,
  type MetadataValue,
  saidBy,
} from '../../format.ts';
import { escapeLine } from '../../markdown/escape.ts';
import { markdownOf, measure, type PageRows, plain, withoutRepeats } from './blocks.ts';
import { inReadingOrder, type Piece } from './page-text.ts';

type Library = typeof import('pdfjs-dist');

/** Of a picture that is read, dots: a page of a scanner has 9 million at 300 a inch. */
const largestPicture = 40_000_000;
/** Pages beyond are not read: a limit for broken files that claim millions. */
const maxPages = 5000;

export const pdfFormat: Format = { name: 'pdf', family: 'pdf', kinds: ['pdf'], convert };

async function load(): Promise<Library> {
  const [library, worker] = await Promise.all([
    import('pdfjs-dist/legacy/build/pdf.mjs'),
    import('pdfjs-dist/legacy/build/pdf.worker.mjs'),
  ]);
  // Its reader runs in this thread: the whole program is one that can be killed.
  Object.assign(globalThis, { pdfjsWorker: worker });
  return library;
}

async function convert(bytes: Uint8Array, context: ConvertContext): Promise<Converted> {
  const library = await load();
  const loading = library.getDocument({
    // It is handed over, and must be all of its buffer, and no Buffer of Node's.
    data: bytes.constructor === Uint8Array && bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes),
    cMapUrl: cMapFolder(),
    disableFontFace: true,
    useSystemFonts: false,
    useWasm: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    // Pictures are decoded only to be read.
    maxImageSize: context.ocr ? largestPicture : 0,
    enableXfa: false,
    verbosity: library.VerbosityLevel.ERRORS,
  });
  let document: PDFDocumentProxy;
  try {
    document = await loading.promise;
  } catch (cause) {
    throw faultOf(cause);
  }
  try {
    return await read(document, library, context);
  } finally {
    await loading.destroy();
  }
}

function faultOf(cause: unknown): ConvertFault {
  const { name } = cause as Error;
  if (name === 'PasswordException') {
    return new ConvertFault(
      'encrypted',
      'The PDF is encrypted and needs a password.',
      'Save it without one and give that.',
      { cause },
    );
  }
  return new ConvertFault(
    'damaged',
    `The PDF is truncated or damaged${saidBy(cause)}.`,
    'Get a complete copy of the file.',
    {
      cause,
    },
  );
}

async function read(document: PDFDocumentProxy, library: Library, context: ConvertContext): Promise<Converted> {
  const notes: string[] = [];
  const raw: PageRows[] = [];
  const fields: string[] = [];
  const empty: number[] = [];
  const failed: number[] = [];
  /** Blocks of a page that is a picture, by its number. */
  const recognised = new Map<number, string[]>();
  const unread: number[] = [];
  const last = Math.min(document.numPages, maxPages);
  for (let number = 1; number <= last; number += 1) {
    context.mustHaveTime();
    context.step(number - 1, last, 'pages');
    try {
      const page = await document.getPage(number);
      const { pieces, height, filled } = await readPage(page, library);
      fields.push(...filled);
      if (pieces.length === 0) {
        const seen = context.ocr ? await readPictures(page, library, context) : '';
        if (seen === null) unread.push(number);
        else if (seen !== '') recognised.set(raw.length, seen.split(/\n{2,}/));
        if (seen === null || seen === '') empty.push(number);
      }
      raw.push({ rows: inReadingOrder(pieces), height });
      page.cleanup();
    } catch (error) {
      if (error instanceof ConvertFault) throw error;
      failed.push(number);
    }
  }
  const outline = await outlineOf(document);
  const { pages, dropped } = withoutRepeats(raw);
  const measures = measure(pages, outline);
  const markdown = joinPages(pages.map((page, at) => recognised.get(at) ?? markdownOf(page, measures)));
  const metadata = await metadataOf(document);

  if (last < document.numPages) notes.push(`Only the first ${last} of ${document.numPages} pages were read.`);
  if (failed.length > 0) notes.push(`${pagesOf(failed)} could not be read.`);
  const textless =
    empty.length > 0 ? `without text: ${empty.length === last ? 'the whole document' : pagesOf(empty)}` : '';
  if (recognised.size > 0)
    notes.push('Text in pictures was recognised (OCR): it may have errors, and tables and headings are not detected.');
  if (unread.length > 0) notes.push(`${pagesOf(unread)} could not be recognised in the time allowed.`);
  if (textless !== '')
    notes.push(
      `There are pages ${textless}. They are scans or pictures, ${context.ocr ? 'and no text was recognised in them' : 'and text in pictures is not recognised: use a program for text recognition (OCR) first, or start Gantry with GANTRY_OCR=on'}.`,
    );
  if (markdown.includes('\uFFFD'))
    notes.push('Some fonts in it do not say which characters they show; those appear as \uFFFD.');
  if (dropped > 0) notes.push(`Headers, footers and page numbers that repeat were left out (${dropped} lines).`);
  const attached = Object.keys((await document.getAttachments().catch(() => null)) ?? {});
  if (attached.length > 0) notes.push(`Attached files that were not read: ${attached.slice(0, 20).join(', ')}.`);
  const form = fields.length === 0 ? '' : `\n\n## Form fields\n\n${fields.join('\n')}`;
  return { markdown: `${markdown}${form}`.trim() + (markdown + form === '' ? '' : '\n'), metadata, notes };
}

/** Smaller ones are lines and marks. Dots. */
const smallestPicture = 20;
const maxPictures = 20;

/** What the pictures of a page say; null where there is no time for it. */
async function readPictures(page: PDFPageProxy, library: Library, context: ConvertContext): Promise<string | null> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const texts: string[] = [];
  for (const [index, operation] of fnArray.entries()) {
    if (operation !== library.OPS.paintImageXObject || texts.length >= maxPictures) continue;
    const name = String((argsArray[index] as unknown[])[0]);
    const store = name.startsWith('g_') ? page.commonObjs : page.objs;
    const picture = await new Promise<Picture | null>((resolve) => store.get(name, resolve));
    const pnm = picture === null ? null : portable(picture);
    if (pnm === null) continue;
    const seen = await context.recognize(pnm);
    if (seen === null) return null;
    if (seen !== '') texts.push(seen);
  }
  return texts.join('\n\n');
}

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly kind: number;
  readonly data?: Uint8Array | Uint8ClampedArray;
}

/** As a portable map (PNM), which needs no packing; null for what is too small, or was not decoded. */
function portable({ width, height, kind, data }: Picture): Uint8Array | null {
  if (data === undefined || width < smallestPicture || height < smallestPicture) return null;
  const framed = (type: string, body: Uint8Array) =>
    Buffer.concat([Buffer.from(`${type}\n${width} ${height}\n${type === 'P4' ? '' : '255\n'}`), body]);
  // One bit a dot: here 1 is black, there it is white.
  if (kind === 1)
    return framed(
      'P4',
      Uint8Array.from(data, (byte) => byte ^ 0xff),
    );
  if (kind === 2) return framed('P6', Uint8Array.from(data));
  if (kind !== 3) return null;
  const body = new Uint8Array(width * height * 3);
  for (let at = 0, to = 0; to < body.length; at += 4, to += 3) body.set(data.subarray(at, at + 3), to);
  return framed('P6', body);
}

interface PageText {
  readonly pieces: Piece[];
  readonly height: number;
  /** Fields of a form that are filled in, as lines. */
  readonly filled: string[];
}

async function readPage(page: PDFPageProxy, library: Library): Promise<PageText> {
  const viewport = page.getViewport({ scale: 1 });
  const [content, annotations] = await Promise.all([page.getTextContent(), page.getAnnotations().catch(() => [])]);
  const links: { url: string; rect: number[] }[] = [];
  const filled: string[] = [];
  for (const annotation of annotations as Annotation[]) {
    if (annotation.subtype === 'Link' && typeof annotation.url === 'string') {
      links.push({
        url: annotation.url,
        rect: onPage(annotation.rect, viewport.transform),
      });
    }
    const value = annotation.subtype === 'Widget' ? fieldValue(annotation.fieldValue) : '';
    if (value !== '')
      filled.push(
        `- ${escapeLine(annotation.alternativeText || annotation.fieldName || 'field')}: ${escapeLine(value)}`,
      );
  }
  const pieces: Piece[] = [];
  for (const item of content.items) {
    if (!('str' in item) || item.str === '') continue;
    const [a, b, c, d, x, y] = library.Util.transform(viewport.transform, item.transform) as number[] as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    // Turned text (stamps, watermarks, labels of axes) has no place in the lines of a page.
    if (Math.abs(b) > 0.1 * Math.abs(a)) continue;
    const size = Math.hypot(c, d) || item.height;
    const [middleX, middleY] = [x + item.width / 2, y - size * 0.3];
    const link =
      links.find(({ rect }) => within(middleX, rect[0], rect[2]) && within(middleY, rect[1], rect[3]))?.url ?? null;
    // A font that does not say what its characters are.
    pieces.push({ text: item.str.replace(/\p{Cc}/gu, '\uFFFD'), x, y, width: item.width, size, link });
  }
  return { pieces, height: viewport.height, filled };
}

interface Annotation {
  readonly subtype?: string;
  readonly url?: string;
  readonly rect: number[];
  readonly fieldName?: string;
  readonly alternativeText?: string;
  readonly fieldValue?: unknown;
}

function fieldValue(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' && value !== 'Off' ? value : '';
}

/** The two corners, from the page's own coordinates to those from the top left. */
function onPage([x1 = 0, y1 = 0, x2 = 0, y2 = 0]: readonly number[], transform: readonly number[]): number[] {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = transform;
  return [a * x1 + c * y1 + e, b * x1 + d * y1 + f, a * x2 + c * y2 + e, b * x2 + d * y2 + f];
}

function within(at: number, one = 0, other = 0): boolean {
  return at >= Math.min(one, other) - 1 && at <= Math.max(one, other) + 1;
}

async function outlineOf(document: PDFDocumentProxy): Promise<Map<string, number>> {
  const titles = new Map<string, number>();
  type Node = { readonly title: string; readonly items: Node[] };
  const walk = (nodes: readonly Node[], depth: number): void => {
    for (const { title, items } of nodes) {
      if (titles.size >= 5000 || depth > 6) return;
      titles.set(plain(title), depth);
      walk(items, depth + 1);
    }
  };
  walk(((await document.getOutline().catch(() => null)) ?? []) as Node[], 0);
  return titles;
}

async function metadataOf(document: PDFDocumentProxy): Promise<Record<string, MetadataValue>> {
  const { info } = (await document.getMetadata().catch(() => ({ info: {} }))) as { info: Record<string, unknown> };
  const metadata: Record<string, MetadataValue> = { pages: document.numPages };
  const names = {
    Title: 'title',
    Author: 'author',
    Subject: 'subject',
    Keywords: 'keywords',
    Creator: 'creator',
    Producer: 'producer',
    Language: 'language',
    PDFFormatVersion: 'pdfVersion',
  };
  for (const [from, to] of Object.entries(names)) {
    const value = info[from];
    if (typeof value === 'string' && value.trim() !== '') metadata[to] = value.trim();
  }
  for (const [from, to] of [
    ['CreationDate', 'created'],
    ['ModDate', 'modified'],
  ] as const) {
    const date = dateOf(info[from]);
    if (date !== null) metadata[to] = date;
  }
  return metadata;
}

/** `D:20260131120000+01'00'` (ISO 32000, 7.9.4) as RFC 3339, as precise as it is. */
function dateOf(value: unknown): string | null {
  const match =
    typeof value === 'string'
      ? /^D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?([Z+-])?(?:(\d\d)'?(\d\d)?)?/.exec(value)
      : null;
  if (match === null) return null;
  const [
    ,
    year,
    month = '01',
    day = '01',
    hour,
    minute = '00',
    second = '00',
    sign,
    offsetHour = '00',
    offsetMinute = '00',
  ] = match;
  if (hour === undefined) return `${year}-${month}-${day}`;
  const zone = sign === undefined ? '' : sign === 'Z' ? 'Z' : `${sign}${offsetHour}:${offsetMinute}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`;
}

/** A sentence that continues over the end of a page stays one sentence. */
function joinPages(pages: readonly (readonly string[])[]): string {
  const blocks: string[] = [];
  for (const page of pages) {
    for (const [index, block] of page.entries()) {
      const before = blocks.at(-1);
      const goesOn =
        index === 0 &&
        before !== undefined &&
        isProse(before) &&
        isProse(block) &&
        /[\p{Ll},;-]$/u.test(before) &&
        /^\p{Ll}/u.test(block);
      if (goesOn) blocks[blocks.length - 1] = before.endsWith('-') ? before.slice(0, -1) + block : `${before} ${block}`;
      else blocks.push(block);
    }
  }
  return blocks.join('\n\n');
}

const isProse = (block: string): boolean => !/^\s*(?:#|\||-|\d+\.)/.test(block);

/** `Pages 3–5, 9`. */
function pagesOf(numbers: readonly number[]): string {
  const ranges: string[] = [];
  for (let at = 0; at < numbers.length; ) {
    let end = at;
    while (numbers[end + 1] === (numbers[end] as number) + 1) end += 1;
    ranges.push(end > at ? `${numbers[at]}–${numbers[end]}` : `${numbers[at]}`);
    at = end + 1;
  }
  const shown = ranges.slice(0, 20).join(', ');
  return `Page${numbers.length === 1 ? '' : 's'} ${shown}${ranges.length > 20 ? ' …' : ''}`;
}

/**
 * The tables that map codes of Chinese, Japanese and Korean fonts to characters: a folder with a closing slash. Run from source it is the package's own; a build carries a copy (vite.config.ts).
 */
function cMapFolder(moduleUrl: string = import.meta.url): string {
  const self = fileURLToPath(moduleUrl);
  if (self.endsWith('.ts'))
    return resolve(dirname(self), '../../../../..', 'node_modules', 'pdfjs-dist', 'cmaps') + sep;
  const built = self.lastIndexOf(`${sep}server${sep}`);
  return join(self.slice(0, built), 'server', 'cmaps') + sep;
}
