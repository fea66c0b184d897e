/**
 * Detects a document's kind from its bytes. A name or a MIME type never overrides them: it only decides between kinds that look alike (text,
 * Markdown, CSV). Must not know formats.
 */
import { type Charset, charsetOf, decode } from './charset.ts';
import { sniffCompound, sniffZip, unsupported } from './container.ts';
import { ConvertFault, type Kind, type Sniffed } from './format.ts';

interface Hints {
  readonly filename: string;
  readonly mimeType: string;
}

interface Found extends Sniffed {
  /** The encoding was guessed. */
  readonly guessed: boolean;
}

/** The shape of a text is judged by its beginning. Characters. */
const judged = 64 * 1024;

const textTypes: Readonly<Partial<Record<Kind, string>>> = {
  html: 'text/html',
  feed: 'application/rss+xml',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  jsonl: 'application/jsonl',
  xml: 'application/xml',
  ipynb: 'application/x-ipynb+json',
  markdown: 'text/markdown',
  text: 'text/plain',
  eml: 'message/rfc822',
};

/** Kind that a name's ending claims. */
const endings: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(
    [
      'pdf',
      'docx',
      'pptx',
      'xlsx',
      'xls',
      'ods',
      'odt',
      'odp',
      'rtf',
      'html',
      'epub',
      'csv',
      'tsv',
      'json',
      'jsonl',
      'xml',
      'ipynb',
      'zip',
      'eml',
      'msg',
    ].map((ending) => [ending, ending as Kind]),
  ),
  ...of('html', 'htm xhtml'),
  ...of('feed', 'rss atom'),
  ...of('tsv', 'tab'),
  ...of('jsonl', 'ndjson'),
  ...of('markdown', 'md markdown'),
  ...of('text', 'txt log'),
  ...of('xlsx', 'xlsm xlsb'),
  ...of('docx', 'docm'),
  ...of('pptx', 'pptm ppsx'),
  ...of('image', 'jpg jpeg png gif webp tif tiff bmp heic avif'),
  ...of('audio', 'mp3 wav m4a flac ogg opus aac mp4'),
};

function of(kind: Kind, names: string): Record<string, Kind> {
  return Object.fromEntries(names.split(' ').map((ending) => [ending, kind]));
}

/** Kind that the name claims, null when it claims none that is known. */
export function claimedKind(filename: string): Kind | null {
  const ending = /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(endings, ending) ? (endings[ending] as Kind) : null;
}

/** Throws `damaged` for empty or cut containers, `encrypted`, `unsupported` with what it is. */
export async function sniff(bytes: Uint8Array, hints: Hints): Promise<Found> {
  if (bytes.length === 0)
    throw new ConvertFault('damaged', 'The document is empty (0 bytes).', 'Get a complete copy of it.');
  const head = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const plain = (sniffed: Sniffed): Found => ({ ...sniffed, guessed: false });
  // Readers of PDF take the header anywhere in the first kilobyte (ISO 32000, annex H).
  if (/^%PDF-|[\r\n\0 ]%PDF-\d/.test(head)) return plain({ kind: 'pdf', mimeType: 'application/pdf', charset: null });
  if (head.startsWith('PK\u0003\u0004') || head.startsWith('PK\u0005\u0006')) return plain(await sniffZip(bytes));
  if (head.startsWith('\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1')) return plain(sniffCompound(bytes));
  if (/^\s*\{\\rtf/.test(head)) return plain({ kind: 'rtf', mimeType: 'application/rtf', charset: null });

  const media = await mediaType(bytes);
  if (media !== null && media.kind !== null)
    return plain({ kind: media.kind, mimeType: media.mimeType, charset: null });
  const charset = await charsetOf(bytes, /charset\s*=\s*["']?([\w.:-]+)/i.exec(hints.mimeType)?.[1] ?? '');
  if (charset !== null && (media === null || media.mimeType.endsWith('xml'))) return textKind(bytes, charset, hints);
  const what = media === null ? 'a file in an unknown format' : `a file of type ${media.mimeType}`;
  throw unsupported(what, 'Save it as a document (pdf, docx, html or text)');
}

async function mediaType(bytes: Uint8Array): Promise<{ kind: Kind | null; mimeType: string } | null> {
  const { fileTypeFromBuffer } = await import('file-type');
  // A truncated file may break its reader: then it counts as none of the known formats.
  const found = await fileTypeFromBuffer(bytes.subarray(0, 1024 * 1024)).catch(() => undefined);
  if (found === undefined) return null;
  const sound = /^(audio\/|video\/(mp4|quicktime|webm|matroska|x-matroska|ogg)|application\/ogg)/;
  const kind = found.mime.startsWith('image/') ? 'image' : sound.test(found.mime) ? 'audio' : null;
  return { kind, mimeType: found.mime };
}

function textKind(bytes: Uint8Array, { label, guessed }: Charset, hints: Hints): Found {
  // Whole characters are not needed for a judgement; a mark is two to four bytes.
  const beginning = decode(bytes.subarray(0, judged * 2), label).slice(0, judged);
  const whole = beginning.length < judged;
  const kind = kindOfText(beginning.trimStart(), whole, hintOf(hints));
  return { kind, mimeType: textTypes[kind] ?? 'text/plain', charset: label, guessed };
}

function hintOf({ filename, mimeType }: Hints): Kind | null {
  const type = mimeType.split(';')[0]?.trim().toLowerCase() ?? '';
  const byType = Object.entries(textTypes).find(([kind, known]) => known === type && kind !== 'text')?.[0] as
    | Kind
    | undefined;
  return claimedKind(filename) ?? byType ?? (type === 'text/xml' ? 'xml' : null);
}

const htmlTags =
  'html|head|body|title|meta|link|script|style|div|p|h[1-6]|span|table|ul|ol|li|a|article|section|main|nav|header|footer|br|hr|img|form|center|font|b|i|strong|em|pre|blockquote';
const htmlStart = new RegExp(`^(<!--[\\s\\S]{0,2000}?-->\\s*)*(<!doctype html|<(${htmlTags})[\\s/>])`, 'i');

function kindOfText(text: string, whole: boolean, hint: Kind | null): Kind {
  if (text.startsWith('<')) {
    const marked = kindOfMarkup(text, hint);
    if (marked !== null) return marked;
  }
  if (/^[[{]/.test(text)) {
    const kind = kindOfJson(text, whole, hint);
    if (kind !== null) return kind;
  }
  if (isMail(text)) return 'eml';
  if (hint === 'html' && new RegExp(`<(${htmlTags})[\\s/>]`, 'i').test(text)) return 'html';
  if (hint === 'csv' || hint === 'tsv') return hint;
  if (hint === 'markdown' || hint === 'jsonl' || hint === 'json') return hint === 'json' ? 'text' : hint;
  if (hint === null || hint === 'xls') return separated(text, whole) ?? 'text';
  return 'text';
}

function kindOfMarkup(text: string, hint: Kind | null): Kind | null {
  const prolog = /^<\?xml\b/i.test(text);
  const root =
    /^(?:<\?[\s\S]*?\?>\s*|<!--[\s\S]*?-->\s*|<!DOCTYPE[^[>]*(?:\[[\s\S]*?\]\s*)?>\s*)*<([\w.:-]+)/i
      .exec(text)?.[1]
      ?.toLowerCase() ?? '';
  const local = root.replace(/^.*:/, '');
  if (local === 'html' || (!prolog && htmlStart.test(text))) return 'html';
  if (local === 'rss' || local === 'feed' || root === 'rdf:rdf') return 'feed';
  if (prolog || root === 'svg') return 'xml';
  if (root === '') return null;
  if (hint === 'html' || hint === 'markdown' || hint === 'text') return hint;
  return 'xml';
}

function kindOfJson(text: string, whole: boolean, hint: Kind | null): Kind | null {
  if (text.startsWith('{') && /"nbformat"\s*:/.test(text) && /"cells"\s*:/.test(text)) return 'ipynb';
  const lines = text.split('\n', 3).map((line) => line.trim());
  const complete = lines.slice(0, whole ? undefined : -1).filter((line) => line !== '');
  if (hint === 'jsonl' || (complete.length > 1 && complete.slice(0, 2).every(isJson))) return 'jsonl';
  if (hint === 'ipynb' || hint === 'json') return hint;
  // Without a hint only what is JSON, or begins as an object or list of values would.
  if (whole) return isJson(text) ? 'json' : null;
  return /^(\{\s*"|\[\s*[[{"\d\-tfn])/.test(text) ? 'json' : null;
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

/** Header lines first, one of them of those that mails have and nothing else has (RFC 5322, 3.6). */
function isMail(text: string): boolean {
  const lines = text.replace(/^From [^\n]*\n/, '').split(/\r?\n/, 60);
  const names = new Set<string>();
  for (const line of lines) {
    if (line === '') break;
    if (/^[ \t]/.test(line) && names.size > 0) continue;
    const name = /^([!-9;-~]+):/.exec(line)?.[1];
    if (name === undefined) return false;
    names.add(name.toLowerCase());
  }
  const known = [
    'from',
    'to',
    'subject',
    'date',
    'message-id',
    'mime-version',
    'received',
    'return-path',
    'delivered-to',
  ];
  const found = known.filter((name) => names.has(name)).length;
  return found >= 3 || (found >= 2 && (names.has('mime-version') || names.has('received') || names.has('message-id')));
}

/** The same number of separators on each of the first lines, and at least three of those: a table, not prose. */
function separated(text: string, whole: boolean): Kind | null {
  const lines = text
    .split(/\r?\n/, 21)
    .slice(0, whole ? 20 : -1)
    .filter((line) => line !== '')
    .slice(0, 20);
  if (lines.length < 3) return null;
  for (const [separator, kind] of [
    ['\t', 'tsv'],
    [',', 'csv'],
    [';', 'csv'],
  ] as const) {
    const counts = lines.map((line) => line.replace(/"[^"]*"/g, '').split(separator).length - 1);
    if ((counts[0] as number) > 0 && counts.every((count) => count === counts[0])) return kind;
  }
  return null;
}
