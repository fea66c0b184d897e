/**
 * Finds a text's encoding: by its byte order mark, by the caller's hint, by what the text declares, by what its bytes allow. Answers null for bytes
 * that are not text. Must not know formats.
 */
import { ConvertFault } from './format.ts';

export interface Charset {
  /** WHATWG label, as `TextDecoder` takes it. */
  readonly label: string;
  /** Detected only by statistics: it may be wrong. */
  readonly guessed: boolean;
}

/** Statistics look at this much. Bytes. */
const looked = 64 * 1024;

/** `said`: the charset of a MIME type; '' when none was given. */
export async function charsetOf(bytes: Uint8Array, said: string): Promise<Charset | null> {
  const marked = byMark(bytes);
  if (marked !== null) return sure(marked);
  if (bytes.length === 0) return sure('utf-8');
  const given = labelOf(said);
  if (given !== null && decodes(bytes, given)) return isText(bytes, given) ? sure(given) : null;
  const wide = withoutMark(bytes);
  if (wide !== null) return sure(wide);
  if (!mayBeText(bytes)) return null;
  const declared = labelOf(declaredIn(bytes));
  if (declared === 'iso-2022-jp' || isJis(bytes)) return sure('iso-2022-jp');
  if (decodes(bytes, 'utf-8')) return sure('utf-8');
  if (declared !== null && declared !== 'utf-8' && decodes(bytes, declared)) return sure(declared);
  return { label: await byStatistics(bytes), guessed: true };
}

/** Without a byte order mark; what cannot be read becomes U+FFFD. */
export function decode(bytes: Uint8Array, label: string): string {
  if (label === 'utf-32le' || label === 'utf-32be') return decodeWidest(bytes, label === 'utf-32le');
  return new TextDecoder(label).decode(bytes);
}

const sure = (label: string): Charset => ({ label, guessed: false });

function byMark(bytes: Uint8Array): string | null {
  const [a, b, c, d] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return 'utf-32le';
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return 'utf-32be';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return null;
}

/** UTF-16 without a mark: in texts of most scripts every other byte of much of it is zero. */
function withoutMark(bytes: Uint8Array): string | null {
  const end = Math.min(bytes.length, looked) & ~1;
  if (end < 4) return null;
  let even = 0;
  let odd = 0;
  for (let at = 0; at < end; at += 2) {
    if (bytes[at] === 0) even += 1;
    if (bytes[at + 1] === 0) odd += 1;
  }
  const pairs = end / 2;
  const label =
    odd > pairs * 0.4 && even < pairs * 0.02
      ? 'utf-16le'
      : even > pairs * 0.4 && odd < pairs * 0.02
        ? 'utf-16be'
        : null;
  return label !== null && isText(bytes.subarray(0, end), label) ? label : null;
}

function labelOf(said: string): string | null {
  if (said === '') return null;
  try {
    return new TextDecoder(said.trim().toLowerCase()).encoding;
  } catch {
    return null;
  }
}

/** Declarations stand in ASCII at the beginning: of XML, of HTML, of CSS-like and Emacs-like comments nobody cares for. */
function declaredIn(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 2048)).toString('latin1');
  const xml = /^\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']/i.exec(head);
  return (xml ?? /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head))?.[1] ?? '';
}

function decodes(bytes: Uint8Array, label: string): boolean {
  try {
    // The last character may be truncated: that does not make it another encoding.
    new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** No control character but those that texts have: tab, line ends, form feed, escape (ISO-2022), and the end mark of old DOS files. */
function mayBeText(bytes: Uint8Array): boolean {
  const end = Math.min(bytes.length, looked);
  let odd = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === 0) return false;
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 12 && byte !== 27 && byte !== 26) odd += 1;
  }
  return odd <= end * 0.001;
}

function isText(bytes: Uint8Array, label: string): boolean {
  const odd = decode(bytes.subarray(0, looked), label).match(/[\u0000-\u0008\u000e-\u0019]/g)?.length ?? 0;
  return odd <= Math.min(bytes.length, looked) * 0.001;
}

function isJis(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, looked)).toString('latin1');
  return /\u001b\$[@B]/.test(head) && !/[\u0080-\u00ff]/.test(head);
}

/** With fewer bytes beyond ASCII than these, frequencies of letters say nothing; with fewer than these, only where they say it clearly. */
const [fewest, few] = [8, 30];
/** Of 100. */
const clearly = 35;
/** What frequencies find, by the encoding of Windows that has the same letters and more: texts of the standards are rare. */
const ofWindows: Readonly<Record<string, string>> = {
  'ISO-8859-1': 'windows-1252',
  'ISO-8859-7': 'windows-1253',
  'ISO-8859-8': 'windows-1255',
  'ISO-8859-9': 'windows-1254',
};

/** Neither UTF nor declared. */
async function byStatistics(bytes: Uint8Array): Promise<string> {
  // A long table may begin with much that says nothing.
  const first = Math.max(
    0,
    bytes.findIndex((byte) => byte >= 128),
  );
  const part = bytes.subarray(first, first + looked);
  const wide = part.reduce((count, byte) => (byte < 128 ? count : count + 1), 0);
  if (wide < few) {
    const shape = await byShape(bytes, part);
    if (wide < fewest || shape !== 'windows-1252') return shape;
  }
  const { analyse } = await import('chardet');
  for (const { name, confidence } of analyse(part)) {
    if (wide < few && confidence < clearly) break;
    const label = labelOf(ofWindows[name] ?? name);
    if (label !== null && label !== 'utf-8' && decodes(bytes, label) && isText(part, label)) return label;
  }
  return byShape(bytes, part);
}

/** A few words: by which characters stand together. */
async function byShape(bytes: Uint8Array, part: Uint8Array): Promise<string> {
  const { detect } = (await import('encoding-japanese')).default;
  const japanese = detect(part, ['SJIS', 'EUCJP']);
  const runs = runsOf(part);
  if (japanese === 'EUCJP' && decodes(bytes, 'euc-jp') && looksJapanese(decode(part, 'euc-jp'))) return 'euc-jp';
  if (decodes(bytes, 'shift_jis') && looksJapanese(decode(part, 'shift_jis'))) return 'shift_jis';
  if (runs.inWords > 0.6 && runs.cyrillic > 0.7) return 'windows-1251';
  if (runs.inWords > 0.6 && decodes(bytes, 'euc-kr') && share(decode(part, 'euc-kr'), /[\uac00-\ud7a3]/g) > 0.8)
    return 'euc-kr';
  if (
    runs.inWords > 0.6 &&
    decodes(bytes, 'gb18030') &&
    share(decode(part, 'gb18030'), /[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]/g) > 0.95
  ) {
    return 'gb18030';
  }
  return 'windows-1252';
}

/**
 * Whether wide characters stand together and are of those that Japanese uses daily. An accent and the letter after it also make
 * one wide character in Shift_JIS: but that one stands alone, or is a rare one.
 */
function looksJapanese(text: string): boolean {
  const wide = text.match(/[^\u0000-\u007f]/g)?.length ?? 0;
  if (wide === 0) return false;
  const together = (text.match(/[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e\uf900-\ufaff]{2,}/g) ?? []).join('').length;
  return together / wide > 0.6;
}

/** How much of what is not ASCII stands in runs of three and more, and how much of it are letters of windows-1251. */
function runsOf(bytes: Uint8Array): { inWords: number; cyrillic: number } {
  let high = 0;
  let cyrillic = 0;
  let inWords = 0;
  let run = 0;
  for (const byte of bytes) {
    if (byte < 128) {
      if (run >= 3) inWords += run;
      run = 0;
      continue;
    }
    run += 1;
    high += 1;
    // Small letters: in running text they are most. In the Chinese and Korean codes these lead rare characters.
    if (byte >= 0xe0 || byte === 0xb8) cyrillic += 1;
  }
  if (run >= 3) inWords += run;
  return high === 0 ? { inWords: 0, cyrillic: 0 } : { inWords: inWords / high, cyrillic: cyrillic / high };
}

function share(text: string, pattern: RegExp): number {
  const wide = text.match(/[^\u0000-\u007f]/g)?.length ?? 0;
  return wide === 0 ? 0 : (text.match(pattern)?.length ?? 0) / wide;
}

function decodeWidest(bytes: Uint8Array, little: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: string[] = [];
  for (let at = 4; at + 4 <= bytes.length; at += 4) {
    const point = view.getUint32(at, little);
    if (point > 0x10ffff)
      throw new ConvertFault('damaged', 'The text says it is UTF-32 and is not.', 'Save it as UTF-8.');
    parts.push(String.fromCodePoint(point));
  }
  return parts.join('');
}
